"""Compute a temporal profile from the verdicts on a model's answers under each view.

A score is the unweighted mean over tests of the mean over their samples. VELOCITI has seven tests, most benchmarks one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered, in_group
from reprise.core.errors import refuse_unknown
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, read_table
from reprise.stats.intervals import FloatArray, Statistic, clustered_estimate
from reprise.stats.paired import ROUNDING, sign_flip_p
from reprise.timecard.card import (
    LADDER,
    PART_OF,
    PLANNED,
    VIEWS,
    Card,
    CardBenchmark,
    CardBenchmarkKey,
    CardModel,
    CardPart,
    CardScore,
    Change,
    Number,
    TimeCardKey,
    View,
)
from reprise.timecard.words import sentence_of, verdict_of

SAMPLES = pl.Schema({"item_id": pl.String, "unit": pl.String, "task": pl.String, "value": pl.Float64})
WITH_TIME = pl.Schema(
    dict.fromkeys(("benchmark", "sample", "unit", "task"), pl.String()) | dict.fromkeys(VIEWS, pl.Float64())
)


def card_of(key: TimeCardKey) -> tuple[Card, pl.DataFrame]:
    profiles = [measure_benchmark(benchmark, key.level) for benchmark in key.benchmarks]
    card = Card(
        **key.model_dump(include=set(CardModel.model_fields)),
        benchmarks=tuple(benchmark for benchmark, _ in profiles),
    )
    return card, pl.concat([pl.DataFrame(schema=WITH_TIME), *(rows for _, rows in profiles)])


def measure_benchmark(key: CardBenchmarkKey, level: float) -> tuple[CardBenchmark, pl.DataFrame]:
    samples_by_view = {view: sample_values(key, path) for view in VIEWS if (path := key.views.get(view)) is not None}
    common, left_out = align_samples(samples_by_view)
    views = list(samples_by_view) if common.height else []
    reason = "left out by the suite's `time_views`" if common.height else "no sample"
    best = load_scores(key.name).SCORES[key.form].best
    samples = Samples(
        {view: common[view].to_numpy() for view in views}, common["task"].to_numpy(), common["unit"].to_numpy(), best
    )
    rows = time_dependent_samples(common, key.name)
    benchmark = CardBenchmark(
        **key.model_dump(include=set(CardScore.model_fields)),
        best=best,
        chance=chance_of(key),
        samples=common.height,
        left_out=left_out,
        clusters=common["unit"].n_unique(),
        views=tuple(
            View(
                view=view,
                run=key.runs.get(view, ""),
                score=samples.score(view, level),
                change=samples.change(view, PLANNED, level) if PLANNED in views and view != PLANNED else None,
            )
            for view in views
        ),
        missing={view: key.missing.get(view, reason) for view in VIEWS if view not in views},
        parts=parts_of(samples, level),
        published=key.published,
        only_with_time=rows.height if PLANNED in views and len(views) > 1 else None,
    )
    benchmark = benchmark.model_copy(update={"verdict": verdict_of(benchmark, level)})
    return benchmark.model_copy(update={"sentence": sentence_of(benchmark, level)}), rows


def sample_values(key: CardBenchmarkKey, path: Path) -> pl.DataFrame:
    """Return the value of each sample of a run, from 0 to 1; failed and unparsed answers are wrong."""
    scores = load_scores(key.name)
    items = in_group(read_table(key.items, ITEMS, without=("texts",)), key.group, scores.GROUPS)
    outcomes = scores.SCORES[key.form].outcomes(Answered(items, read_table(path, VERDICTS)))
    refuse_unknown("score", [key.score], outcomes, f"{path}: a time card of {key.name}")
    return outcomes[key.score].select("item_id", "unit", "task", value="right").cast(SAMPLES)


def align_samples(values: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Join the samples that were run under every view, one column per view, and count those that some view lacks."""
    common = pl.concat([pl.DataFrame(schema=SAMPLES), *values.values()]).drop("value").unique("item_id")
    total = common.height
    for view, rows in values.items():
        common = common.join(rows.select("item_id", pl.col("value").alias(view)), on="item_id", how="inner")
    return common.sort("item_id"), total - common.height


