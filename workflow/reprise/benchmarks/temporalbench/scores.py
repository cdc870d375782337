"""What TemporalBench's answers are worth."""

from dataclasses import replace

import polars as pl

from reprise.benchmarks.temporalbench.option_sets import OPTION_SETS, lettered
from reprise.benchmarks.temporalbench.taxonomy import (
    BY_SIMILARITY,
    CHOICES,
    OVERALL,
    group_of,
    groups_of,
    in_group,
)
from reprise.benchmarks.temporalbench.taxonomy import GROUPS as GROUPS
from reprise.stats.caption_scores import ORDERS, bleu, bleu_columns, cider, rouge_l
from reprise.stats.measures import Measure, Resampling, measure, ones

CAPTION_METRICS = ("similarity", "cider", "rouge", *(f"bleu_{order}" for order in ORDERS))
FORMS = {
    "short": frozenset({"ba", "mba"}),
    "long": frozenset({"ba", "mba"}),
    **{form: frozenset({"ba", "mba"}) for form in BY_SIMILARITY},
    "caption": frozenset(CAPTION_METRICS),
    **{form: frozenset({"share"}) for form in OPTION_SETS},
}
CHANCE: dict[str, float | None] = {"ba": 50.0, "mba": None, "share": 25.0}


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """All metrics of a form.

    `drop_unread` is the authors' convention: a question without an answer leaves the denominator, and with it a video
    without any. An answer that cannot be read stays and is wrong, in both conventions.
    """
    rows = _answers(form, items, verdicts)
    if drop_unread:
        rows = rows.filter(~pl.col("failed"))
    if form in OPTION_SETS:
        return _shares(form, rows, resampling)
    if form == "caption":
        return _caption_scores(rows, resampling, count_unread=drop_unread)
    never_asked = items.join(verdicts, on="item_id", how="anti")
    found = []
    for group in groups_of(BY_SIMILARITY.get(form, form)):
        inside = in_group(rows, group)
        found.append(measure("ba", group, inside, [(inside["right"], ones(inside))], resampling))
        videos = _videos(inside)
        ratio = (videos["right"], ones(videos))
        missing = in_group(never_asked, group)["clip_id"].n_unique()
        found.append(replace(measure("mba", group, videos, [ratio], resampling), missing=missing))
    return found


def _answers(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    found = verdicts.select("item_id", "value", "score", "right", "unparsed", "failed")
    if form in BY_SIMILARITY:
        found = _closer(items, verdicts)
    # Category and data set are read off the groups once, not for every metric.
    slim = items.with_columns(group_of(kind).alias(kind) for kind in ("category", "dataset")).drop("groups")
    return slim.join(found, on="item_id", how="inner", maintain_order="left")


def _closer(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row a question: the caption with the larger similarity is the answer; a tie has none and is wrong."""
    halves = [verdicts.filter(pl.col("role") == letter).select("item_id", "score", "failed") for letter in ("A", "B")]
    both = halves[0].join(halves[1], on="item_id", how="inner", maintain_order="left", suffix="_b")
    ahead = (pl.col("score") - pl.col("score_b")).fill_null(0.0)
    value = pl.when(ahead > 0).then(pl.lit("A")).when(ahead < 0).then(pl.lit("B")).otherwise(pl.lit(""))
    answered = both.join(items.select("item_id", "answer"), on="item_id", how="left", maintain_order="left")
    return answered.with_columns(value=value, failed=pl.col("failed") | pl.col("failed_b")).select(
        "item_id",
        "value",
        "score",
        right=(pl.col("value") == pl.col("answer")) & (pl.col("value") != ""),
        unparsed=pl.lit(False),
        failed="failed",
    )


def _videos(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a video: right if all of its questions are."""
    return rows.group_by("clip_id", maintain_order=True).agg(
        pl.col("unit", "task").first(), pl.col("right").all(), pl.col("unparsed", "failed").any()
    )


def _caption_scores(rows: pl.DataFrame, resampling: Resampling, *, count_unread: bool) -> list[Measure]:
    """The seven scores; a failed caption scores nothing, an empty one only by the authors' similarity."""
    captions, references = rows["value"].to_list(), rows["answer"].to_list()
    likeness = rows["score"].fill_null(0.0)
    if not count_unread:
        likeness = likeness * (~rows["unparsed"]).cast(pl.Float64)
    rouges = [rouge_l(caption, reference) for caption, reference in zip(captions, references, strict=True)]
    means = {
        "similarity": likeness,
        "cider": pl.Series(cider(captions, references), dtype=pl.Float64),
        "rouge": pl.Series(rouges, dtype=pl.Float64),
    }
    found = [measure(name, OVERALL, rows, [(values, ones(rows))], resampling) for name, values in means.items()]
    columns = bleu_columns(captions, references)
    return found + [measure(f"bleu_{n}", OVERALL, rows, columns, resampling, bleu(n)) for n in ORDERS]


def _shares(form: str, rows: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """How often the right caption was chosen, and how often the first of its negatives."""
    values = zip(rows["item_id"], rows["value"], strict=True)
    chosen = pl.Series([lettered(item_id, form).get(value, "") for item_id, value in values], dtype=pl.String)
    return [measure("share", name, rows, [(chosen == name, ones(rows))], resampling) for name in CHOICES]


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a sample (item_id, unit, task, right), for comparing two models sample by sample."""
    if form == "caption":
        return {}
    rows = _answers(form, items, verdicts)
    columns = ("item_id", "unit", "task", "right")
    if form in OPTION_SETS:
        return {"share": rows.select(columns)}
    return {"ba": rows.select(columns), "mba": _videos(rows).rename({"clip_id": "item_id"}).select(columns)}
