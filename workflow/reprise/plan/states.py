"""Where every run stands: done, stale, missing or failed, by the keys that Snakemake's jobs depend on."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from reprise.core.errors import UserError
from reprise.core.job_logs import last_words
from reprise.core.paths import Ledger, Scored
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.plan.answers import FailedAnswers, failed_answers
from reprise.plan.changes import KeyChange, KeyChanges
from reprise.plan.keys import key_texts
from reprise.plan.runs import Plan
from reprise.plan.split import run_pieces

Name = Literal["done", "stale", "missing", "failed"]
STAGES: tuple[Ledger, ...] = ("sources", "clips")


class Step(NamedTuple):
    """A file behind a run's numbers."""

    name: str
    path: Path
    log: Path
    key: Path | None = None
    """a key file that it was made from and does not name itself"""


class Counts(NamedTuple):
    """What became of a run's questions."""

    asked: int = 0
    failed: int = 0
    unread: int = 0
    missing: int = 0
    """not asked, because their clip is missing"""


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
        self._results = plan.results
        self._changes = KeyChanges(plan.results, key_texts(keys))
        self._failed = {one.job.scored: one for one in failed_answers(plan)}
        self._known: dict[Path, list[KeyChange]] = {}

    def all(self) -> list[State]:
        """Every run, by every judge whose ratings of it a table shows."""
        return [self.of(one) for one in self._plan.numbers()]

    def of(self, one: Scored) -> State:
        """One run, or a judge's ratings of it."""
        steps = list(self.steps(one))
        missing = tuple(step for step in steps if not step.path.is_file())
        failures = [(step, words) for step in missing if (words := last_words(step.log))]
        changed = tuple((step, change) for step in steps for change in self._changed(step))
        answers = self._failed.get(one) or self._failed.get(Scored(one.run))
        counts = Counts()
        if steps[-1] not in missing:
            try:
                counts = self._counts(one)
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

    def _counts(self, one: Scored) -> Counts:
        run, results = one.run, self._results
        asked, all_questions = results.responses(run), results.requests(run.benchmark, run.protocol)
        read = read_table(
            results.verdicts(run, one.judge or "robust"), VERDICTS, _all_but(VERDICTS, "failed", "unparsed")
        )
        failed, unread = (int(read[name].sum()) for name in ("failed", "unparsed"))
        if not asked.is_file() or not all_questions.is_file():  # nothing needs them any more
            return Counts(read.height, failed, unread)
        count = read_table(asked, RESPONSES, _all_but(RESPONSES, "item_id")).height
        total = read_table(all_questions, REQUESTS, _all_but(REQUESTS, "item_id")).height
        return Counts(count, failed, unread, total - count)

    def steps(self, one: Scored) -> Iterator[Step]:
        """The files behind a run's numbers, first the first that is made."""
        run, results = one.run, self._results
        names = run.benchmark, run.protocol, run.sampling, run.model
        yield from self._data_steps(run.benchmark)
        frames = results.frames(run.benchmark, run.sampling)
        log = results.log
        is_imported = run.model in self._plan.imports.models
        if not is_imported:
            yield from self._video_steps(run.benchmark)
            yield Step("frame plan", frames, log("frames", run.benchmark, run.sampling))
        requests = results.requests(run.benchmark, run.protocol)
        yield Step("requests", requests, log("requests", run.benchmark, run.protocol))
        if self._plan.config.models[run.model].repo and not is_imported:
            yield Step("weights", results.weights(run.model), log("weights", run.model))
        served = self._plan.config.models[run.model].served_by
        if served is not None:
            name = served.environment
            yield Step("environment", results.environment(name), log("environments", name))
        pieces = () if is_imported else run_pieces(self._plan.config.models[run.model])
        for piece in pieces:
            yield Step(f"piece {piece.name}", results.piece(run, piece.name), log("infer_piece", *names, piece.name))
        rule = "import_answers" if is_imported else "join_pieces" if pieces else "infer"
        yield Step("answers", results.responses(run), log(rule, *names))
        if one.judge:
            rule = "import_ratings" if one.judge in self._plan.imports.models else "judge"
            yield Step("questions to the judge", results.judge_requests(run), log("judge_requests", *names))
            yield Step("replies of the judge", results.judge_responses(run, one.judge), log(rule, *names, one.judge))
        log_of_scores = log("score", *names, one.judge) if one.judge else log("score", *names)
        yield Step("verdicts", results.verdicts(run, one.judge or "robust"), log_of_scores)
        yield Step("metrics", results.metrics(one), log_of_scores)

    def _data_steps(self, benchmark: str) -> Iterator[Step]:
        folder, log = self._results.folder, self._results.log
        key = self._results.key("release", benchmark)
        yield Step("release", folder / "release" / benchmark / "files.json", log("release", benchmark), key)
        yield Step("annotations", self._results.items(benchmark), log("annotations", benchmark))

    def _video_steps(self, benchmark: str) -> Iterator[Step]:
        log = self._results.log
        for stage in STAGES:
            for shard in range(self._plan.config.suite.shards):
                path = self._results.ledger(stage, benchmark, shard)
                retry = self._results.retry_key(benchmark, shard) if stage == "sources" else None
                yield Step(stage, path, log(stage, benchmark, str(shard)), retry)
        yield Step("facts", self._results.facts(benchmark), log("facts", benchmark))


def _all_but(schema: pl.Schema, *names: str) -> set[str]:
    """What need not be read."""
    return set(schema) - set(names)
