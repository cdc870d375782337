"""Run each check in its own process with a deadline.

The results of a check are lines. A crash or a hang gives a failed line.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bench.gpu_check.outcome import FAILED, NOT_TRIED, Check, Line, Session
from bench.gpu_check.process import is_package_missing

ROOT = Path(__file__).parents[2]
MIN_SECONDS = 5.0  # A check is not started if less time remains.
DEADLINE_PASSED = "no result after"
"""beginning of the reason if a check exceeds its deadline"""


def run_all(checks: Sequence[Check], session: Session, *, seconds: float, jobs: int = 1) -> Iterator[list[Line]]:
    """Yield the lines of each check in order; `seconds` bounds the total time."""
    end = time.monotonic() + seconds
    session.logs.mkdir(parents=True, exist_ok=True)
    if jobs == 1:  # In this thread, Ctrl-C ends the running check.
        yield from (run(check, session, end) for check in checks)
        return
    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(lambda check: run(check, session, end), checks)


def run(check: Check, session: Session, end: float) -> list[Line]:
    """Run one check, and return its lines; `end` is the time (`time.monotonic`) at which all checks must end."""
    if session.is_cpu and check.only_gpu:
        return [Line(name, NOT_TRIED, reason=check.only_gpu) for name in check.lines]
    missing = [name for name in check.packages if is_package_missing(name)]
    if missing:
        reason = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        return [Line(name, NOT_TRIED, reason=reason) for name in check.lines]
    remaining = end - time.monotonic()
    if remaining < MIN_SECONDS:
        return [Line(name, NOT_TRIED, reason="no time left; raise --minutes") for name in check.lines]
    start, log = time.monotonic(), session.logs / f"{check.name}.log"
    ending, lines = _in_process(check, session, log, min(check.seconds, remaining))
    if check.seconds > remaining and ending.startswith(DEADLINE_PASSED):
        ending, status = "no time left; raise --minutes", NOT_TRIED
    else:
        status = FAILED
    seconds = round(time.monotonic() - start, 1)
    lines_by_name = {line.name: line for line in lines}
    return [lines_by_name.get(name, Line(name, status, {}, f"{ending}; log: {log}", seconds)) for name in check.lines]


def _in_process(check: Check, session: Session, log: Path, seconds: float) -> tuple[str, list[Line]]:
    """Return the reason for any line that the process of a check did not yield, and the lines that it yielded."""
    output = log.with_suffix(".jsonl")
    output.unlink(missing_ok=True)
    task = {**asdict(check), **asdict(session), "output": output}
    import_paths = [str(ROOT), str(ROOT / "workflow"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(import_paths), "PYTHONFAULTHANDLER": "1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.gpu_check.process", json.dumps(task, default=str)],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(seconds)
            ending = f"its process was ended by {signal.Signals(-code).name}" if code < 0 else "it yielded no line"
        except subprocess.TimeoutExpired:
            ending = f"{DEADLINE_PASSED} {seconds:.0f} s"
        finally:
            with suppress(ProcessLookupError):  # kill the whole group, including processes that the check started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text = output.read_text(encoding="utf-8") if output.exists() else ""
    return ending, [Line(**json.loads(line)) for line in text.splitlines()]
