"""Test the terminal output for Snakemake's events, and errors about wrong keys of a profile."""

import asyncio
import contextlib
import io
import logging
import os
import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.log import PREVIEW_VARIABLE, STATUS_VARIABLE, Progress
from snakemake.exceptions import InputFunctionException, WorkflowError, format_exception_to_string
from snakemake.jobs import Reason
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_reprise.planned import DryRunSummary
from snakemake_logger_plugin_reprise.profiles import check_keys
from snakemake_logger_plugin_reprise.terminal import MAX_LISTED_RUNNING, Terminal, format_duration, format_error

STATS = {"infer": 2, "table": 1, "all": 1, "total": 4}
CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.fixture(autouse=True)
def _frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)


class FakeRun:
    def __init__(self, stream: Any = None, **settings: Any) -> None:
        self.stream = stream or io.StringIO()
        common: Any = SimpleNamespace(**{"nocolor": False, "quiet": (), "dryrun": False, **settings})
        self.terminal = Terminal(common, self.stream)

    def log(self, text: str, level: int = logging.INFO, event: LogEvent | None = None, **fields: Any) -> None:
        record = logging.LogRecord("snakemake.logging", level, __file__, 1, text, None, None)
        vars(record).update(fields, **({"event": event} if event else {}))
        self.terminal.handle(record)

    def count(self) -> None:
        self.log("", event=LogEvent.RUN_INFO, stats=STATS)

    def start(self, jobid: int, rule: str, log: Path | str = "none.log", **wildcards: str) -> None:
        self.log("", event=LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=wildcards, log=[str(log)])

    def finish(self, jobid: int) -> None:
        self.log("", event=LogEvent.JOB_FINISHED, job_id=jobid)

    def fail(self, jobid: int, message: str | None = None) -> None:
        self.log("Error in rule", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=jobid, rule_msg=message)

    def end(self) -> str:
        self.terminal.end()
        self.terminal.end()
        return str(self.stream.getvalue())


def test_a_successful_run_prints_a_summary(tmp_path: Path) -> None:
    run = FakeRun()
    for ignored_message in (
        "Building DAG of jobs...",
        "Job 28 has been submitted with SLURM jobid 10 (log: /x/10.log).",
    ):
        run.log(ignored_message, logging.WARNING)
    run.count()
    run.start(1, "infer", benchmark="velociti")
    run.fail(1, "preempted")
    run.log("Trying to restart job 1.")
    for jobid, rule in enumerate(("infer", "infer", "table", "all"), start=1):
        run.start(jobid, rule)
        run.finish(jobid)
    run.log("42 answers: 0 failed, 1 unparsed; 0 questions missing")
    run.log(f"Complete log(s): {tmp_path}/x.log")
    first, _, retry, answers, last = run.end().splitlines()
    assert (first, retry) == ("3 jobs: 2 infer, 1 table", "Trying again: infer velociti")
    assert (answers, last) == ("42 answers: 0 failed, 1 unparsed; 0 questions missing", "Done in 0 s: 3 of 3 jobs.")


