"""Scores of TemporalBench's answers.

By the authors' convention a question without an answer is left out, and so is a video without any. An answer
that cannot be read is wrong by both conventions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from reprise.benchmarks.rows import is_in
from reprise.benchmarks.scoring import SAMPLE, Answered, Scores, groups_there, in_group
from reprise.benchmarks.temporalbench.analyses import ANALYSED
from reprise.benchmarks.temporalbench.option_sets import OPTION_SETS, lettered
from reprise.benchmarks.temporalbench.taxonomy import CHOICES, GROUPS_OF_TASK, OVERALL
from reprise.benchmarks.temporalbench.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.stats.caption_scores import ORDERS, bleu, bleu_columns, cider, rouge_l
from reprise.stats.measures import Measure, measure, ones

CHANCE: dict[str, float | None] = {"ba": 50.0, "mba": None, "share": 25.0}
GROUPS = RELEASED_GROUPS | {name: is_in(name) for name in ANALYSED}
CAPTION_METRICS = ("similarity", "cider", "rouge", *(f"bleu_{order}" for order in ORDERS))
CAPTION_LIMITS = {"similarity": (-1, 1), "cider": (0, 10), "rouge": (0, 1)}

Rows: TypeAlias = Callable[[Answered], pl.DataFrame]
"""One row per item that was asked about, with its answer: value, score, right, unparsed, failed."""


def _closer(answered: Answered) -> pl.DataFrame:
    """The caption with the larger similarity is the answer; a tie has none and is wrong."""
    verdicts = answered.verdicts
    halves = [verdicts.filter(pl.col("role") == letter).select("item_id", "score", "failed") for letter in ("A", "B")]
    both = halves[0].join(halves[1], on="item_id", how="inner", suffix="_b")
    ahead = (pl.col("score") - pl.col("score_b")).fill_null(0.0)
    value = pl.when(ahead > 0).then(pl.lit("A")).when(ahead < 0).then(pl.lit("B")).otherwise(pl.lit(""))
    return answered.items.join(both, on="item_id", how="inner", maintain_order="left").with_columns(
        value=value,
        right=(value == pl.col("answer")) & (value != ""),
        unparsed=pl.lit(False),
        failed=pl.col("failed") | pl.col("failed_b"),
    )


def _counted(rows_of: Rows, answered: Answered) -> pl.DataFrame:
    """The rows that a convention counts."""
    rows = rows_of(answered)
    return rows if answered.convention == "fixed" else rows.filter(~pl.col("failed"))


def _videos(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a video: right if all of its questions are."""
    return rows.group_by("clip_id", maintain_order=True).agg(
        pl.col("unit", "task").first(), pl.col("right").all(), pl.col("unparsed", "failed").any()
    )


def _accuracies(rows_of: Rows, groups: Sequence[str], answered: Answered, level: float) -> list[Measure]:
    """Binary accuracy over questions, and multiple binary accuracy over videos."""
    rows = _counted(rows_of, answered)
    never_asked = answered.items.join(answered.verdicts, on="item_id", how="anti")
    found = []
    for group in (*groups, *groups_there(rows, ANALYSED)):
        inside = in_group(rows, group, GROUPS)
        found.append(measure("ba", group, inside, [(inside["right"], ones(inside))], level))
        videos = _videos(inside)
        ratio = (videos["right"], ones(videos))
        missing = in_group(never_asked, group, GROUPS)["clip_id"].n_unique()
        found.append(replace(measure("mba", group, videos, [ratio], level), missing=missing))
    return found


def _accuracy_outcomes(rows_of: Rows, answered: Answered) -> dict[str, pl.DataFrame]:
    rows = _counted(rows_of, answered)
    return {"ba": rows.select(SAMPLE), "mba": _videos(rows).rename({"clip_id": "item_id"}).select(SAMPLE)}


def _captions(answered: Answered, level: float) -> list[Measure]:
    """The seven scores; a failed caption scores nothing, an empty one only by the authors' similarity."""
    rows = _counted(Answered.rows, answered)
    captions, references = rows["value"].to_list(), rows["answer"].to_list()
    likeness = rows["score"].fill_null(0.0)
    if answered.convention == "fixed":
        likeness = likeness * (~rows["unparsed"]).cast(pl.Float64)
    rouges = [rouge_l(caption, reference) for caption, reference in zip(captions, references, strict=True)]
    means = {
        "similarity": likeness,
        "cider": pl.Series(cider(captions, references), dtype=pl.Float64),
        "rouge": pl.Series(rouges, dtype=pl.Float64),
    }
    found = [
        measure(name, OVERALL, rows, [(values, ones(rows))], level, limits=CAPTION_LIMITS[name])
        for name, values in means.items()
    ]
    columns = bleu_columns(captions, references)
    return found + [measure(f"bleu_{n}", OVERALL, rows, columns, level, bleu(n)) for n in ORDERS]


def _shares(form: str, answered: Answered, level: float) -> list[Measure]:
    """How often the right caption was chosen, and how often the first of its negatives."""
    rows = _counted(Answered.rows, answered)
    values = zip(rows["item_id"], rows["value"], strict=True)
    chosen = pl.Series([lettered(item_id, form).get(value, "") for item_id, value in values], dtype=pl.String)
    return [measure("share", name, rows, [(chosen == name, ones(rows))], level) for name in CHOICES]


SCORES = {
    **{
        form: Scores(
            frozenset({"ba", "mba"}),
            partial(_accuracies, rows_of, GROUPS_OF_TASK[form.split("_")[0]]),
            partial(_accuracy_outcomes, rows_of),
            "mba",
        )
        for form, rows_of in (
            ("short", Answered.rows),
            ("long", Answered.rows),
            ("short_similarity", _closer),
            ("long_similarity", _closer),
        )
    },
    "caption": Scores(frozenset(CAPTION_METRICS), _captions),
    **{
        form: Scores(
            frozenset({"share"}),
            partial(_shares, form),
            lambda answered: {"share": _counted(Answered.rows, answered).select(SAMPLE)},
            "share",
        )
        for form in OPTION_SETS
    },
}
