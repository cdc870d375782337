"""Where every run stands: done, stale, missing or failed, by the keys that Snakemake's jobs depend on."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from reprise.benchmarks.rows import grouped
from reprise.core.errors import UserError
from reprise.core.log import last_words
from reprise.core.paths import READ_AS, TABLES, Results, Scored
from reprise.core.plain import cut
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.plan.answers import FailedAnswers, Job, failed_answers, job_of, writer_jobs
from reprise.plan.changes import KeyChange, KeyChanges, key_texts
from reprise.plan.rules.construction import constructed
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by
from reprise.report.keys import Step

MOST_TARGETS = 6


class Counts(NamedTuple):
    """What became of a run's questions, as the robust reader or a judge takes its answers."""

    asked: int = 0
    failed: int = 0
    unread: int = 0
    missing: int = 0  # not asked, because their clip is missing


def outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    done = [one for one in asked_by(plan, targets) if plan.results.verdicts(one.run, one.judge or "robust").is_file()]
    counts = [Counts(), *(count(plan.results, one) for one in done)]
    asked, failed, unread, missing = (sum(column) for column in zip(*counts, strict=True))
    if asked or missing:
        advice = " (which, and why: python -m reprise runs)" if failed or missing else ""
        yield f"{asked} answers: {failed} failed, {unread} unread; {missing} questions missing{advice}"
    yield from _constructions(plan, targets)
    made = [target for target in targets if Path(target).is_file()]
    if made:
        more = f" and {len(made) - MOST_TARGETS} more" if len(made) > MOST_TARGETS else ""
        yield f"Results: {' '.join(made[:MOST_TARGETS])}{more}"
    elif not targets:
        numbers = ",".join(name.removeprefix("table") for name in plan.benchmarks_by_table())
        listed = f"{{{numbers}}}" if "," in numbers else numbers
        tables = f"{TABLES}/table{listed}.{{{','.join(sorted(READ_AS))}}}"
        yield f"Tables: {tables}; each paper's own in {TABLES}/<benchmark>/"


