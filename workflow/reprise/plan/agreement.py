"""Which judges can be compared: the pairs of a benchmark's judges, and the runs that both rate."""

from itertools import combinations
from typing import NamedTuple

from reprise.core.paths import Run, Scored
from reprise.plan.runs import Plan


class JudgePair(NamedTuple):
    """Two judges of the answers to one protocol."""

    benchmark: str
    protocol: str
    judges: tuple[str, str]
    runs: tuple[Run, ...]
    """what both have rated, or can be asked to rate"""


def judge_pairs(plan: Plan) -> list[JudgePair]:
    """Every pair of judges with a run in common, in the order of the judges."""
    found = []
    judged = [run for run in plan.runs() if plan.is_judged(run.benchmark, run.protocol)]
    for benchmark, protocol in dict.fromkeys((run.benchmark, run.protocol) for run in judged):
        mine = [run for run in judged if (run.benchmark, run.protocol) == (benchmark, protocol)]
        for pair in combinations(plan.judges_of(benchmark), 2):
            runs = tuple(run for run in mine if all(plan.has_ratings(run, judge) for judge in pair))
            if runs:
                found.append(JudgePair(benchmark, protocol, pair, runs))
    return found


def compared(plan: Plan) -> list[Scored]:
    """The runs, each by each of the judges, whose ratings are compared."""
    return sorted({Scored(run, judge) for pair in judge_pairs(plan) for run in pair.runs for judge in pair.judges})
