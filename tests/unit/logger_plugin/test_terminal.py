"""Terminal output for Snakemake's events, and errors about wrong keys of a profile."""

import contextlib
import io
import logging
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.log import Progress
from snakemake.exceptions import InputFunctionException, WorkflowError, format_exception_to_string
from snakemake.jobs import Reason
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_reprise.planned import DryRunSummary
from snakemake_logger_plugin_reprise.profiles import check_keys
from snakemake_logger_plugin_reprise.terminal import MOST_RUNNING, Terminal, error_message, format_duration

STATS = {"infer": 2, "table": 1, "all": 1, "total": 4}
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.fixture(autouse=True)
def _no_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)


class Run:
    def __init__(self, stream: Any = None, **settings: Any) -> None:
        self.stream = stream or io.StringIO()
        common: Any = SimpleNamespace(**{"nocolor": False, "quiet": (), "dryrun": False, **settings})
        self.terminal = Terminal(common, self.stream)

    def say(self, text: str, level: int = logging.INFO, event: LogEvent | None = None, **of: Any) -> None:
        record = logging.LogRecord("snakemake.logging", level, __file__, 1, text, None, None)
        vars(record).update(of, **({"event": event} if event else {}))
        self.terminal.handle(record)

    def count(self) -> None:
        self.say("", event=LogEvent.RUN_INFO, stats=STATS)

    def start(self, jobid: int, rule: str, log: Path | str = "none.log", **wildcards: str) -> None:
        self.say("", event=LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=wildcards, log=[str(log)])

    def finish(self, jobid: int) -> None:
        self.say("", event=LogEvent.JOB_FINISHED, job_id=jobid)

    def fail(self, jobid: int, message: str | None = None) -> None:
        self.say("Error in rule", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=jobid, rule_msg=message)

    def end(self) -> str:
        self.terminal.end()
        self.terminal.end()
        return str(self.stream.getvalue())


def test_a_run_that_succeeds(tmp_path: Path) -> None:
    run = Run()
    for noise in ("Building DAG of jobs...", "Job 28 has been submitted with SLURM jobid 10 (log: /x/10.log)."):
        run.say(noise, logging.WARNING)
    run.count()
    run.start(1, "infer", benchmark="velociti")
    run.fail(1, "preempted")
    run.say("Trying to restart job 1.")
    for jobid, rule in enumerate(("infer", "infer", "table", "all"), start=1):
        run.start(jobid, rule)
        run.finish(jobid)
    run.say("42 answers: 0 failed, 1 unparsed; 0 questions missing")
    run.say(f"Complete log(s): {tmp_path}/x.log")
    first, _, again, answers, last = run.end().splitlines()
    assert (first, again) == ("3 jobs: 2 infer, 1 table", "Trying again: infer velociti")
    assert (answers, last) == ("42 answers: 0 failed, 1 unparsed; 0 questions missing", "Done in 0 s: 3 of 3 jobs.")


def test_a_failure_is_one_line_with_its_reason_and_its_log(tmp_path: Path) -> None:
    log, bug = tmp_path / "infer.log", tmp_path / "x.log"
    log.write_text("3 of 9 requests\nError: the \x1b[2Jfirst 8 requests all failed.\n\n")
    bug.write_text("Traceback (most recent call last):\n  File x\nKeyError: 1\n")
    run = Run()
    run.count()
    run.start(1, "infer", log, benchmark="velociti", model="toy")
    run.start(2, "infer", tmp_path / "none.log", benchmark="velociti", model="other")
    run.start(3, "table", bug)
    of_a_job = 'RuleException:\nCalledProcessError in file "x.smk"'
    run.say(of_a_job, logging.ERROR, LogEvent.ERROR, exception="RuleException")
    for jobid, message in ((1, None), (2, "SLURM-job '7' failed,\nSLURM status is: 'OUT_OF_MEMORY'."), (3, None)):
        run.fail(jobid, message)
    run.say("At least one job did not complete successfully.", logging.ERROR, LogEvent.ERROR, exception="WorkflowError")
    lines = run.end().splitlines()
    words = [
        f"infer velociti/toy: the first 8 requests all failed. (log: {log})",
        f"infer velociti/other: SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. (log: {tmp_path}/none.log)",
        f"table: KeyError: 1 (log: {bug})",
    ]
    assert lines[1:4] == [f"FAILED {one}" for one in words] and lines[5:8] == [f"  {one}" for one in words]
    assert lines[4] == "Not finished after 0 s: 0 of 3 jobs, 3 failed, 0 not started."
    assert lines[-1] == "Finished jobs are kept. Correct the cause, then run the same command again."


