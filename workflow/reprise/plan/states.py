"""Where every run stands: done, stale, missing or failed, by the keys that Snakemake's jobs depend on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import last_words
from reprise.core.paths import Scored, Step
from reprise.core.settings import Settings
from reprise.plan.answers import FailedAnswers, failed_answers
from reprise.plan.changes import KeyChange, KeyChanges
from reprise.plan.keys import key_texts
from reprise.plan.outcome import Counts, count
from reprise.plan.runs import Plan

Name = Literal["done", "stale", "missing", "failed"]


class State(NamedTuple):
    """Where a run stands, and why."""

    scored: Scored
    name: Name
    counts: Counts
    missing: tuple[Step, ...]
    """what is not there, in the order in which it is made"""
    failures: tuple[tuple[Step, str], ...]
    """what of it a job could not make, and its last words"""
    changed: tuple[tuple[Step, KeyChange], ...]
    """what was made under a key that is another one now"""
    answers: FailedAnswers | None
    """answers that failed"""

    @property
    def due(self) -> int:
        """How many failed answers the next run asks again."""
        return self.answers.due.total() if self.answers else 0


class States:
    """The states of a suite's runs; every file and key is looked at once."""

    def __init__(self, plan: Plan, keys: Mapping[Path, Settings]) -> None:
        """`keys` are the suite's, as `collect_keys` finds them now."""
        self._plan = plan
        self._changes = KeyChanges(plan.results, key_texts(keys))
        self._failed = {one.job.scored: one for one in failed_answers(plan)}
        self._known: dict[Path, list[KeyChange]] = {}

    def all(self) -> list[State]:
        """Every run, by every judge whose ratings of it a table shows."""
        return [self.of(one) for one in self._plan.numbers()]

    def of(self, one: Scored) -> State:
        """One run, or a judge's ratings of it."""
        steps = list(self._plan.origin(one).steps())  # the first that is made first
        missing = tuple(step for step in steps if not step.path.is_file())
        failures = [(step, words) for step in missing if (words := last_words(step.log))]
        changed = tuple((step, change) for step in steps for change in self._changed(step))
        answers = self._failed.get(one) or self._failed.get(Scored(one.run))
        counts = Counts()
        if steps[-1] not in missing:
            try:
                counts = count(self._plan.results, one)
            except UserError as error:  # a damaged table
                failures.append((steps[-1], str(error)))
        name: Name = "done"
        if failures:
            name = "failed"
        elif steps[-1] in missing:
            name = "missing"
        elif changed or (answers and answers.due):
            name = "stale"
        return State(one, name, counts, missing, tuple(failures), changed, answers)

    def _changed(self, step: Step) -> list[KeyChange]:
        if step.path not in self._known:
            self._known[step.path] = self._changes.since(step.path)
            change = self._changes.since_input(step.path, step.key) if step.key else None
            self._known[step.path] += [change] if change else []
        return self._known[step.path]
