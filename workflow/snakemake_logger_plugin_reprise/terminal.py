"""Write the terminal output of a run or a dry run: progress, failures with their reasons, and the outcome."""

import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import dropwhile, islice, takewhile
from logging import LogRecord, getLevelName
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, TextIO

from reprise.core.log import ERROR, PREVIEW_VARIABLE, STATUS_VARIABLE, find_last_error, read_last_progress, read_tail
from reprise.core.plain import sanitize, summarize_list
from reprise.core.terminal import wrap_text
from rich.console import Console
from rich.live import Live
from rich.text import Text
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import OutputSettingsLoggerInterface

from snakemake_logger_plugin_reprise.planned import DryRunSummary, count_jobs, format_wildcards

MAX_LISTED_RUNNING, MAX_LISTED_FAILED = 8, 10
# Time between two updates of the status on a terminal, and between two lines in a file.
REFRESH_S, MAX_SILENCE_S = 1.0, 10.0
MIN_WIDTH = 40  # of lines, on a narrow terminal
NO_MESSAGE = "it wrote no message; it may have been killed, for example because memory ran out"

LOG_FILE = "Complete log(s): "  # beginning of the message with the path of Snakemake's own log

# Routine messages that Snakemake logs at every start, end and job. They are not shown.
NOISE = (
    *("Building DAG of jobs", "Using shell:", "Workflow has started", "Shutting down, this might take some time"),
    *("Assuming unrestricted shared filesystem", "Select jobs to execute", "Provided remote nodes", "Group jobs:"),
    *("Conda environments:", "Singularity containers:", "Elapsed time:", "This was a dry-run", "Reasons:"),
    *("Some jobs were triggered by provenance", "Rules with provenance", "Exiting because a job"),
    *("Auto-selected partition", "No SLURM account given", "No account was given", "Guessed SLURM account"),
    *("Unable to guess SLURM account", "SLURM run ID:", "SLURM workflow log", "Cleaning up SLURM log files"),
    *(
        "Removing output files of failed job",
        "Storing output in storage",
        "At least one job did not complete",
        LOG_FILE,
    ),
)
JOB_NOISE = re.compile(r"Job \S+ has been submitted|\d+ jobs have (?:missing|outdated) provenance|Job rate limit")
# Header of an error, such as `WorkflowError in file "...", line 12:`, and frames of the traceback after the message.
HEADER = re.compile(r"^(?:Workflow|InputFunction|Rule)(?:Error|Exception)(?: in (?:rule|file) .*)?:\n", re.MULTILINE)
FRAME = re.compile(r'^  File "[^"]*", line \d+, in .*\n?', re.MULTILINE)
# Error of an input function: its kind and message, followed by the wildcards and a traceback.
INPUT_FUNCTION_ERROR = re.compile(r"^Error:\n  (\w+):\n?(.*?)\nWildcards:\n", re.MULTILINE | re.DOTALL)
# End of the error if a job's thread is still busy when Snakemake stops after Ctrl-C.
INTERRUPTED_LOOP = "RuntimeError: Cannot close a running event loop"
NO_RULE = re.compile(r"^MissingRuleException:\nNo rule to produce (.+?) \(if you use input functions", re.MULTILINE)


class RunningJob(NamedTuple):
    """A running job."""

    rule: str
    name: str
    logs: tuple[Path, ...]
    start_time: float

    def describe_progress(self) -> str:
        """Return the progress that the job has logged, or else the time since its start."""
        progress = next(filter(None, map(read_last_progress, self.logs)), None)
        if progress is None:
            return format_duration(time.monotonic() - self.start_time)
        remaining = format_duration(progress.seconds_left)
        return f"{progress.done} of {progress.total} requests, {progress.rate:.1f} a second, about {remaining} left"