def test_a_failure_is_one_line_with_its_reason_and_its_log(tmp_path: Path) -> None:
    log, traceback_log = tmp_path / "infer.log", tmp_path / "x.log"
    log.write_text("3 of 9 requests\nError: the \x1b[2Jfirst 8 requests all failed.\n\n")
    traceback_log.write_text("Traceback (most recent call last):\n  File x\nKeyError: 1\n")
    run = FakeRun()
    run.count()
    run.start(1, "infer", log, benchmark="velociti", model="toy")
    run.start(2, "infer", tmp_path / "none.log", benchmark="velociti", model="other")
    run.start(3, "table", traceback_log)
    job_error = 'RuleException:\nCalledProcessError in file "x.smk"'
    run.log(job_error, logging.ERROR, LogEvent.ERROR, exception="RuleException")
    for jobid, message in ((1, None), (2, "SLURM-job '7' failed,\nSLURM status is: 'OUT_OF_MEMORY'."), (3, None)):
        run.fail(jobid, message)
    run.log("At least one job did not complete successfully.", logging.ERROR, LogEvent.ERROR, exception="WorkflowError")
    lines = run.end().splitlines()
    reasons = [
        f"infer velociti/toy: the first 8 requests all failed. (log: {log})",
        f"infer velociti/other: SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. (log: {tmp_path}/none.log)",
        f"table: KeyError: 1 (log: {traceback_log})",
    ]
    assert lines[1:4] == [f"FAILED {reason}" for reason in reasons] and lines[5:8] == [
        f"  {reason}" for reason in reasons
    ]
    assert lines[4] == "Not finished after 0 s: 0 of 3 jobs, 3 failed, 0 not started."
    assert lines[-1] == "Finished jobs are kept. Correct the cause, then run the same command again."


@pytest.mark.parametrize(
    ("quiet", "message", "expected"),
    [
        ((), "Terminating processes on user request, this might take some time.", "Stopped after 0 s: 0 of 3 jobs done. Run the same command to continue.\n"),
        ((Quietness.PROGRESS, Quietness.RULES), "", "FAILED infer: cause (log: none.log)\n"),
        ((Quietness.ALL,), "", ""),
    ],
)  # fmt: skip
def test_stopped_runs_have_not_failed_and_quiet_runs_print_failures(quiet: Any, message: str, expected: str) -> None:
    run = FakeRun(quiet=quiet)
    run.count()
    run.start(1, "infer")
    run.log(message)
    run.fail(1, "cause")
    if "user request" in message:
        run.log("Cannot close a running event loop", logging.ERROR, LogEvent.ERROR, exception="RuntimeError")
    text = run.end()
    assert (
        expected in text and ("3 jobs:" in text) == (not quiet) and ("FAILED" in text) == expected.startswith("FAILED")
    )
    assert expected or text == ""


@pytest.mark.parametrize("has_failure", [False, True])
def test_a_quiet_run_is_complete_unless_a_job_fails(has_failure: bool) -> None:
    """Snakemake reports neither started nor finished jobs, but it reports failed ones."""
    run = FakeRun(quiet=(Quietness.PROGRESS, Quietness.RULES))
    run.count()
    if has_failure:
        run.start(1, "infer")
        run.fail(1, "cause")
    text = run.end()
    assert ("Not finished after 0 s: 1 of 3 jobs failed." in text) == has_failure
    assert has_failure or text == ""


def test_a_file_gets_plain_lines_and_a_terminal_gets_a_temporary_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    inference_log = tmp_path / "infer.log"
    inference_log.write_text(f"loading the model\n{Progress(30, 90, 3.0, 20.0)}\n")
    reading_end, writing_end = os.openpty()
    with os.fdopen(writing_end, "w") as stream:
        run = FakeRun(stream)
        run.terminal.show_status()
        run.count()
        run.start(1, "infer", inference_log, benchmark="velociti", model="toy")
        for jobid in range(2, 2 + MAX_LISTED_RUNNING):
            run.start(jobid, "score")
        run.terminal.show_status()
        run.log("a warning of the length of two lines " * 3, logging.WARNING)
        run.terminal.end()
    output = ""
    with contextlib.suppress(OSError):  # Linux reports the end of a pseudo-terminal as an error
        while chunk := os.read(reading_end, 65536).decode():
            output += chunk
    os.close(reading_end)
    assert "0 s: planning the jobs" in output and "\x1b[1m3 jobs: 2 infer, 1 table\x1b[0m" in output
    status = (
        "0 s: 0 of 3 jobs\r\n  of them infer 0/2\r\n  infer velociti/toy: 30 of 90 requests, 3.0 a second, about\r\n"
    )
    assert status in output and "  score: 0 s\r\n  and 1 more running" in output, "a line is cut at the screen's width"
    assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l"), "the cursor is visible again"
    assert output.rindex("\x1b[2K") < output.index("Not finished after 0 s"), "the status is erased"
    file_run = FakeRun()
    file_run.count()
    file_run.start(1, "infer", inference_log)
    file_run.terminal._last_output = float("-inf")  # the interval between status lines has passed
    file_run.terminal.show_status()
    text = file_run.end()
    assert not CONTROL_CHARACTERS.search(text)
    assert "\n0 s: 0 of 3 jobs; of them infer 0/2; infer: 30 of 90 requests, 3.0 a second, about 20 s left\n" in text
    monkeypatch.setenv(STATUS_VARIABLE, "1")
    relayed_run = FakeRun()
    relayed_run.count()
    relayed_run.start(1, "infer", inference_log)
    relayed_run.terminal.show_status()
    assert relayed_run.end().splitlines(keepends=True)[1:3] == [
        "\r", "0 s: 0 of 3 jobs; 30 of 90 requests, 3.0 a second, about 20 s left (infer)\n"
    ], "a line that begins with a carriage return"  # fmt: skip


