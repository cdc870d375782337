"""From the verdicts on a model's answers under each view to what a card says.

A score is the unweighted mean over tests (VELOCITI has seven) of the mean over their samples; most have one test.
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
    found = [measured(one, key.level) for one in key.benchmarks]
    card = Card(**key.model_dump(include=set(CardModel.model_fields)), benchmarks=tuple(one for one, _ in found))
    return card, pl.concat([pl.DataFrame(schema=WITH_TIME), *(rows for _, rows in found)])


def measured(key: CardBenchmarkKey, level: float) -> tuple[CardBenchmark, pl.DataFrame]:
    values = {view: values_of(key, path) for view in VIEWS if (path := key.views.get(view)) is not None}
    common, left_out = side_by_side(values)
    shown = list(values) if common.height else []
    why = "left out by the suite's `time_views`" if common.height else "no sample"
    best = load_scores(key.name).SCORES[key.form].best
    samples = Samples(
        {view: common[view].to_numpy() for view in shown}, common["task"].to_numpy(), common["unit"].to_numpy(), best
    )
    rows = only_with_time(common, key.name)
    found = CardBenchmark(
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
                change=samples.change(view, PLANNED, level) if PLANNED in shown and view != PLANNED else None,
            )
            for view in shown
        ),
        missing={view: key.missing.get(view, why) for view in VIEWS if view not in shown},
        parts=parts_of(samples, level),
        published=key.published,
        only_with_time=rows.height if PLANNED in shown and len(shown) > 1 else None,
    )
    found = found.model_copy(update={"verdict": verdict_of(found, level)})
    return found.model_copy(update={"sentence": sentence_of(found, level)}), rows


def values_of(key: CardBenchmarkKey, path: Path) -> pl.DataFrame:
    """The value of each sample of a run, from 0 to 1; what failed or could not be read is wrong."""
    scores = load_scores(key.name)
    items = in_group(read_table(key.items, ITEMS, without=("texts",)), key.group, scores.GROUPS)
    outcomes = scores.SCORES[key.form].outcomes(Answered(items, read_table(path, VERDICTS)))
    refuse_unknown("score", [key.score], outcomes, f"{path}: a time card of {key.name}")
    return outcomes[key.score].select("item_id", "unit", "task", value="right").cast(SAMPLES)


def side_by_side(values: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """The samples that every view was asked, a column a view, and how many some view was not asked."""
    common = pl.concat([pl.DataFrame(schema=SAMPLES), *values.values()]).drop("value").unique("item_id")
    asked = common.height
    for view, more in values.items():
        common = common.join(more.select("item_id", pl.col("value").alias(view)), on="item_id", how="inner")
    return common.sort("item_id"), asked - common.height


@dataclass(frozen=True)
class Samples:
    """Samples that were asked under every view: their values from 0 to 1, view by view."""

    values: Mapping[str, FloatArray]
    tests: NDArray[np.str_]
    clusters: NDArray[np.str_]
    best: float

    def score(self, view: str, level: float) -> Number:
        ratios = [(self.values[view] * one, one) for one in self._inside()]
        value = float(np.mean([above.sum() / below.sum() for above, below in ratios]))
        return self._number(value, ratios, lambda shares: shares.mean(axis=1), level)

    def change(self, view: str, against: str, level: float) -> Change:
        """The score under a view minus that under another one, sample by sample."""
        inside = self._inside()
        count, ratios = len(inside), [(self.values[name] * one, one) for name in (view, against) for one in inside]
        differences = self.values[view] - self.values[against]
        weights = np.sum([one / one.sum() for one in inside], axis=0) / count
        number = self._number(
            float(differences @ weights),
            ratios,
            lambda shares: shares[:, :count].mean(axis=1) - shares[:, count:].mean(axis=1),
            level,
        )
        # Right and wrong answers of one test stay whole numbers, whose p-value is exact.
        p = sign_flip_p(differences if count == 1 else differences * weights, self.clusters)
        lost, gained = (int((sign * differences > ROUNDING).sum()) for sign in (-1, 1))
        return Change(**number.model_dump(), p=p, lost=lost, gained=gained)

    def _inside(self) -> list[FloatArray]:
        """For each test, which samples are in it."""
        return [(self.tests == name).astype(np.float64) for name in np.unique(self.tests)]

    def _number(
        self, value: float, ratios: list[tuple[FloatArray, FloatArray]], statistic: Statistic, level: float
    ) -> Number:
        """A value on the score's own scale; fewer than two clusters give it no interval."""
        found = clustered_estimate(ratios, self.clusters, statistic)
        low, high = (self.best * end for end in found.interval(level)) if found else (None, None)
        return Number(value=self.best * value, low=low, high=high)


def parts_of(samples: Samples, level: float) -> tuple[CardPart, ...]:
    """The parts of the planned score; they add up to it. A part below 0 stays one."""
    steps = [view for view in LADDER if view in samples.values]
    if PLANNED not in steps:
        return ()
    names = {view: tuple(PART_OF[one] for one in LADDER[: LADDER.index(view) + 1]) for view in steps}
    parts = [CardPart(names=names[steps[0]], number=samples.score(steps[0], level))]
    for less, more in pairwise(steps):
        change = samples.change(more, less, level)
        number = Number(value=change.value, low=change.low, high=change.high)
        parts.append(CardPart(names=names[more][len(names[less]) :], number=number, p=change.p))
    return tuple(parts)


def chance_of(key: CardBenchmarkKey) -> float | None:
    """What random answers reach: a constant of the form or of the benchmark, or counted from the data."""
    scores = load_scores(key.name)
    constant = scores.SCORES[key.form].guessed.get(key.score, scores.CHANCE.get(key.score))
    if constant is not None or key.statistics is None:
        return constant
    counted = read_table(key.statistics, METRICS).filter(metric=f"chance.{key.form}.{key.score}", group=key.group)
    return counted["value"][0] if counted.height else None


def only_with_time(common: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """The samples that are better as planned than in every control that was asked: right only so."""
    controls = [view for view in VIEWS if view in common.columns and view != PLANNED]
    if PLANNED not in common.columns or not controls:
        return pl.DataFrame(schema=WITH_TIME)
    ahead = pl.col(PLANNED) - pl.max_horizontal(controls)
    rows = common.filter(ahead > ROUNDING).sort(ahead, "item_id", descending=[True, False])
    absent = {view: pl.lit(None, dtype=pl.Float64) for view in VIEWS if view not in common.columns}
    return rows.with_columns(benchmark=pl.lit(benchmark), sample="item_id", **absent).select(list(WITH_TIME))
