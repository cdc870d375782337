"""From the verdicts on a model's answers under each view to what a card says."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered, in_group
from reprise.core.errors import unknown
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, read_table
from reprise.stats import views as stats
from reprise.timecard.card import (
    LADDER,
    PART_OF,
    PLANNED,
    VIEWS,
    Card,
    CardBenchmark,
    CardPart,
    Change,
    Number,
    View,
)
from reprise.timecard.keys import CardBenchmarkKey, TimeCardKey
from reprise.timecard.words import sentence_of, verdict_of

SAMPLES = pl.Schema({"item_id": pl.String, "unit": pl.String, "task": pl.String, "value": pl.Float64})


def card_of(key: TimeCardKey) -> tuple[Card, pl.DataFrame]:
    """The card of a model, and the samples that are right only with time."""
    found = [measured(one, key.level) for one in key.benchmarks]
    card = Card(
        suite=key.suite,
        notice=key.notice,
        level=key.level,
        model=key.model,
        title=key.title,
        benchmarks=tuple(one for one, _ in found),
    )
    return card, pl.concat([only_with_time(pl.DataFrame(), ""), *(rows for _, rows in found)])


def measured(key: CardBenchmarkKey, level: float) -> tuple[CardBenchmark, pl.DataFrame]:
    """What a card says of a benchmark, and its samples that are right only with time."""
    asked = {view: path for view in VIEWS if (path := key.views.get(view)) is not None}
    values = {view: values_of(key, path) for view, path in asked.items()}
    common, left_out = side_by_side(values)
    best = load_scores(key.name).SCORES[key.form].best
    found = CardBenchmark(
        name=key.name,
        title=key.title,
        protocol=key.protocol,
        sampling=key.sampling,
        score=key.score,
        score_title=key.score_title,
        decimals=key.decimals,
        best=best,
        chance=chance_of(key),
        samples=common.height,
        left_out=left_out,
        clusters=common["unit"].n_unique(),
        views=(),
        missing={view: key.missing.get(view, "not asked") for view in VIEWS if view not in asked},
        published=key.published,
    )
    rows = only_with_time(common, key.name)
    if common.is_empty():
        found = found.model_copy(update={"missing": {view: key.missing.get(view, "no sample") for view in VIEWS}})
        return found.model_copy(update={"sentence": sentence_of(found, level)}), rows
    samples = stats.Samples(
        {view: common[view].to_numpy() for view in values}, common["task"].to_numpy(), common["unit"].to_numpy()
    )
    found = found.model_copy(
        update={
            "views": tuple(view_of(samples, view, key.runs.get(view, ""), best, level) for view in values),
            "parts": parts_of(samples, best, level),
            "only_with_time": rows.height if PLANNED in values and len(values) > 1 else None,
        }
    )
    found = found.model_copy(update={"verdict": verdict_of(found, level)})
    return found.model_copy(update={"sentence": sentence_of(found, level)}), rows


def values_of(key: CardBenchmarkKey, path: Path) -> pl.DataFrame:
    """The value of each sample of a run, from 0 to 1; what failed or could not be read is wrong."""
    scores = load_scores(key.name)
    items = in_group(read_table(key.items, ITEMS, without=("texts",)), key.group, scores.GROUPS)
    outcomes = scores.SCORES[key.form].outcomes(Answered(items, read_table(path, VERDICTS)))
    if key.score not in outcomes:
        raise unknown("score", key.score, sorted(outcomes), f"{path}: a time card of {key.name}")
    rows = outcomes[key.score].select("item_id", "unit", "task", value=pl.col("right").cast(pl.Float64))
    return rows.select(pl.col(name).cast(kind) for name, kind in SAMPLES.items())


def side_by_side(values: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """The samples that every view was asked, a column a view, and how many some view was not asked."""
    if not values:
        return pl.DataFrame(schema={name: kind for name, kind in SAMPLES.items() if name != "value"}), 0
    every = pl.concat(values.values())["item_id"].n_unique()
    (first, rows), *others = values.items()
    common = rows.rename({"value": first})
    for view, more in others:
        common = common.join(more.select("item_id", pl.col("value").alias(view)), on="item_id", how="inner")
    return common.sort("item_id"), every - common.height


def view_of(samples: stats.Samples, view: str, run: str, best: float, level: float) -> View:
    """The score under a view, and what the view changes."""
    score = scaled(samples.score(view, level), best)
    if view == PLANNED or PLANNED not in samples.values:
        return View(view=view, run=run, score=score)
    found = samples.change(view, PLANNED, level)
    number = scaled(found.estimate, best).model_dump()
    return View(
        view=view, run=run, score=score, change=Change(**number, p=found.p, lost=found.lost, gained=found.gained)
    )


def parts_of(samples: stats.Samples, best: float, level: float) -> tuple[CardPart, ...]:
    """The parts of the planned score; they add up to it. A part below 0 stays one."""
    steps = [view for view in LADDER if view in samples.values]
    if PLANNED not in steps:
        return ()
    names = {view: tuple(PART_OF[one] for one in LADDER[: LADDER.index(view) + 1]) for view in steps}
    parts = [CardPart(names=names[steps[0]], number=scaled(samples.score(steps[0], level), best))]
    for less, more in pairwise(steps):
        found = samples.change(more, less, level)
        parts.append(
            CardPart(names=names[more][len(names[less]) :], number=scaled(found.estimate, best), p=found.p)
        )  # fmt: skip
    return tuple(parts)


def scaled(found: stats.Estimate, best: float) -> Number:
    """An estimate on the score's own scale."""
    ends = (None if end is None else best * end for end in (found.low, found.high))
    return Number(value=best * found.value, **dict(zip(("low", "high"), ends, strict=True)))


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
    names = dict.fromkeys(("benchmark", "sample", "unit", "task"), pl.String())
    schema = pl.Schema({**names, **dict.fromkeys(VIEWS, pl.Float64())})
    controls = [view for view in VIEWS if view in common.columns and view != PLANNED]
    if PLANNED not in common.columns or not controls:
        return pl.DataFrame(schema=schema)
    rows = common.filter(pl.col(PLANNED) - pl.max_horizontal(controls) > stats.ROUNDING)
    absent = [pl.lit(None, dtype=pl.Float64).alias(view) for view in VIEWS if view not in common.columns]
    rows = rows.with_columns(pl.lit(benchmark).alias("benchmark"), pl.col("item_id").alias("sample"), *absent)
    return rows.sort(pl.col(PLANNED) - pl.max_horizontal(controls), "sample", descending=[True, False]).select(
        list(schema)
    )