@dataclass(frozen=True)
class Samples:
    """Samples that were run under every view, with their values from 0 to 1 by view."""

    values: Mapping[str, FloatArray]
    tests: NDArray[np.str_]
    clusters: NDArray[np.str_]
    best: float

    def score(self, view: str, level: float) -> Number:
        ratios = [(self.values[view] * weights, weights) for weights in self._inside()]
        value = float(np.mean([numerator.sum() / denominator.sum() for numerator, denominator in ratios]))
        return self._number(value, ratios, lambda shares: shares.mean(axis=1), level)

    def change(self, view: str, baseline: str, level: float) -> Change:
        """Return the score under one view minus that under another, over the same samples."""
        members = self._inside()
        count, ratios = (
            len(members),
            [(self.values[name] * test_weights, test_weights) for name in (view, baseline) for test_weights in members],
        )
        differences = self.values[view] - self.values[baseline]
        sample_weights = np.sum([test_weights / test_weights.sum() for test_weights in members], axis=0) / count
        number = self._number(
            float(differences @ sample_weights),
            ratios,
            lambda shares: shares[:, :count].mean(axis=1) - shares[:, count:].mean(axis=1),
            level,
        )
        # With one test, unweighted differences stay whole numbers, so that the p-value is exact.
        p = sign_flip_p(differences if count == 1 else differences * sample_weights, self.clusters)
        lost, gained = (int((sign * differences > ROUNDING).sum()) for sign in (-1, 1))
        return Change(**number.model_dump(), p=p, lost=lost, gained=gained)

    def _inside(self) -> list[FloatArray]:
        """Return one membership vector per test: 1.0 for the samples in it, else 0.0."""
        return [(self.tests == name).astype(np.float64) for name in np.unique(self.tests)]

    def _number(
        self, value: float, ratios: list[tuple[FloatArray, FloatArray]], statistic: Statistic, level: float
    ) -> Number:
        """Return a value on the score's own scale with its interval; fewer than two clusters give none."""
        estimate = clustered_estimate(ratios, self.clusters, statistic)
        low, high = (self.best * bound for bound in estimate.interval(level)) if estimate else (None, None)
        return Number(value=self.best * value, low=low, high=high)


def parts_of(samples: Samples, level: float) -> tuple[CardPart, ...]:
    """Split the planned score into parts that add up to it; a negative part stays negative."""
    steps = [view for view in LADDER if view in samples.values]
    if PLANNED not in steps:
        return ()
    names = {view: tuple(PART_OF[step] for step in LADDER[: LADDER.index(view) + 1]) for view in steps}
    parts = [CardPart(names=names[steps[0]], number=samples.score(steps[0], level))]
    for previous, current in pairwise(steps):
        change = samples.change(current, previous, level)
        number = Number(value=change.value, low=change.low, high=change.high)
        parts.append(CardPart(names=names[current][len(names[previous]) :], number=number, p=change.p))
    return tuple(parts)


def chance_of(key: CardBenchmarkKey) -> float | None:
    """Return the score of random answers: a constant of the form or the benchmark, or computed from the data."""
    scores = load_scores(key.name)
    constant = scores.SCORES[key.form].guessed.get(key.score, scores.CHANCE.get(key.score))
    if constant is not None or key.statistics is None:
        return constant
    rows = read_table(key.statistics, METRICS).filter(metric=f"chance.{key.form}.{key.score}", group=key.group)
    return rows["value"][0] if rows.height else None


def time_dependent_samples(common: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Return the samples that score higher as planned than under every control that was run."""
    controls = [view for view in VIEWS if view in common.columns and view != PLANNED]
    if PLANNED not in common.columns or not controls:
        return pl.DataFrame(schema=WITH_TIME)
    margin = pl.col(PLANNED) - pl.max_horizontal(controls)
    rows = common.filter(margin > ROUNDING).sort(margin, "item_id", descending=[True, False])
    missing_views = {view: pl.lit(None, dtype=pl.Float64) for view in VIEWS if view not in common.columns}
    return rows.with_columns(benchmark=pl.lit(benchmark), sample="item_id", **missing_views).select(list(WITH_TIME))
