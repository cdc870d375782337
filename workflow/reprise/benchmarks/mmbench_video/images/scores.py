"""What the answers about images are worth."""

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import CHOICE, CIRCULAR, FORM_OF, OPTIONS, groups_of
from reprise.core.schemas import in_group_named
from reprise.stats.measures import Measure, Resampling, measure, ones

FORMS = {form: frozenset({"accuracy"}) for form in (CIRCULAR, CHOICE)}


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, as_authors: bool
) -> list[Measure]:
    """The share of questions answered right, by category and overall; none where the release has no such question."""
    rows = answered(form, items, verdicts, as_authors=as_authors)
    groups = [group for name in FORM_OF if FORM_OF[name] == form for group in groups_of(name)]
    found = []
    for group in groups:
        if items.filter(in_group_named(group)).is_empty():
            continue
        inside = rows.filter(in_group_named(group))
        found.append(measure("accuracy", group, inside, [(inside["right"], ones(inside))], resampling))
    return found


def answered(form: str, items: pl.DataFrame, verdicts: pl.DataFrame, *, as_authors: bool) -> pl.DataFrame:
    """One row a question that was asked: right if right under every rotation; a rotation without an answer failed.

    The reference harness knows only the rotations that are in its file of answers, and of these the questions whose
    first order is.
    """
    by_item = verdicts.group_by("item_id", maintain_order=True).agg(
        pl.col("right").all(),
        pl.col("failed", "unparsed").any(),
        turns=pl.len(),
        is_begun=(pl.col("role") == "rotation0").any(),
    )
    rows = items.join(by_item, on="item_id", how="inner", maintain_order="left")
    if as_authors:
        return rows.filter(pl.col("is_begun"))
    is_short = rows["turns"] < (_options_counted(rows) if form == CIRCULAR else 1)
    return rows.with_columns(right=rows["right"] & ~is_short, failed=rows["failed"] | is_short)


def _options_counted(items: pl.DataFrame) -> pl.Series:
    """How many options each question has."""
    entry = pl.element()
    counts = items["groups"].list.eval(entry.filter(entry.struct.field("name") == OPTIONS).struct.field("text"))
    return counts.list.first().cast(pl.UInt32)