class Terminal:
    """Show Snakemake's log records, and a status that a separate thread updates regularly.

    On a terminal, the status is redrawn below the permanent lines. In a file or a pipe, it is an occasional line. For a
    program that sets STATUS_VARIABLE, it is a frequent line that begins with a carriage return.
    """

    def __init__(self, common: OutputSettingsLoggerInterface, stream: TextIO) -> None:
        self._quiet = set(common.quiet or ())
        self._is_dry_run = common.dryrun
        self._is_status_relayed = STATUS_VARIABLE in os.environ

        is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._console = Console(
            file=stream, force_terminal=is_terminal, no_color=common.nocolor or None, highlight=False
        )
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._dry_run_summary: DryRunSummary | None = None
        self._planned_counts, self._finished_counts = Counter[str](), Counter[str]()
        self._running_by_id: dict[int, RunningJob] = {}
        self._failed_by_id: dict[int, tuple[RunningJob, str]] = {}  # the job and its message
        self._start_time = self._last_output = time.monotonic()
        self._log_file = ""
        self._is_stopping = self._has_error = False
        self._lock = threading.RLock()
        self._end_event = threading.Event()
        if not self._is_dry_run and not self._quiet:
            if is_terminal:
                self._live.start()
                self._console.show_cursor(True)  # A killed process must not leave the terminal without a cursor.
            threading.Thread(target=self._watch, daemon=True).start()

    def read_dry_run(self, workflow: Any, record: LogRecord) -> bool:
        """Summarise a dry run when Snakemake logs the number of jobs, and silence Snakemake's own list of jobs.

        With checkpoints, Snakemake's list stays, because it shows which jobs the checkpoints may add. This method is a
        filter of the logger, and returns True to let every record pass.
        """
        if vars(record).get("event") is LogEvent.RUN_INFO:
            self._dry_run_summary = self._dry_run_summary or DryRunSummary(workflow.dag)
            if not any(workflow.dag.checkpoint_jobs):
                workflow.output_settings.quiet = {Quietness.RULES, Quietness.PROGRESS}
        return True

    def handle(self, record: LogRecord) -> None:
        """Show one of Snakemake's log records, and update the counts of jobs."""
        fields = vars(record)
        if Quietness.ALL in self._quiet and not self._is_dry_run:
            return
        with self._lock:
            match fields.get("event"):
                case LogEvent.RUN_INFO if not (self._planned_counts or self._is_dry_run):
                    self._planned_counts.update(count_jobs(fields["stats"]))
                    if not self._quiet:
                        rule_counts = ", ".join(f"{count} {rule}" for rule, count in self._planned_counts.items())
                        total = self._planned_counts.total()
                        self._print(f"{total} job{'s' * (total != 1)}: {rule_counts}", "bold")
                case LogEvent.JOB_INFO:
                    name = f"{fields['rule_name']} {format_wildcards(fields['wildcards'])}".strip()
                    logs = tuple(map(Path, fields["log"]))
                    self._running_by_id[fields["jobid"]] = RunningJob(fields["rule_name"], name, logs, time.monotonic())
                case LogEvent.JOB_FINISHED:
                    if job := self._running_by_id.pop(fields["job_id"], None):
                        self._finished_counts.update(count_jobs({job.rule: 1}))
                case LogEvent.JOB_ERROR:
                    job = self._running_by_id.pop(fields["jobid"], None)
                    if job and not self._is_stopping:
                        reason = find_failure_reason(job.logs) or " ".join((fields["rule_msg"] or NO_MESSAGE).split())
                        message = f"{job.name}: {reason}{f' (log: {job.logs[0]})' if job.logs else ''}"
                        self._failed_by_id[fields["jobid"]] = job, message
                        self._print(f"FAILED {message}", "red")
                case LogEvent.ERROR:
                    # After Ctrl-C, Snakemake may fail to close its event loop.
                    text = "" if self._is_stopping else format_error(record.getMessage(), fields["exception"])
                    if text:
                        self._has_error = True
                        self._print(text, "red")
                case None:
                    self._handle_message(record)

    def _handle_message(self, record: LogRecord) -> None:
        text = record.getMessage()
        if text.startswith(LOG_FILE):
            self._log_file = text.removeprefix(LOG_FILE)
        self._is_stopping = self._is_stopping or text.startswith("Terminating processes on user request")
        if restart := re.match(r"Trying to restart job (\d+)", text):
            if failed := self._failed_by_id.pop(int(restart[1]), None):
                self._print(f"Trying again: {failed[0].name}")
        elif not (text.startswith(NOISE) or text in ("", "None") or JOB_NOISE.match(text)):
            self._print(text, {"WARNING": "yellow", "ERROR": "red"}.get(getLevelName(record.levelno), ""))

    def end(self) -> None:
        """Show the outcome of the run, or the summary of a dry run; later calls do nothing."""
        with self._lock:
            if self._end_event.is_set():
                return
            self._end_event.set()
            self._live.stop()
            if self._dry_run_summary and not self._has_error:
                self._print(self._dry_run_summary.format_text(has_details=PREVIEW_VARIABLE not in os.environ))
            elapsed, total = format_duration(time.monotonic() - self._start_time), self._planned_counts.total()
            # With --quiet, Snakemake reports no finished jobs.
            has_counts = Quietness.PROGRESS not in self._quiet
            unfinished_count = total - self._finished_counts.total() if has_counts else 0
            if total and self._is_stopping:
                self._print(
                    f"Stopped after {elapsed}: {self._format_counts()} done. Run the same command to continue.", "bold"
                )
            elif total and (self._failed_by_id or unfinished_count):
                unstarted_count = unfinished_count - len(self._failed_by_id)
                counts = f"{self._format_counts()}, {unstarted_count} not started"
                counts = counts if has_counts else f"{len(self._failed_by_id)} of {total} jobs failed"
                self._print(f"Not finished after {elapsed}: {counts}.", "bold")
                messages = [f"  {message}" for _, message in self._failed_by_id.values()]
                self._print("\n".join(summarize_list(messages, MAX_LISTED_FAILED, "  and {} more")))
                self._print("Finished jobs are kept. Correct the cause, then run the same command again.")
                if self._log_file:
                    self._print(f"Snakemake's full output: {self._log_file} (on the terminal: --logger-reprise-full)")
            elif total and not self._quiet:
                self._print(f"Done in {elapsed}: {self._format_counts()}.", "bold")

    def _print(self, text: str, style: str = "") -> None:
        if text:
            self._last_output = time.monotonic()
            width = max(MIN_WIDTH, self._console.width) if self._console.is_terminal else None
            self._console.print(Text(wrap_text(sanitize(text), width), style), soft_wrap=True)

    def _format_counts(self) -> str:
        failed = f", {len(self._failed_by_id)} failed" if self._failed_by_id else ""
        return f"{self._finished_counts.total()} of {self._planned_counts.total()} jobs{failed}"

    def _watch(self) -> None:
        while not self._end_event.wait(REFRESH_S):
            self.show_status()

    def show_status(self) -> None:
        """Show the running jobs and their progress."""
        with self._lock:
            if self._end_event.is_set():
                return
            elapsed = format_duration(time.monotonic() - self._start_time)
            if not self._planned_counts:
                lines = [f"{elapsed}: planning the jobs"]
            else:
                started_rules = self._finished_counts.keys() | {job.rule for job in self._running_by_id.values()}
                counts = [
                    (rule, self._finished_counts[rule], total)
                    for rule, total in self._planned_counts.items()
                    if rule in started_rules
                ]
                count_text = ", ".join(f"{rule} {done}/{total}" for rule, done, total in counts if done < total)
                running_lines = [f"  {job.name}: {job.describe_progress()}" for job in self._running_by_id.values()]
                lines = [f"{elapsed}: {self._format_counts()}", *([f"  of them {count_text}"] if count_text else [])]
                lines += summarize_list(running_lines, MAX_LISTED_RUNNING, "  and {} more running")
            if self._console.is_terminal:
                self._live.update(Text(sanitize("\n".join(lines)), no_wrap=True, overflow="crop"), refresh=True)
            elif self._is_status_relayed:
                # The progress precedes the name of its job, because the program may cut the line at its width.
                jobs = [f"{job.describe_progress()} ({job.name})" for job in self._running_by_id.values()]
                print(f"\r{sanitize('; '.join([lines[0], *jobs]))}", file=self._console.file, flush=True)
            elif time.monotonic() - self._last_output >= MAX_SILENCE_S:
                self._print("; ".join(line.strip() for line in lines))


