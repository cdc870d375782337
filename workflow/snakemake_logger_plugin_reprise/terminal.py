"""Terminal output of a run or a dry run: progress, failures with their reasons, and the outcome."""

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

from reprise.core.log import ERROR, find_last_error, read_last_progress, read_tail
from reprise.core.plain import sanitize, summarize_list
from rich.console import Console
from rich.live import Live
from rich.text import Text
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import OutputSettingsLoggerInterface

from snakemake_logger_plugin_reprise.planned import DryRunSummary, count_jobs, format_wildcards

MOST_RUNNING, MOST_FAILED = 8, 10
REFRESH_S, LONGEST_SILENCE_S = 1.0, 10.0
NARROWEST, WIDTH_OF_FILES = 40, 100
NO_MESSAGE = "it wrote no message; it may have been killed, for example because memory ran out"

LOG_FILE = "Complete log(s): "

# Routine messages of Snakemake at every start, end and job.
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
NOISE_OF_A_JOB = re.compile(r"Job \S+ has been submitted|\d+ jobs have (?:missing|outdated) provenance|Job rate limit")
# `WorkflowError in file "...", line 12:`, and the lines of the traceback after the message.
HEADER = re.compile(r"^(?:Workflow|InputFunction|Rule)(?:Error|Exception)(?: in (?:rule|file) .*)?:\n", re.MULTILINE)
FRAME = re.compile(r'^  File "[^"]*", line \d+, in .*\n?', re.MULTILINE)
# An error of an input function: its kind and message, then the wildcards and a traceback.
INPUT_FUNCTION_ERROR = re.compile(r"^Error:\n  (\w+):\n?(.*?)\nWildcards:\n", re.MULTILINE | re.DOTALL)
NO_RULE = re.compile(r"^MissingRuleException:\nNo rule to produce (.+?) \(if you use input functions", re.MULTILINE)


class RunningJob(NamedTuple):
    """A running job."""

    rule: str
    name: str
    logs: tuple[Path, ...]
    started: float

    def state(self) -> str:
        progress = next(filter(None, map(read_last_progress, self.logs)), None)
        if progress is None:
            return format_duration(time.monotonic() - self.started)
        remaining = format_duration(progress.seconds_left)
        return f"{progress.done} of {progress.total} requests, {progress.rate:.1f} a second, about {remaining} left"


