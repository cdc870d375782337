"""Another try of what failed: the input of a job that asks for it is another one each time."""

from pathlib import Path

import polars as pl
import pytest
from reprise.config.load import load
from reprise.core.paths import Run, Scored
from reprise.core.store import Store
from reprise.models.asking.journal import Failures, failures_path
from reprise.models.base import Answer
from reprise.plan.answers import FailedAnswers, Job, write_answer_retries
from reprise.plan.runs import Plan


def test_a_log_of_failures_that_was_repaired_names_another_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair drops as many lines as the retry adds: their number is the same as before."""
    plan, store = Plan(load(Path(), {"suite": "demo"})), Store(tmp_path)
    monkeypatch.chdir(tmp_path)
    scored = Scored(Run("b", "p", "s", "m"))
    log = failures_path(store, "ab" * 32)

    def note() -> str:
        failed = pl.DataFrame({"error": ["timeout", "timeout"]})
        found = FailedAnswers(Job(scored, Path(), Path()), 2, failed, Failures(log, 3))
        assert found.due
        write_answer_retries(plan, [found])
        return plan.results.answer_retry_key(scored).read_text()

    failures = Failures(log, 3)
    for entry in "ab":
        failures.add(entry, Answer(error="timeout", message="m"))
    failures.write()
    before = note()
    assert note() == before
    log.write_bytes(log.read_bytes().replace(b'"a"', b'"A"'))
    assert len(list(store.repair())) == 1
    assert Failures(log, 3).retry() == 1
    assert note() != before
