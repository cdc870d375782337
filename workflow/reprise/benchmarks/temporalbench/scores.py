"""Score TemporalBench's answers.

Binary accuracy (`ba`) is the share of questions answered right. Multiple binary accuracy (`mba`) is the share of videos
whose questions are all answered right.

The `authors` convention leaves out questions without an answer, and videos without any. Unparsed answers are wrong
under both conventions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from reprise.benchmarks.annotations import is_in_group
from reprise.benchmarks.scoring import (
    ACCURACY,
    SAMPLE_COLUMNS,
    QuestionScores,
    RunAnswers,
    Scoring,
    filter_group,
    list_nonempty_groups,
    score_items,
)
from reprise.benchmarks.temporalbench.analyses import ANALYSIS_GROUPS
from reprise.benchmarks.temporalbench.option_sets import CAPTION_NAMES_BY_SET, assign_letters
from reprise.benchmarks.temporalbench.taxonomy import CHOICES, GROUPS_BY_TASK, OVERALL
from reprise.benchmarks.temporalbench.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.stats.caption_scores import ORDERS, bleu, bleu_columns, cider, rouge_l
from reprise.stats.measures import Measure, compute_measure, unit_weights

CHANCE: dict[str, float | None] = {"ba": 50.0, "mba": None, "share": 25.0}
GROUPS = RELEASED_GROUPS | {name: is_in_group(name) for name in ANALYSIS_GROUPS}
CAPTION_METRICS = ("similarity", "cider", "rouge", *(f"bleu_{order}" for order in ORDERS))
CAPTION_LIMITS = {"similarity": (-1, 1), "cider": (0, 10), "rouge": (0, 1)}
"""caption score -> its lowest and highest possible value"""

RowBuilder: TypeAlias = Callable[[RunAnswers], pl.DataFrame]
"""Run answers -> one row per requested item, with its answer: value, score, right, unparsed, failed."""


def _choose_by_similarity(run_answers: RunAnswers) -> pl.DataFrame:
    """Return rows whose answer is the caption with the larger similarity; a tie gives no answer and is wrong."""
    verdicts = run_answers.verdicts
    scores_by_caption = [
        verdicts.filter(pl.col("role") == letter).select("item_id", "score", "failed") for letter in ("A", "B")
    ]
    joined = scores_by_caption[0].join(scores_by_caption[1], on="item_id", how="inner", suffix="_b")
    margin = (pl.col("score") - pl.col("score_b")).fill_null(0.0)
    value = pl.when(margin > 0).then(pl.lit("A")).when(margin < 0).then(pl.lit("B")).otherwise(pl.lit(""))
    return run_answers.items.join(joined, on="item_id", how="inner", maintain_order="left").with_columns(
        value=value,
        right=(value == pl.col("answer")) & (value != ""),
        unparsed=pl.lit(False),
        failed=pl.col("failed") | pl.col("failed_b"),
    )


def _build_counted_rows(build_rows: RowBuilder, run_answers: RunAnswers) -> pl.DataFrame:
    """Return the rows that count under the run's convention."""
    rows = build_rows(run_answers)
    return rows if run_answers.convention == "fixed" else rows.filter(~pl.col("failed"))