class Terminal:
    """Output of Snakemake's log records, with a status that a separate thread updates regularly.

    On a terminal the status is redrawn below the permanent lines; in a file or a pipe it is an occasional line.
    """

    def __init__(self, common: OutputSettingsLoggerInterface, stream: TextIO) -> None:
        self._quiet = set(common.quiet or ())
        self._is_dry = common.dryrun

        is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._console = Console(
            file=stream, force_terminal=is_terminal, no_color=common.nocolor or None, highlight=False
        )
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._planned: DryRunSummary | None = None
        self._total, self._done = Counter[str](), Counter[str]()
        self._running: dict[int, RunningJob] = {}
        self._failed: dict[int, tuple[RunningJob, str]] = {}
        self._start = self._last_output = time.monotonic()
        self._log_file = ""
        self._is_stopping = self._has_error = False
        self._lock = threading.RLock()
        self._end_event = threading.Event()
        if not self._is_dry and not self._quiet:
            if is_terminal:
                self._live.start()
                self._console.show_cursor(True)  # A killed process must not leave the terminal without a cursor.
            threading.Thread(target=self._watch, daemon=True).start()

    def read_dry_run(self, workflow: Any, record: LogRecord) -> bool:
        """Take a dry run's jobs from their graph when Snakemake logs their number.

        Snakemake's own output continues only if there are checkpoints, since it shows what these may change.
        """
        if vars(record).get("event") is LogEvent.RUN_INFO:
            self._planned = self._planned or DryRunSummary(workflow.dag)
            if not any(workflow.dag.checkpoint_jobs):
                workflow.output_settings.quiet = {Quietness.RULES, Quietness.PROGRESS}
        return True

    def handle(self, record: LogRecord) -> None:
        fields = vars(record)
        if Quietness.ALL in self._quiet and not self._is_dry:
            return
        with self._lock:
            match fields.get("event"):
                case LogEvent.RUN_INFO if not (self._total or self._is_dry):
                    self._total.update(count_jobs(fields["stats"]))
                    if not self._quiet:
                        rule_counts = ", ".join(f"{count} {rule}" for rule, count in self._total.items())
                        self._print(f"{self._total.total()} jobs: {rule_counts}", "bold")
                case LogEvent.JOB_INFO:
                    name, logs = (
                        f"{fields['rule_name']} {format_wildcards(fields['wildcards'])}".strip(),
                        tuple(map(Path, fields["log"])),
                    )
                    self._running[fields["jobid"]] = RunningJob(fields["rule_name"], name, logs, time.monotonic())
                case LogEvent.JOB_FINISHED:
                    if job := self._running.pop(fields["job_id"], None):
                        self._done.update(count_jobs({job.rule: 1}))
                case LogEvent.JOB_ERROR:
                    job = self._running.pop(fields["jobid"], None)
                    if job and not self._is_stopping:
                        reason = last_error(job.logs) or " ".join((fields["rule_msg"] or NO_MESSAGE).split())
                        message = f"{job.name}: {reason}{f' (log: {job.logs[0]})' if job.logs else ''}"
                        self._failed[fields["jobid"]] = job, message
                        self._print(f"FAILED {message}", "red")
                case LogEvent.ERROR:
                    if text := error_message(record.getMessage(), fields["exception"]):
                        self._has_error = True
                        self._print(text, "red")
                case None:
                    self._message(record)

    def _message(self, record: LogRecord) -> None:
        text = record.getMessage()
        if text.startswith(LOG_FILE):
            self._log_file = text.removeprefix(LOG_FILE)
        self._is_stopping = self._is_stopping or text.startswith("Terminating processes on user request")
        if restart := re.match(r"Trying to restart job (\d+)", text):
            if failed := self._failed.pop(int(restart[1]), None):
                self._print(f"Trying again: {failed[0].name}")
        elif not (text.startswith(NOISE) or text in ("", "None") or NOISE_OF_A_JOB.match(text)):
            self._print(text, {"WARNING": "yellow", "ERROR": "red"}.get(getLevelName(record.levelno), ""))

    def end(self) -> None:
        with self._lock:
            if self._end_event.is_set():
                return
            self._end_event.set()
            self._live.stop()
            if self._planned and not self._has_error:
                width = max(NARROWEST, self._console.width) if self._console.is_terminal else WIDTH_OF_FILES
                self._print(self._planned.text(width))
            elapsed, total = format_duration(time.monotonic() - self._start), self._total.total()
            n_unfinished = total - self._done.total()
            if total and self._is_stopping:
                self._print(f"Stopped after {elapsed}: {self._count()} done. Run the same command to continue.", "bold")
            elif total and (self._failed or n_unfinished):
                self._print(
                    f"Not finished after {elapsed}: {self._count()}, {n_unfinished - len(self._failed)} not started.",
                    "bold",
                )
                messages = [f"  {message}" for _, message in self._failed.values()]
                self._print("\n".join(summarize_list(messages, MOST_FAILED, "  and {} more")))
                self._print("Finished jobs are kept. Correct the cause, then run the same command again.")
                if self._log_file:
                    self._print(f"Snakemake's full output: {self._log_file} (on the terminal: --logger-reprise-full)")
            elif total and not self._quiet:
                self._print(f"Done in {elapsed}: {self._count()}.", "bold")

    def _print(self, text: str, style: str = "") -> None:
        if text:
            self._last_output = time.monotonic()
            self._console.print(Text(sanitize(text), style), soft_wrap=True)

    def _count(self) -> str:
        failed = f", {len(self._failed)} failed" if self._failed else ""
        return f"{self._done.total()} of {self._total.total()} jobs{failed}"

    def _watch(self) -> None:
        while not self._end_event.wait(REFRESH_S):
            self.show_status()

    def show_status(self) -> None:
        with self._lock:
            if self._end_event.is_set():
                return
            elapsed = format_duration(time.monotonic() - self._start)
            if not self._total:
                lines = [f"{elapsed}: planning the jobs"]
            else:
                started_rules = self._done.keys() | {job.rule for job in self._running.values()}
                counts = [
                    (rule, self._done[rule], total) for rule, total in self._total.items() if rule in started_rules
                ]
                by_rule = ", ".join(f"{rule} {done}/{total}" for rule, done, total in counts if done < total)
                running = [f"  {job.name}: {job.state()}" for job in self._running.values()]
                lines = [f"{elapsed}: {self._count()}", *[f"  of them {by_rule}"] * bool(by_rule)]
                lines += summarize_list(running, MOST_RUNNING, "  and {} more running")
            if self._console.is_terminal:
                self._live.update(Text(sanitize("\n".join(lines)), no_wrap=True, overflow="crop"), refresh=True)
            elif time.monotonic() - self._last_output >= LONGEST_SILENCE_S:
                self._print("; ".join(line.strip() for line in lines))


def last_error(logs: Iterable[Path]) -> str:
    """Return the log line with the reason of a job's failure: the first line of its last error, or the last line."""
    for log in logs:
        lines = [line.strip() for line in (find_last_error(log) or read_tail(log)).splitlines() if line.strip()]
        if lines:
            return lines[0].removeprefix(ERROR) if lines[0].startswith(ERROR) else lines[-1]
    return ""


def format_duration(seconds: float) -> str:
    """Return a duration such as `58 s`, `4 min 12 s` or `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# --- errors ----------------------------------------------------------------------------------------------------------


def error_message(text: str, exception: str, arguments: Sequence[str] = sys.argv) -> str:
    """Return the message of a user error, or Snakemake's full text of a bug; empty if it is printed elsewhere."""
    is_of_job = exception == "RuleException" and "CalledProcessError in file" in text
    if is_of_job or exception == "KeyboardInterrupt" or text.rstrip().endswith("job did not complete successfully."):
        return ""
    if "Invalid config definition" in text:
        return _config_error(arguments)
    if no_rule := NO_RULE.search(text):
        return (
            f"Error: no rule creates {no_rule[1]}. A target is a file, such as results/tables/table2.html, or a rule "
            "without wildcards (`snakemake --list-target-rules`)."
        )
    if in_function := INPUT_FUNCTION_ERROR.search(text):
        kind, message = in_function.groups()
        return f"Error: {dedent(message).strip()}" if kind in ("WorkflowError", "UserError") else text
    if exception in ("WorkflowError", "InputFunctionException", "MissingRuleException"):
        return f"Error: {FRAME.sub('', HEADER.sub('', text)).strip()}"
    return text


def _config_error(arguments: Sequence[str]) -> str:
    """Return the message for words without `=` after `--config`, which takes all words up to the next option."""
    rest = dropwhile(lambda word: word not in ("--config", "-C"), arguments)
    config_words = list(takewhile(lambda word: not word.startswith("-"), islice(rest, 1, None)))
    targets, settings = ([word for word in config_words if ("=" in word) is is_setting] for is_setting in (False, True))
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