@pytest.mark.parametrize(
    ("quiet", "words", "said"),
    [
        ((), "Terminating processes on user request, this might take some time.", "Stopped after 0 s: 0 of 3 jobs done. Run the same command to continue.\n"),
        ((Quietness.PROGRESS, Quietness.RULES), "", "FAILED infer: cause (log: none.log)\n"),
        ((Quietness.ALL,), "", ""),
    ],
)  # fmt: skip
def test_stopped_runs_have_not_failed_and_quiet_runs_print_failures(quiet: Any, words: str, said: str) -> None:
    run = Run(quiet=quiet)
    run.count()
    run.start(1, "infer")
    run.say(words)
    run.fail(1, "cause")
    text = run.end()
    assert said in text and ("3 jobs:" in text) == (not quiet) and ("FAILED" in text) == said.startswith("FAILED")
    assert said or text == ""


def test_a_file_gets_plain_lines_and_a_terminal_a_status_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    asks = tmp_path / "infer.log"
    asks.write_text(f"loading the model\n{Progress(30, 90, 3.0, 20.0)}\n")
    main, side = os.openpty()
    with os.fdopen(side, "w") as stream:
        run = Run(stream)
        run.terminal.show_status()
        run.count()
        run.start(1, "infer", asks, benchmark="velociti", model="toy")
        for jobid in range(2, 2 + MOST_RUNNING):
            run.start(jobid, "score")
        run.terminal.show_status()
        run.say("a warning of the length of two lines " * 3, logging.WARNING)
        run.terminal.end()
    shown = ""
    with contextlib.suppress(OSError):  # the end, on Linux
        while part := os.read(main, 65536).decode():
            shown += part
    os.close(main)
    assert "0 s: planning the jobs" in shown and "\x1b[1m3 jobs: 2 infer, 1 table\x1b[0m" in shown
    status = (
        "0 s: 0 of 3 jobs\r\n  of them infer 0/2\r\n  infer velociti/toy: 30 of 90 requests, 3.0 a second, about\r\n"
    )
    assert status in shown and "  score: 0 s\r\n  and 1 more running" in shown, "a line is cut at the screen's width"
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is there"
    assert shown.rindex("\x1b[2K") < shown.index("Not finished after 0 s"), "the status is gone"
    plain = Run()
    plain.count()
    plain.start(1, "infer", asks)
    plain.terminal._last_output = float("-inf")  # the last line is old enough for another one
    plain.terminal.show_status()
    text = plain.end()
    assert not CONTROL.search(text)
    assert "\n0 s: 0 of 3 jobs; of them infer 0/2; infer: 30 of 90 requests, 3.0 a second, about 20 s left\n" in text


def dry_run(*jobs: tuple[str, str, str, str]) -> list[str]:
    """What is said of jobs that would run but for those of the rule `made`: rule, input that changed, benchmark, model."""
    all_jobs: list[Any] = []
    for rule, changed, benchmark, model in jobs:
        reason, of = Reason(), {"benchmark": benchmark, "model": model}
        (reason.updated_input if changed else reason.missing_output).add(changed or "a")
        all_jobs.append(SimpleNamespace(rule=SimpleNamespace(name=rule, resources={"loaded_model": 1} if rule == "infer" else {}), wildcards=[*of.values()], wildcards_dict=of,
                                        reason=reason, output=["results/demo/x"], params=[], resources={}, shellcmd=""))  # fmt: skip
    (run := Run(dryrun=True)).count()
    graph = {"toposorted": lambda: [[job] for job in all_jobs], "needrun": lambda job: job.rule.name != "made"}
    run.terminal._planned = DryRunSummary(SimpleNamespace(**graph, reason=lambda job: job.reason))
    return run.end().splitlines()