def _constructions(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """What each benchmark that these targets make is made of, and what was dropped before anything was written."""
    for benchmark in constructed(plan):
        folder, pool = plan.results.construction(benchmark, ""), plan.results.construction(benchmark, "pool.parquet")
        if not pool.is_file() or (targets and not any(Path(target).is_relative_to(folder) for target in targets)):
            continue
        filters = Counter(pl.read_parquet(pool, columns=["filter"])["filter"])
        rows, kept = filters.total(), filters.pop("", 0)
        dropped = f" ({', '.join(f'{count} {name}' for name, count in filters.most_common())})" if filters else ""
        yield f"Construction of {benchmark}: {kept} of {rows} kept before the writing{dropped}"


def count(results: Results, one: Scored) -> Counts:
    counted = ("failed", "unparsed")
    read = read_table(results.verdicts(one.run, one.judge or "robust"), VERDICTS, VERDICTS.keys() - set(counted))
    failed, unread = (int(read[name].sum()) for name in counted)
    answers, questions = results.responses(one.run), results.requests(one.run.benchmark, one.run.protocol)
    if not (answers.is_file() and questions.is_file()):  # nothing needs them any more
        return Counts(read.height, failed, unread)
    asked = read_table(answers, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    return Counts(asked, failed, unread, read_table(questions, REQUESTS, REQUESTS.keys() - {"item_id"}).height - asked)


Name = Literal["done", "stale", "missing", "failed"]


class State(NamedTuple):
    scored: Scored
    name: Name
    counts: Counts
    missing: tuple[Step, ...]  # what is not there, in the order in which it is made
    failures: tuple[tuple[Step, str], ...]  # what of it a job could not make, and its last words
    changed: tuple[tuple[Step, KeyChange], ...]  # what was made under a key that is another one now
    answers: FailedAnswers | None

    @property
    def due(self) -> int:
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
        return [self.of(one) for one in self._plan.numbers()]

    def of(self, one: Scored) -> State:
        steps = list(self._plan.origin(one).steps(self._plan.results))  # the first that is made first
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
        name: Name = "stale" if changed or (answers and answers.due) else "done"
        if failures:
            name = "failed"
        elif steps[-1] in missing:
            name = "missing"
        return State(one, name, counts, missing, tuple(failures), changed, answers)

    def _changed(self, step: Step) -> list[KeyChange]:
        if step.path not in self._known:
            self._known[step.path] = self._changes.since(step.path)
            change = self._changes.since_input(step.path, step.key) if step.key else None
            self._known[step.path] += [change] if change else []
        return self._known[step.path]


NEW = "not made yet"
# What a key of a run's key file is about; everything else is a setting.
KINDS = {
    "model": "weights", "checkpoint": "weights", "prompt": "prompt", "sampling": "frames", "code_versions": "version",
    "versions": "versions of libraries",
}  # fmt: skip
LONGEST = 160


class Asking(NamedTuple):
    job: Job
    slug: str
    why: tuple[str, ...]
    is_remade: bool  # whether what it asks about is made again before, so that it may be something else


class Askings(NamedTuple):
    """What making some numbers asks."""

    asked: list[Asking]
    done: int
    counted: int  # numbers that are made again from answers that are there


def askings(plan: Plan, states: States, numbers: Iterable[Scored]) -> Askings:
    found: dict[Scored, Asking] = {}
    done = counted = 0
    for one in sorted(numbers):
        state = states.of(one)
        mine = {} if state.name == "done" else {asking.job.scored: asking for asking in _of_state(plan, state)}
        found |= mine
        done += state.name == "done"
        counted += state.name != "done" and not mine
    return Askings(list(found.values()), done, counted)


def writings(plan: Plan, changes: KeyChanges, benchmarks: Iterable[str]) -> Iterator[Asking]:
    """Of each writer the round that is made next; what is asked after it depends on its replies."""
    own = (job for job in writer_jobs(plan) if job.scored.run.benchmark in benchmarks)
    rounds = grouped(own, lambda job: (job.scored.run.benchmark, job.scored.run.model))
    for jobs in rounds.values():
        for later, job in zip(reversed(range(len(jobs))), jobs, strict=True):
            asking = _of_round(changes, job)
            if asking.why:
                *why, last = asking.why
                yield asking._replace(why=(*why, f"{last}, and at most {later} rounds after it" if later else last))
                break


def _of_round(changes: KeyChanges, job: Job) -> Asking:
    """A round of writing, and why it is made: nothing is said where its replies are there and stay."""
    model = job.scored.run.model
    if not job.responses.is_file():
        return Asking(job, model, (NEW,), is_remade=False)
    why = [words for change in changes.since(job.responses) for words in _changed(change)]
    folder = job.responses.parents[2]
    before = {"candidates": folder / "texts.parquet", "requests": folder / "requests" / model / job.responses.name}
    remade = [name for name, path in before.items() if changes.since(path)]
    if remade:
        why.append(f"made again before it: {', '.join(remade)}")
    return Asking(job, model, tuple(dict.fromkeys(why)), is_remade=bool(remade))


def _of_state(plan: Plan, state: State) -> Iterator[Asking]:
    """The run's own job, and that of its judge."""
    run, judge = state.scored.run, state.scored.judge
    steps = list(dict.fromkeys(step.name for step in plan.origin(state.scored).steps(plan.results)))
    jobs = [(Scored(run), run.model, "answers"), (state.scored, judge, "replies of the judge")]
    for scored, slug, step in jobs if judge else jobs[:1]:
        if slug in plan.imports.models:
            continue
        before = steps[: steps.index(step)]
        remade = list(dict.fromkeys(one.name for one, _ in state.changed if one.name in before))
        why = tuple(dict.fromkeys(_reasons(state, scored, step, before, remade)))
        if why:
            yield Asking(job_of(plan, scored), slug, why, is_remade=bool(remade))


def _reasons(state: State, scored: Scored, step: str, before: Sequence[str], remade: Sequence[str]) -> Iterator[str]:
    failed = {one.name: words for one, words in state.failures}
    if step in failed:
        yield f"its job failed: {cut(failed[step].splitlines()[0], LONGEST)}"
    elif step in [one.name for one in state.missing]:
        yield NEW
    yield from (f"failed before it: {name}" for name in before if name in failed)
    yield from (words for one, change in state.changed if one.name == step for words in _changed(change))
    if remade:
        yield f"made again before it: {', '.join(remade)}"
    if state.answers and state.due and state.answers.job.scored == scored:
        yield "what failed is tried again"


def _changed(change: KeyChange) -> Iterator[str]:
    if not change.changes:
        yield from change.words
        return
    first = {f"{KINDS.get(one.name.partition('.')[0], 'settings')} changed": one for one in reversed(change.changes)}
    yield from (f"{kind} ({cut(one.words, LONGEST)})" for kind, one in first.items())