def find_failure_reason(logs: Iterable[Path]) -> str:
    """Return the reason of a job's failure from its logs: the first line of the last error, or the last line."""
    for log in logs:
        lines = [line.strip() for line in (find_last_error(log) or read_tail(log)).splitlines() if line.strip()]
        if lines:
            return lines[0].removeprefix(ERROR) if lines[0].startswith(ERROR) else lines[-1]
    return ""


def format_duration(seconds: float) -> str:
    """Return a duration such as `58 s`, `4 min 12 s` or `2 h 5 min`."""
    minutes, seconds_left = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{seconds_left} s"
    return f"{minutes} min {seconds_left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# --- errors ----------------------------------------------------------------------------------------------------------


def format_error(text: str, exception: str, arguments: Sequence[str] = sys.argv) -> str:
    """Return the message of a user error, or the full text of a bug; empty if the error is shown elsewhere."""
    is_job_failure = exception == "RuleException" and "CalledProcessError in file" in text
    if (
        is_job_failure
        or exception == "KeyboardInterrupt"
        or text.rstrip().endswith(INTERRUPTED_LOOP)
        or text.rstrip().endswith("job did not complete successfully.")
    ):
        return ""
    if "Invalid config definition" in text:
        return _config_error(arguments)
    if no_rule := NO_RULE.search(text):
        return (
            f"Error: no rule creates {no_rule[1]}. A target is a file, such as results/tables/table2.html, or a rule "
            "without wildcards (`snakemake --list-target-rules`)."
        )
    if function_error := INPUT_FUNCTION_ERROR.search(text):
        kind, message = function_error.groups()
        return f"Error: {dedent(message).strip()}" if kind in ("WorkflowError", "UserError") else text
    if exception in ("WorkflowError", "InputFunctionException", "MissingRuleException"):
        return f"Error: {FRAME.sub('', HEADER.sub('', text)).strip()}"
    return text


def _config_error(arguments: Sequence[str]) -> str:
    """Return the message for words without `=` after `--config`. Snakemake takes all words up to the next option."""
    option_words = dropwhile(lambda word: word not in ("--config", "-C"), arguments)
    config_words = list(takewhile(lambda word: not word.startswith("-"), islice(option_words, 1, None)))
    targets = [word for word in config_words if "=" not in word]
    settings = [word for word in config_words if "=" in word]
    if not targets:
        return (
            f"Error: --config: {' '.join(config_words)} is not a setting. "
            "Write name=value, such as --config suite=paper."
        )
    command = " ".join(["snakemake", *targets, "--config", *(settings or ["suite=<name>"])])
    return (
        f"Error: --config: '{targets[0]}' is not a setting (name=value). Snakemake takes all words after --config as "
        f"settings, so name the targets before it: {command}"
    )