def _group_by_video(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per video, which is right if all of its questions are answered right."""
    return rows.group_by("clip_id", maintain_order=True).agg(
        pl.col("cluster", "task").first(), pl.col("right").all(), pl.col("unparsed", "failed").any()
    )


def _accuracy_measures(
    build_rows: RowBuilder, groups: Sequence[str], run_answers: RunAnswers, level: float
) -> list[Measure]:
    """Compute binary accuracy over questions, and multiple binary accuracy over videos, for each group of items."""
    rows = _build_counted_rows(build_rows, run_answers)
    missing_items = run_answers.items.join(run_answers.verdicts, on="item_id", how="anti")
    measures = []
    for group in (*groups, *list_nonempty_groups(rows, ANALYSIS_GROUPS)):
        group_rows = filter_group(rows, group, GROUPS)
        measures.append(
            compute_measure("ba", group, group_rows, [(group_rows["right"], unit_weights(group_rows))], level)
        )
        video_rows = _group_by_video(group_rows)
        ratio = (video_rows["right"], unit_weights(video_rows))
        missing_video_count = filter_group(missing_items, group, GROUPS)["clip_id"].n_unique()
        measures.append(replace(compute_measure("mba", group, video_rows, [ratio], level), missing=missing_video_count))
    return measures


def _accuracy_outcomes(build_rows: RowBuilder, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the outcomes of both accuracies, per question and per video."""
    rows = _build_counted_rows(build_rows, run_answers)
    return {
        "ba": rows.select(SAMPLE_COLUMNS),
        "mba": _group_by_video(rows).rename({"clip_id": "item_id"}).select(SAMPLE_COLUMNS),
    }


def _questions(build_rows: RowBuilder, run_answers: RunAnswers) -> QuestionScores:
    """Score each binary question."""
    rows = _build_counted_rows(build_rows, run_answers).select(SAMPLE_COLUMNS)
    return QuestionScores(ACCURACY, 50.0, rows, metric="ba")


def _caption_measures(run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute the seven caption scores.

    A failed or empty caption scores 0. Under the `authors` convention, an empty caption keeps its similarity.
    """
    rows = _build_counted_rows(RunAnswers.join_verdicts, run_answers)
    captions, references = rows["value"].to_list(), rows["answer"].to_list()
    similarity = rows["score"].fill_null(0.0)
    if run_answers.convention == "fixed":
        similarity = similarity * (~rows["unparsed"]).cast(pl.Float64)
    rouges = [rouge_l(caption, reference) for caption, reference in zip(captions, references, strict=True)]
    scores_by_metric = {
        "similarity": similarity,
        "cider": pl.Series(cider(captions, references), dtype=pl.Float64),
        "rouge": pl.Series(rouges, dtype=pl.Float64),
    }
    measures = [
        compute_measure(metric, OVERALL, rows, [(scores, unit_weights(rows))], level, limits=CAPTION_LIMITS[metric])
        for metric, scores in scores_by_metric.items()
    ]
    columns = bleu_columns(captions, references)
    return measures + [compute_measure(f"bleu_{order}", OVERALL, rows, columns, level, bleu(order)) for order in ORDERS]


def _share_measures(form: str, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute how often the right caption was chosen, and how often its first negative was chosen."""
    rows = _build_counted_rows(RunAnswers.join_verdicts, run_answers)
    ids_and_letters = zip(rows["item_id"], rows["value"], strict=True)
    chosen_captions = pl.Series(
        [assign_letters(item_id, form).get(letter, "") for item_id, letter in ids_and_letters], dtype=pl.String
    )
    return [
        compute_measure("share", name, rows, [(chosen_captions == name, unit_weights(rows))], level) for name in CHOICES
    ]


SCORES = {
    **{
        form: Scoring(
            frozenset({"ba", "mba"}),
            partial(_accuracy_measures, build_rows, GROUPS_BY_TASK[task]),
            partial(_accuracy_outcomes, build_rows),
            partial(_questions, build_rows),
            "mba",
        )
        for form, task, build_rows in (
            ("short", "short", RunAnswers.join_verdicts),
            ("long", "long", RunAnswers.join_verdicts),
            ("short_similarity", "short", _choose_by_similarity),
            ("long_similarity", "long", _choose_by_similarity),
        )
    },
    "caption": Scoring(frozenset(CAPTION_METRICS), _caption_measures),
    **{
        form: Scoring(
            frozenset({"share"}),
            partial(_share_measures, form),
            lambda run_answers: {
                "share": _build_counted_rows(RunAnswers.join_verdicts, run_answers).select(SAMPLE_COLUMNS)
            },
            partial(score_items, CHANCE["share"]),
            "share",
        )
        for form in CAPTION_NAMES_BY_SET
    },
}