def test_a_dry_run_is_a_screenful() -> None:
    rules = ["infer" if number % 10 == 0 else f"rule{number % 18}" for number in range(300)]
    old = "results/demo/requests/velociti/entail.parquet"
    lines = dry_run(*((rule, "" if n % 3 else old, f"b{n % 4}", f"model{n % 70}") for n, rule in enumerate(rules)))
    assert len(lines) <= 40 and lines[0] == "300 jobs would run:" and "--logger-reprise-full" in lines[-1]
    assert {"    30  infer   changed input 10, not computed yet 20; b0, b2", f"  {old} is newer"} <= {*lines}
    few = dry_run(*((rule, "", "velociti", "toy") for rule in ("made", "infer", "all")))
    assert few[:2] == ["1 job would run (not computed yet):", "     1  infer  velociti"] and dry_run() == []


IN_FUNCTION = (
    'WorkflowError in file "/a/common.smk", line 12:\ntwo\nlines\n  File "/a/common.smk", line 12, in <module>'
)
SWALLOWED = "Traceback (most recent call last):\nValueError: Invalid config definition: Config entries have to be ..."
BUG = 'Traceback (most recent call last):\n  File "x.py", line 1, in y\nKeyError: 1'


@pytest.mark.parametrize(
    ("text", "exception", "typed", "said"),
    [
        (SWALLOWED, "ValueError", ["-C", "results/t.tex", "-n"], "before it: snakemake results/t.tex --config suite=<name>"),
        (IN_FUNCTION, "WorkflowError", [], "Error: two\nlines"),
        (BUG, "KeyError", [], BUG),
    ],
)  # fmt: skip
def test_a_user_error_is_one_message_and_a_bug_keeps_its_traceback(
    text: str, exception: str, typed: list[str], said: str
) -> None:
    assert error_message(text, exception, ["snakemake", *typed]).endswith(said)


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (WorkflowError("found:\n  one\n  two"), "Error: found:\n  one\n  two"),
        (UserError("rows.csv: row 2: no text."), "Error: rows.csv: row 2: no text."),
        (KeyError("table9"), None),
    ],
)
def test_errors_of_input_functions(inner: Exception, message: str | None) -> None:
    rule = SimpleNamespace(workflow=SimpleNamespace(linemaps={}), name="table", lineno=4, snakefile="tables.smk")
    try:
        raise inner
    except Exception as raised:
        shown = format_exception_to_string(InputFunctionException(raised, {"benchmark": "velociti"}, rule=rule))
    assert error_message(shown, "InputFunctionException") == (shown if message is None else message)


def test_times_in_words() -> None:
    assert [format_duration(seconds) for seconds in (0.4, 59, 60, 7530)] == ["0 s", "59 s", "1 min 0 s", "2 h 5 min"]


# --- keys of a profile, against the options that Snakemake has here --------------------------------------------------

ROOT = Path(__file__).parents[3]
GOOD = "__use_yte__: true\n__definitions__: [from os import sep]\n?if sep:\n  logger: [reprise]\njobs: 3\nresources: {gpu: 1}\n"


def test_the_projects_profiles_have_no_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for profile in ("default", "none"):  # the last is not there; tests/cluster has that of Slurm
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
    path.write_text(GOOD)
    check_keys(["snakemake", *options])
    path.write_text(GOOD.replace("  logger:", "  loger:").replace("jobs:", "job-count:"))
    with pytest.raises(SystemExit) as error:
        check_keys(["snakemake", *options])
    first, second, last = str(error.value).splitlines()
    assert first.startswith(f"Error: {file}: unknown key 'loger'. Did you mean 'logger'? Allowed: ")
    assert second.startswith(f"{file}: unknown key 'job-count'.")
    assert last.endswith("; `make cluster` installs the options that begin with `slurm-`.")