def print_dry_run(*jobs: tuple[str, str, str, str]) -> list[str]:
    """Return the lines of a dry run of jobs (rule, changed input, benchmark, model); jobs of rule `made` need no run."""
    all_jobs: list[Any] = []
    for rule, changed_input, benchmark, model in jobs:
        reason, wildcards = Reason(), {"benchmark": benchmark, "model": model}
        (reason.updated_input if changed_input else reason.missing_output).add(changed_input or "a")
        all_jobs.append(SimpleNamespace(rule=SimpleNamespace(name=rule, resources={"loaded_model": 1} if rule == "infer" else {}), wildcards=[*wildcards.values()], wildcards_dict=wildcards,
                                        reason=reason, output=["results/demo/x"], params=[], resources={}, shellcmd=""))  # fmt: skip
    (run := FakeRun(dryrun=True)).count()
    graph = {"toposorted": lambda: [[job] for job in all_jobs], "needrun": lambda job: job.rule.name != "made"}
    run.terminal._dry_run_summary = DryRunSummary(SimpleNamespace(**graph, reason=lambda job: job.reason))
    return run.end().splitlines()


def test_a_dry_run_before_a_run_lists_only_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREVIEW_VARIABLE, "1")
    lines = print_dry_run(("infer", "results/demo/x", "velociti", "toy"))
    assert lines[0] == "1 job would run (changed input):" and lines[-1] == "     1  toy: velociti 1"


def test_a_dry_run_fits_on_a_screen() -> None:
    rules = ["infer" if number % 10 == 0 else f"rule{number % 18}" for number in range(300)]
    changed_input = "results/demo/requests/velociti/entail.parquet"
    lines = print_dry_run(
        *(
            (rule, "" if number % 3 else changed_input, f"b{number % 4}", f"model{number % 70}")
            for number, rule in enumerate(rules)
        )
    )
    assert len(lines) <= 40 and lines[0] == "300 jobs would run:" and "--logger-reprise-full" in lines[-1]
    assert {"    30  infer   changed input 10, not computed yet 20; b0, b2", f"  {changed_input} is newer"} <= {*lines}
    lines_of_one_job = print_dry_run(*((rule, "", "velociti", "toy") for rule in ("made", "infer", "all")))
    assert (
        lines_of_one_job[:2] == ["1 job would run (not computed yet):", "     1  infer  velociti"]
        and print_dry_run() == []
    )


ERROR_IN_FUNCTION = (
    'WorkflowError in file "/a/common.smk", line 12:\ntwo\nlines\n  File "/a/common.smk", line 12, in <module>'
)
INVALID_CONFIG = (
    "Traceback (most recent call last):\nValueError: Invalid config definition: Config entries have to be ..."
)
BUG_TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1, in y\nKeyError: 1'


