"""What MMBench-Video's answers are worth: mean ratings, over a taxonomy of abilities."""

import polars as pl

from reprise.benchmarks.mmbench_video.images.scores import FORMS as IMAGE_FORMS
from reprise.benchmarks.mmbench_video.images.scores import answered
from reprise.benchmarks.mmbench_video.images.scores import measures as image_measures
from reprise.benchmarks.mmbench_video.taxonomy import (
    BEST,
    HALVES,
    LEAVES,
    OVERALL,
    OWN_NAME,
    in_group,
    other_sets,
)
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS as GROUPS
from reprise.stats.measures import Measure, Resampling, measure, ones

# `mae` comes of people's ratings.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
FORMS = {"packed": METRICS, "unpacked": METRICS, **IMAGE_FORMS}
CHANCE: dict[str, float | None] = {"accuracy": None}


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    `drop_unread` is the authors' convention. It differs where an unpacked answer failed: the harness puts its failure
    message to the judge like an answer, so that it stays in `valid`, with 0.
    """
    if form in IMAGE_FORMS:
        return image_measures(form, items, verdicts, resampling, as_authors=drop_unread)
    rows = _rated(items, verdicts)
    given = rows["score"].is_not_null() | (rows["failed"] if drop_unread and form == "unpacked" else False)
    rows = rows.with_columns(given=given.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    found = []
    sets = other_sets(items)
    for group in () if sets else (*LEAVES, *HALVES, OVERALL):
        inside = in_group(rows, group)
        rated, given = inside["score"] * inside["given"], inside["given"]
        found.append(measure("mean", group, inside, [(inside["score"], ones(inside))], resampling, scale=1))
        found.append(measure("valid", group, inside, [(rated, given)], resampling, scale=1))
    for group in sets or [OWN_NAME]:
        inside = in_group(rows, group)
        whole = [(inside["score"], ones(inside))]
        found.append(measure("original_score", group, inside, whole, resampling, scale=1))
        found.append(measure("normalized_score", group, inside, whole, resampling, scale=100 / BEST))
    return found


def _rated(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    rated = verdicts.select("item_id", "score", "failed", "unparsed")
    return items.select("item_id", "unit", "task", "groups").join(rated, on="item_id", maintain_order="left")


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one; of a question about an image whether it is right."""
    if form in IMAGE_FORMS:
        rows = answered(form, items, verdicts, as_authors=False)
        return {"accuracy": rows.select("item_id", "unit", "task", "right")}
    rows = _rated(items, verdicts).with_columns(right=pl.col("score").fill_null(0.0) / BEST, task=pl.lit(OVERALL))
    return {"mean": rows.select("item_id", "unit", "task", "right")}
