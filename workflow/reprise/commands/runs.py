"""`runs`: every run of a suite, where it stands, and what became of its questions."""

from collections import Counter
from collections.abc import Iterator, Sequence

from reprise.commands.failures import failure_lines
from reprise.commands.plans import plan_of
from reprise.plan.answers import failed_answers
from reprise.plan.construction import WRITING
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.plan.states import Name, State, States

ORDER: tuple[Name, ...] = ("failed", "missing", "stale", "done")
HEADER = f"{'state':<8}{'asked':>7}{'failed':>8}{'unread':>8}{'missing':>9}  run"


def list_runs(suite: str | None) -> None:
    """Print a line a run, those that need something first."""
    plan = plan_of(suite)
    states = States(plan, collect_keys(plan)).all()
    print("\n".join([*lines(plan.config.name, states), *_writing(plan)]))


def lines(suite: str, states: Sequence[State]) -> Iterator[str]:
    """The listing."""
    counts = Counter(state.name for state in states)
    yield f"Suite '{suite}': {len(states)} runs: {', '.join(f'{counts[name]} {name}' for name in reversed(ORDER))}."
    if not states:
        yield "Its `run:` selects no model of its tables, so that they show published values only."
        return
    yield ""
    yield HEADER
    for state in sorted(states, key=lambda one: (ORDER.index(one.name), one.scored)):
        yield line(state)
    if counts["done"] < len(states):
        yield "\nWhy a run is not done: python -m reprise why <run>"


def _writing(plan: Plan) -> Iterator[str]:
    """What failed of the texts that a language model writes for a construction."""
    for one in failed_answers(plan):
        run = one.job.scored.run
        if run.protocol == WRITING:
            counts = f"{one.failed.height} of {one.asked} failed"
            yield f"\n{run.sampling} of writing {run.benchmark} by {run.model}: {counts}"
            failed = one.failed.select(reason="error", name="request_id", message="message")
            yield from (f"  {words}" for words in failure_lines(failed, one.due))


def line(state: State) -> str:
    """One run; one without numbers has no counts."""
    numbers = state.counts if state.counts.asked else ("-",) * 4
    counts = "".join(f"{number:>{width}}" for number, width in zip(numbers, (7, 8, 8, 9), strict=True))
    failed = state.answers.reasons.most_common() if state.answers else []
    reasons = f"  ({', '.join(f'{number} {reason}' for reason, number in failed)})" if failed else ""
    return f"{state.name:<8}{counts}  {state.scored.name}{reasons}"
