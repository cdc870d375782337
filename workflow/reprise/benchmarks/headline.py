"""Find the headline score of a run: its main metric with interval and chance level."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import count_decimals
from reprise.core.schemas import METRICS, read_table
from reprise.stats.beta import ALPHA

AVERAGE = "average"  # group of a score that averages tasks


class HeadlineScore(NamedTuple):
    """A run's score by the headline metric of its form of question, over all items of the run."""

    metric: str
    group: str
    value: float
    low: float | None
    high: float | None
    p_chance: float | None
    requested: int  # number of samples of the score
    chance: float | None
    max_score: float  # best possible score

    @property
    def decimals(self) -> int:
        """Return the number of decimals to print."""
        return count_decimals(self.max_score)

    @property
    def is_above_chance(self) -> bool | None:
        """Return whether the score is significantly above chance; None without a chance level or an interval."""
        return is_above_chance(self.chance, self.low, self.p_chance)


def is_above_chance(chance: float | None, low: float | None, p_chance: float | None) -> bool | None:
    """Return whether a number is significantly above chance; None if it cannot be tested.

    The p-value decides. Without one, as for a chance level computed from the data, the interval's lower bound does.
    """
    if p_chance is not None:
        return p_chance < ALPHA
    return None if chance is None or low is None else low > chance


def find_chance(
    benchmark: str, form: str, metric: str, group: str, statistics: pl.DataFrame | None = None
) -> float | None:
    """Return the score of random answers to a form of question: a constant, or computed from the data.

    Args:
        benchmark: Name of the benchmark.
        form: Form of question.
        metric: Metric of the score.
        group: Group of items.
        statistics: Statistics of the benchmark's data, if they are available.

    Returns:
        The chance level in the unit of the metric; None if it is unknown.
    """
    scores = load_scores(benchmark)
    constant = scores.SCORES[form].chance.get(metric, scores.CHANCE.get(metric))
    if constant is not None or statistics is None:
        return constant
    rows = statistics.filter(metric=f"chance.{form}.{metric}", group=group)
    return rows["value"][0] if rows.height else None


def find_headline_score(
    metrics: pl.DataFrame, benchmark: str, form: str, statistics: pl.DataFrame | None = None
) -> HeadlineScore | None:
    """Return the headline score of a run; None if its form has no headline metric or the run has no score.

    The score's group is the average of the tasks if the form averages tasks, or else the largest group.

    Args:
        metrics: Metrics of the run.
        benchmark: Name of the benchmark.
        form: Form of question of the run's protocol.
        statistics: Statistics of the benchmark's data, if they are available.
    """
    scoring = load_scores(benchmark).SCORES[form]
    rows = metrics.filter(pl.col("value").is_finite(), metric=scoring.headline_metric, convention="fixed")
    if scoring.averaged_tasks:
        rows = rows.filter(group=AVERAGE)
    if rows.is_empty():
        return None
    row = rows.sort("requested", descending=True, maintain_order=True).row(0, named=True)
    columns = {name: row[name] for name in HeadlineScore._fields if name in row}
    chance = find_chance(benchmark, form, row["metric"], row["group"], statistics)
    return HeadlineScore(**columns, chance=chance, max_score=scoring.max_score)


def read_headline_score(
    metrics_file: Path, benchmark: str, form: str, statistics_file: Path | None = None
) -> HeadlineScore | None:
    """Return the headline score from the files of a run's metrics and of the data's statistics, if there is one."""
    statistics = read_table(statistics_file, METRICS) if statistics_file is not None else None
    return find_headline_score(read_table(metrics_file, METRICS), benchmark, form, statistics)
