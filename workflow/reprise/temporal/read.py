"""Read the verdicts of one condition of a temporal profile, as scores of questions and of the headline's samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import QuestionScores, RunAnswers, filter_group
from reprise.core.errors import reject_unknown
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.stats.intervals import FloatArray
from reprise.temporal.profile import BenchmarkProfileKey

# Columns of scored samples; `task` names the sample's test, and `value` is its score from 0 to 1.
SAMPLES = pl.Schema({"item_id": pl.String, "cluster": pl.String, "task": pl.String, "value": pl.Float64})


@dataclass(frozen=True)
class ConditionVerdicts:
    """The verdicts of one condition, as scores of questions and of the headline's samples."""

    questions: QuestionScores
    headline_samples: pl.DataFrame
    """samples of the headline score (`SAMPLES`)"""
    verdicts: pl.DataFrame
    """verdicts on the requests about the profile's group of items, with the test (`task`) of each"""
    confidences: pl.DataFrame | None = None
    """confidence of each item's answers, if the profile has a single-frame probe"""
    chosen_frames: pl.DataFrame | None = None
    """number (`frame`, from 0) of each item's most confident frame, for a condition that chooses it"""


def read_condition(key: BenchmarkProfileKey, paths: Sequence[Path]) -> ConditionVerdicts:
    """Read the verdicts of one condition; failed and unparsed answers are wrong.

    Several files have the answers from one frame each. For each item, those of the most confident frame count.
    """
    scores = load_scores(key.name)
    scoring = scores.SCORES[key.form]
    items = filter_group(read_table(key.items, ITEMS, skipped_columns=("texts",)), key.group, scores.GROUPS)
    answers_by_frame = [RunAnswers(items, read_table(path, VERDICTS)) for path in paths]
    compute_confidences = scoring.compute_confidences if key.probe else None
    confidences = [compute_confidences(answers) for answers in answers_by_frame] if compute_confidences else []
    run_answers, chosen_frames = answers_by_frame[0], None
    if len(paths) > 1:
        chosen_frames = choose_frames(confidences)
        verdicts_by_frame = [answers.verdicts for answers in answers_by_frame]
        run_answers = RunAnswers(items, _select_frames(verdicts_by_frame, chosen_frames))
    outcomes = scoring.compute_outcomes(run_answers)
    reject_unknown("score", [key.score], outcomes, f"{paths[0]}: the temporal profile of {key.name}")
    headline = outcomes[key.score]
    questions = (
        scoring.compute_questions(run_answers)
        if scoring.compute_questions
        else QuestionScores(key.score_title, scoring.chance.get(key.score), headline)
    )
    requested = run_answers.verdicts.join(items.select("item_id", "task"), on="item_id", maintain_order="left")
    return ConditionVerdicts(
        questions._replace(rows=_as_samples(questions.rows)),
        _as_samples(headline),
        requested,
        compute_confidences(run_answers) if compute_confidences else None,
        chosen_frames,
    )


def choose_frames(confidences: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the number of each item's most confident frame; of equally confident frames, the earliest one."""
    return (
        pl.concat([rows.with_columns(frame=pl.lit(frame)) for frame, rows in enumerate(confidences)])
        .sort(-pl.col("confidence").fill_null(-1.0), "frame")
        .unique("item_id", keep="first", maintain_order=True)
        .select("item_id", "frame")
    )


def _select_frames(verdicts: Sequence[pl.DataFrame], chosen_frames: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on each item's answers from its chosen frame."""
    return pl.concat(
        [rows.join(chosen_frames.filter(frame=frame), on="item_id", how="semi") for frame, rows in enumerate(verdicts)]
    )


def align_confidences(confidences: pl.DataFrame | None, questions: pl.DataFrame) -> FloatArray | None:
    """Return the confidence in each question's answer, in the order of the questions; 0 if it has none."""
    if confidences is None:
        return None
    aligned = questions.select("item_id").join(confidences, on="item_id", how="left", maintain_order="left")
    return aligned["confidence"].fill_null(0.0).to_numpy()


def _as_samples(rows: pl.DataFrame) -> pl.DataFrame:
    """Return outcomes as samples (`SAMPLES`)."""
    return rows.select(
        "item_id",
        "cluster",
        "task",
        value=pl.col("right").cast(pl.Float64).fill_null(0.0),
    ).cast(SAMPLES)
