"""`runs` and `why`: where every run of a suite stands, why one is stale, missing or failed, and what to type next."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from reprise.commands.shared import RETRY, call_for, failure_lines, plan_of
from reprise.core.clones import is_running
from reprise.core.files import read_json
from reprise.core.paths import OVERVIEW, Step, overview_file, table_file
from reprise.core.plain import first_of, safe
from reprise.models.asking.journal import Journal, journal_path
from reprise.plan.answers import FailedAnswers, failed_answers
from reprise.plan.construction import WRITING
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.plan.states import Name, State, States

# In the order in which they are listed.
WORDS: dict[Name, str] = {
    "failed": "failed",
    "missing": "missing: not made yet",
    "stale": "stale: the next run of snakemake makes it again",
    "done": "done: nothing to do",
}
ROW = "{:<8}{:>7}{:>8}{:>8}{:>9}  {}"
MOST_CHANGES = 8


def list_runs(suite: str | None) -> None:
    """Print a line a run, those that need something first."""
    plan = plan_of(suite)
    states = States(plan, collect_keys(plan)).all()
    order = list(WORDS)
    counts = Counter(state.name for state in states)
    listed = ", ".join(f"{counts[name]} {name}" for name in reversed(order))
    print(f"Suite '{plan.config.name}': {len(states)} runs: {listed}.")
    if states:
        print("\n" + ROW.format("state", "asked", "failed", "unread", "missing", "run"))
    else:
        print("Its `run:` selects no model of its tables, so that they show published values only.")
    for state in sorted(states, key=lambda one: (order.index(one.name), one.scored)):
        numbers = state.counts if state.counts.asked else ("-",) * 4
        failed = state.answers.reasons.most_common() if state.answers else []
        reasons = f"  ({', '.join(f'{number} {reason}' for reason, number in failed)})" if failed else ""
        print(ROW.format(state.name, *numbers, state.scored.name) + reasons)
    if counts["done"] < len(states):
        print("\nWhy a run is not done: python -m reprise why <run>")
    for one in failed_answers(plan):
        run = one.job.scored.run
        if run.protocol == WRITING:
            written = f"{run.sampling} of writing {run.benchmark} by {run.model}"
            print("\n" + "\n".join([f"{written}: {one.failed.height} of {one.asked} failed", *_failed(one)]))


def explain_run(words: str, suite: str | None) -> None:
    """Print what is known of a run's state, by each of its judges or by the one that is named."""
    plan = plan_of(suite)
    states, known = States(plan, collect_keys(plan)), plan.numbers()
    chosen = [one for one in known if one.name == words]
    if not chosen:
        run = plan.find_run(words)
        chosen = [one for one in known if one.run == run]
    for one in chosen:
        print(safe("\n".join(_lines(plan, states.of(one), suite))))


def _lines(plan: Plan, state: State, suite: str | None) -> Iterator[str]:
    """A run's state in words, its reasons, and what to do."""
    yield f"{state.scored.name}: {WORDS[state.name]}"
    for step, words in dict(state.failures).items():
        yield f"The job of its {step.name} ended with:"
        yield from (f"  {line}" for line in words.splitlines())
        yield f"  log: {step.log}"
    if state.missing and state.name != "done":
        yield f"Not there: {_named(state.missing)}."
        key = plan.results.run_key(state.scored.run)
        answered = len(Journal(journal_path(plan.store, read_json(key)["key"]))) if key.is_file() else 0
        if answered:
            yield f"The journal of its key holds {answered} answers, which are not asked again."
        if is_running(Path()):
            yield "snakemake works in this folder now, or was killed here."
    for path, change in {change.path: change for _, change in state.changed}.items():
        yield f"Made under another key: {_named(step for step, one in state.changed if one.path == path)} ({path}):"
        yield from (f"  {words}" for words in first_of(change.words, MOST_CHANGES))
    if state.answers is not None:
        yield f"Failed answers: {state.answers.failed.height} of {state.answers.asked}"
        yield from _failed(state.answers)
        if state.due < state.answers.failed.height:
            yield f"  {RETRY}"
    if state.counts.asked:
        asked, failed, unread, missing = state.counts
        yield f"Answers: {asked} asked, {failed} failed, {unread} unread; {missing} not asked, their clips are missing."
    shown = [(b, table) for b, table, _ in plan.shown() if state.scored in plan.table_scored(b, table)]
    yield f"Shown in: {', '.join(t if t == OVERVIEW else f'{b}/{t}' for b, t in shown) or 'no table'}."
    if state.name != "done":
        target = plan.results.metrics(state.scored)
        for benchmark, table in shown[:1]:
            target = overview_file("md") if table == OVERVIEW else table_file(benchmark, table, "md")
        yield f"To make it: {call_for(target, suite)}"


def _named(steps: Iterable[Step]) -> str:
    """Kinds of files, and how many of each."""
    counts = Counter(step.name for step in steps)
    return ", ".join(f"{name} ({count} files)" if count > 1 else name for name, count in counts.items())


def _failed(answers: FailedAnswers) -> Iterator[str]:
    failed = answers.failed.select(reason="error", name="request_id", message="message")
    return (f"  {line}" for line in failure_lines(failed, answers.due))
