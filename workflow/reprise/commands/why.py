"""`why`: why a run is stale, missing or failed, and what to type next."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from reprise.commands.failures import RETRY, failure_lines
from reprise.commands.plans import call_for, plan_of
from reprise.core.behind import Step
from reprise.core.clones import is_running
from reprise.core.files import read_json
from reprise.core.paths import OVERVIEW, Scored, overview_file, table_file
from reprise.core.plain import safe
from reprise.models.asking.journal import Journal, journal_path
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.plan.states import State, States

MOST_CHANGES = 8
WORDS = {
    "done": "done: nothing to do",
    "stale": "stale: the next run of snakemake makes it again",
    "missing": "missing: not made yet",
    "failed": "failed",
}


def explain_run(words: str, suite: str | None) -> None:
    """Print what is known of a run's state, by each of its judges."""
    plan = plan_of(suite)
    states = States(plan, collect_keys(plan))
    for one in chosen(plan, words):
        print(safe("\n".join(lines(plan, states.of(one), suite))))


def chosen(plan: Plan, words: str) -> list[Scored]:
    """The numbers that are meant: a run's, or those of one of its judges."""
    known = plan.numbers()
    exact = [one for one in known if one.name == words]
    if exact:
        return exact
    run = plan.find_run(words)
    return [one for one in known if one.run == run]


def lines(plan: Plan, state: State, suite: str | None) -> Iterator[str]:
    """The state in words, its reasons, and what to do."""
    yield f"{state.scored.name}: {WORDS[state.name]}"
    for part in (_failures(state), _missing(plan, state), _changes(state), _answers(state)):
        yield from part
    if state.counts.asked:
        asked, failed, unread, missing = state.counts
        yield f"Answers: {asked} asked, {failed} failed, {unread} unread; {missing} not asked, their clips are missing."
    shown = [(b, table) for b, table, _ in plan.shown() if state.scored in plan.table_scored(b, table)]
    tables = [table if table == OVERVIEW else f"{b}/{table}" for b, table in shown]
    yield f"Shown in: {', '.join(tables) or 'no table'}."
    if state.name != "done":
        yield f"To make it: {call_for(_target(plan, state.scored, tables), suite)}"


def _target(plan: Plan, one: Scored, tables: list[str]) -> Path:
    """A table that shows a run, or its numbers."""
    if not tables:
        return plan.results.metrics(one)
    benchmark, _, table = tables[0].partition("/")
    return table_file(benchmark, table, "md") if table else overview_file("md")


def _failures(state: State) -> Iterator[str]:
    for step, words in dict(state.failures).items():
        yield f"The job of its {step.name} ended with:"
        yield from (f"  {line}" for line in words.splitlines())
        yield f"  log: {step.log}"


def _missing(plan: Plan, state: State) -> Iterator[str]:
    if not state.missing or state.name == "done":
        return
    yield f"Not there: {_named(state.missing)}."
    if answered := _journaled(plan, state.scored):
        yield f"The journal of its key holds {answered} answers, which are not asked again."
    if is_running(Path()):
        yield "snakemake works in this folder now, or was killed here."


def _journaled(plan: Plan, one: Scored) -> int:
    """How many answers the journal of a run's key holds."""
    key = plan.results.run_key(one.run)
    return len(Journal(journal_path(plan.store, read_json(key)["key"]))) if key.is_file() else 0


def _changes(state: State) -> Iterator[str]:
    """Each key file that says something else now, and what was made under it."""
    by_key = {change.path: change for _, change in state.changed}
    for path, change in by_key.items():
        made = _named(step for step, one in state.changed if one.path == path)
        yield f"Made under another key: {made} ({path}):"
        yield from (f"  {words}" for words in change.words[:MOST_CHANGES])
        if len(change.words) > MOST_CHANGES:
            yield f"  and {len(change.words) - MOST_CHANGES} more"


def _named(steps: Iterable[Step]) -> str:
    """Kinds of files, and how many of each."""
    counts = Counter(step.name for step in steps)
    return ", ".join(f"{name} ({count} files)" if count > 1 else name for name, count in counts.items())


def _answers(state: State) -> Iterator[str]:
    if state.answers is None:
        return
    yield f"Failed answers: {state.answers.failed.height} of {state.answers.asked}"
    failed = state.answers.failed.select(reason="error", name="request_id", message="message")
    yield from (f"  {line}" for line in failure_lines(failed, state.answers.due))
    if state.due < failed.height:
        yield f"  {RETRY}"
