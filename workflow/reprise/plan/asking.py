"""Which runs ask a model when they are made now, and why, in words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reprise.core.paths import Scored
from reprise.plan.answers import Job, job_of, writer_jobs
from reprise.plan.changes import KeyChange, KeyChanges
from reprise.plan.runs import Plan
from reprise.plan.states import State, States

NEW, AGAIN = "not made yet", "what failed is tried again"
# What a key of a run's key file is about; everything else is a setting.
KINDS = {
    "model": "weights", "checkpoint": "weights", "prompt": "prompt", "sampling": "frames", "code": "code",
    "versions": "versions of libraries",
}  # fmt: skip
LONGEST = 160
ANSWERS, REPLIES = "answers", "replies of the judge"


class Asking(NamedTuple):
    """A job that asks a model: for a run's answers, or as a judge about them."""

    job: Job
    slug: str
    """of the model"""
    why: tuple[str, ...]
    is_remade: bool
    """whether what it asks about is made again before, so that it may be something else"""


class Askings(NamedTuple):
    """What making some numbers asks."""

    asked: list[Asking]
    done: int
    counted: int
    """numbers that are made again from answers that are there"""


def askings(plan: Plan, states: States, numbers: Iterable[Scored]) -> Askings:
    """The jobs behind these numbers that ask a model, each once."""
    found: dict[Scored, Asking] = {}
    done = counted = 0
    for one in sorted(numbers):
        state = states.of(one)
        steps = list(dict.fromkeys(step.name for step in plan.origin(one).steps()))
        mine = list(_of_state(plan, state, steps)) if state.name != "done" else []
        found.update({asking.job.scored: asking for asking in mine})
        done += state.name == "done"
        counted += state.name != "done" and not mine
    return Askings(list(found.values()), done, counted)


def writings(plan: Plan, changes: KeyChanges, benchmarks: Iterable[str]) -> Iterator[Asking]:
    """Of each writer the round that is made next; what is asked after it depends on its replies."""
    rounds: dict[tuple[str, str], list[Job]] = {}
    for job in writer_jobs(plan):
        if job.scored.run.benchmark in benchmarks:
            rounds.setdefault((job.scored.run.benchmark, job.scored.run.model), []).append(job)
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
    requests = folder / "requests" / model / job.responses.name
    before = {"candidates": folder / "texts.parquet", "requests": requests}
    remade = [name for name, path in before.items() if changes.since(path)]
    if remade:
        why.append(f"made again before it: {', '.join(remade)}")
    return Asking(job, model, tuple(dict.fromkeys(why)), is_remade=bool(remade))


def _of_state(plan: Plan, state: State, steps: Sequence[str]) -> Iterator[Asking]:
    """The run's own job, and that of its judge."""
    run, judge = state.scored.run, state.scored.judge
    jobs = [(Scored(run), run.model, ANSWERS), (state.scored, judge, REPLIES)]
    for scored, slug, step in jobs if judge else jobs[:1]:
        if slug in plan.imports.models:
            continue
        before = steps[: steps.index(step)]
        why = tuple(dict.fromkeys(_reasons(state, scored, step, before)))
        if why:
            is_remade = any(one.name in before for one, _ in state.changed)
            yield Asking(job_of(plan, scored), slug, why, is_remade)


def _reasons(state: State, scored: Scored, step: str, before: Sequence[str]) -> Iterator[str]:
    failed = {one.name: words for one, words in state.failures}
    if step in failed:
        yield f"its job failed: {_cut(failed[step].splitlines()[0])}"
    elif any(one.name == step for one in state.missing):
        yield NEW
    yield from (f"failed before it: {name}" for name in before if name in failed)
    for one, change in state.changed:
        if one.name == step:
            yield from _changed(change)
    remade = list(dict.fromkeys(one.name for one, _ in state.changed if one.name in before))
    if remade:
        yield f"made again before it: {', '.join(remade)}"
    if state.answers and state.due and state.answers.job.scored == scored:
        yield AGAIN


def _changed(change: KeyChange) -> Iterator[str]:
    if not change.changes:
        yield from change.words
        return
    first = {f"{KINDS.get(one.name.partition('.')[0], 'settings')} changed": one for one in reversed(change.changes)}
    yield from (kind if kind == "code changed" else f"{kind} ({_cut(one.words)})" for kind, one in first.items())


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."
