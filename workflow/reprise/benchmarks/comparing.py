"""Two runs compared on the samples that both were asked: the number that the tables lead with, and its parts."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.scoring import Scores
from reprise.stats.paired import PairedComparison, compare_paired

DRAWS = 5000  # of a mean of tests, whose p is not exact: they take some 0.1 s for VELOCITI's videos


class Part(NamedTuple):
    """A difference of two runs: of a metric on a test, or of the number that the tables lead with."""

    metric: str
    test: str
    found: PairedComparison

    @property
    def subject(self) -> tuple[str, str]:
        return self.metric, self.test


def headline(
    scores: Scores, ours: Mapping[str, pl.DataFrame], theirs: Mapping[str, pl.DataFrame], level: float
) -> Part | None:
    """The difference of the number that the benchmark's tables lead with; None where it is not known of both."""
    metric = scores.headline
    if metric not in ours or metric not in theirs:
        return None
    tests = ours[metric]["task"].unique()
    if scores.averaged:
        mine, others = (found[metric].filter(pl.col("task").is_in(scores.averaged)) for found in (ours, theirs))
        found = _paired(mine, others, level, dict(mine.select("item_id", "task").iter_rows()))
    else:
        found = _paired(ours[metric], theirs[metric], level)
    name = f"average of {len(scores.averaged)}" if scores.averaged else tests[0] if len(tests) == 1 else "all"
    return Part(metric, name, found) if found else None


def parts(metric: str, ours: pl.DataFrame, theirs: pl.DataFrame, level: float) -> Iterator[Part]:
    for task in ours["task"].unique(maintain_order=True):
        found = _paired(ours.filter(pl.col("task") == task), theirs.filter(pl.col("task") == task), level)
        if found is not None:
            yield Part(metric, task, found)


def _paired(
    ours: pl.DataFrame, theirs: pl.DataFrame, level: float, tests: Mapping[str, str] | None = None
) -> PairedComparison | None:
    mine, others = (
        dict(frame.select("item_id", pl.col("right").cast(pl.Float64)).iter_rows()) for frame in (ours, theirs)
    )
    return compare_paired(
        mine, others, dict(ours.select("item_id", "unit").iter_rows()), tests, level=level, draws=DRAWS
    )