@pytest.mark.parametrize(
    ("text", "exception", "arguments", "end"),
    [
        (INVALID_CONFIG, "ValueError", ["-C", "results/t.tex", "-n"], "before it: snakemake results/t.tex --config suite=<name>"),
        (ERROR_IN_FUNCTION, "WorkflowError", [], "Error: two\nlines"),
        (BUG_TRACEBACK, "KeyError", [], BUG_TRACEBACK),
    ],
)  # fmt: skip
def test_a_user_error_is_one_message_and_a_bug_keeps_its_traceback(
    text: str, exception: str, arguments: list[str], end: str
) -> None:
    assert format_error(text, exception, ["snakemake", *arguments]).endswith(end)


def test_a_thread_that_is_busy_after_ctrl_c_is_no_error() -> None:
    """Snakemake closes the event loops of all threads, also those that still run."""
    runner, is_running, is_closed = asyncio.Runner(), threading.Event(), threading.Event()

    async def wait() -> None:
        is_running.set()
        is_closed.wait()

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            runner.run(wait())

    thread = threading.Thread(target=run)
    thread.start()
    is_running.wait()
    with pytest.raises(RuntimeError) as caught:
        runner.close()
    is_closed.set()
    thread.join()
    text = format_exception_to_string(caught.value)
    assert "Traceback" in text and format_error(text, "RuntimeError") == ""


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (WorkflowError("found:\n  one\n  two"), "Error: found:\n  one\n  two"),
        (UserError("rows.csv: row 2: no text."), "Error: rows.csv: row 2: no text."),
        (KeyError("table9"), None),
    ],
)
def test_user_errors_of_input_functions_are_one_message(inner: Exception, message: str | None) -> None:
    rule = SimpleNamespace(workflow=SimpleNamespace(linemaps={}), name="table", lineno=4, snakefile="tables.smk")
    try:
        raise inner
    except Exception as caught:
        output = format_exception_to_string(InputFunctionException(caught, {"benchmark": "velociti"}, rule=rule))
    assert format_error(output, "InputFunctionException") == (output if message is None else message)


def test_durations_are_formatted() -> None:
    assert [format_duration(seconds) for seconds in (0.4, 59, 60, 7530)] == ["0 s", "59 s", "1 min 0 s", "2 h 5 min"]


# --- keys of a profile, against the options of the installed Snakemake -------------------------------------------------

ROOT = Path(__file__).parents[3]
VALID_PROFILE = "__use_yte__: true\n__definitions__: [from os import sep]\n?if sep:\n  logger: [reprise]\njobs: 3\nresources: {gpu: 1}\n"


def test_the_projects_profiles_have_no_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for profile in ("default", "none"):  # "none" does not exist; tests/cluster tests the profile for Slurm
        check_keys(["snakemake", "-n", "--workflow-profile", profile])


@pytest.mark.parametrize(
    ("options", "file"),
    [([], "profiles/default/config.yaml"), (["-n", "--workflow-profile=profiles/here"], "profiles/here/profile.yaml")],
)
def test_a_wrong_key_is_named_with_its_file(
    options: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(file)
    path.parent.mkdir(parents=True)
    path.write_text(VALID_PROFILE)
    check_keys(["snakemake", *options])
    path.write_text(VALID_PROFILE.replace("  logger:", "  loger:").replace("jobs:", "job-count:"))
    with pytest.raises(SystemExit) as caught:
        check_keys(["snakemake", *options])
    first, second, last = str(caught.value).splitlines()
    assert first.startswith(f"Error: {file}: unknown key 'loger'. Did you mean 'logger'? Allowed: ")
    assert second.startswith(f"{file}: unknown key 'job-count'.")
    assert last.endswith(
        "; snakemake-executor-plugin-slurm adds those that begin with `slurm-` (`make cluster` installs it)."
    )
