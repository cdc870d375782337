"""MMBench-Video's cross-validation, filter of static questions (appendix C.1), release and statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from human_evaluation.tasks import RowProblem, Task, as_csv, count_votes, normalize_name, read_verdicts
from reprise.benchmarks.mmbench_video.analyses import OTHER_TYPE, QUESTION_TYPES, classify_question
from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.benchmarks.mmbench_video.scores import average_ratings
from reprise.benchmarks.mmbench_video.taxonomy import L1_GROUPS, L2_BY_LEAF

from construction.filters import KEPT, Row, kept_rows, statistic_row
from construction.review import ReviewResult, apply_decisions, decide, task_rows
from construction.settings import MmbenchVideoSettings

# In both tuples, the first verdict is a vote in favour of the question.
QUESTION_VERDICTS = (
    "correct", "answer is wrong", "ability is wrong", "breaks a guideline", "cannot be told from the video",
)  # fmt: skip
FRAME_VERDICTS = ("needs the video", "one frame is enough")
SHOWN_COLUMNS = ("video", "question", "answer", "dimensions")


def _shown_texts(row: Row, *extra_columns: str) -> dict[str, str]:
    """Return the texts of a question that annotators see; lists are joined."""
    columns = (*SHOWN_COLUMNS, *extra_columns)
    return {name: "; ".join(row[name]) if isinstance(row[name], list) else row[name] for name in columns}


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: MmbenchVideoSettings) -> ReviewResult:
    """Return the questions with the verdicts of annotators who did not write them, and the open tasks."""
    rows = tables["samples"].to_dicts()
    tasks = [
        Task(row["sample_id"], QUESTION_VERDICTS, _shown_texts(row, "warnings")) for row in rows if not row["filter"]
    ]
    authors = {row["sample_id"]: normalize_name(row["annotator"]) for row in rows}
    own_question_problems, counted_verdicts = [], []
    for verdict in read_verdicts(verdicts):
        if normalize_name(verdict.reviewer) and normalize_name(verdict.reviewer) == authors.get(verdict.task_id):
            own_question_problems.append(
                RowProblem(verdict.location, "own_question", f"'{verdict.reviewer}' wrote {verdict.task_id}")
            )
        else:
            counted_verdicts.append(verdict)
    votes = count_votes(tasks, counted_verdicts)
    reviewed = apply_decisions(tables["samples"], decide(tasks, votes, settings.review))
    open_tasks = task_rows(tasks, votes, settings.review.votes)
    return ReviewResult(
        reviewed,
        votes.verdict_rows(votes.by_task),
        open_tasks,
        (*SHOWN_COLUMNS, "warnings"),
        [*own_question_problems, *votes.problems],
    )


def static(
    reviewed: pl.DataFrame,
    rating_tables: Sequence[pl.DataFrame],
    check_files: Sequence[Path],
    settings: MmbenchVideoSettings,
) -> ReviewResult:
    """Return the questions with their single-frame ratings, and the tasks of manual checks, highest means first."""
    assert settings.static is not None  # This step runs only with the filter.
    means = dict(average_ratings(rating_tables).iter_rows())  # item id -> mean rating of the answers from one frame
    ratings = [dict(table.select("item_id", "score").iter_rows()) for table in rating_tables]
    rows: list[Row] = [
        {**row, "mean": means.get(row["index"]), "ratings": [scores.get(row["index"]) for scores in ratings]}
        for row in kept_rows(reviewed).iter_rows(named=True)
    ]
    rows = sorted(rows, key=lambda row: (-(row["mean"] or 0.0), row["sample_id"]))
    tasks = [Task(f"static/{row['sample_id']}", FRAME_VERDICTS, _shown_texts(row)) for row in rows]
    votes = count_votes(tasks, read_verdicts(check_files))
    needed_votes, threshold = settings.review.votes, settings.static.least
    rating_texts, decisions = {}, []
    for task, row in zip(tasks, rows, strict=True):
        rating_cells = " ".join(map(_rating_cell, row["ratings"]))
        rating_texts[task.task_id] = {"mean": _rating_cell(row["mean"]), "ratings": rating_cells}
        verdicts = votes.by_task.get(task.task_id, {})
        in_favour = sum(verdict == FRAME_VERDICTS[0] for verdict in verdicts.values())
        against = len(verdicts) - in_favour
        # With enough votes the majority decides. Otherwise, or in a tie, the ratings decide, and a question without
        # ratings is kept.
        is_rated_static = row["mean"] is not None and row["mean"] >= threshold
        has_enough_votes = len(verdicts) >= needed_votes
        filter_columns = KEPT
        if is_rated_static and not (has_enough_votes and in_favour > against):
            why = f"mean rating {row['mean']:g} on one frame, {threshold:g} or more"
            filter_columns = {"filter": "static", "why": why}
        elif has_enough_votes and against > in_favour:
            why = f"{against} of {len(verdicts)} annotators find one frame enough"
            filter_columns = {"filter": "static_by_hand", "why": why}
        decisions.append(row | {"votes": len(verdicts), "in_favour": in_favour} | filter_columns)
    task_list = [task | rating_texts[task["task_id"]] for task in task_rows(tasks, votes, needed_votes)]
    return ReviewResult(decisions, [], task_list, ("mean", "ratings", *SHOWN_COLUMNS), votes.problems)


def _rating_cell(rating: float | None) -> str:
    """Return a rating as text, or `-` if the question has none."""
    return "-" if rating is None else f"{rating:g}"


def release(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> dict[str, str]:
    """Return the content of the release file from the one table in `tables`, ordered by video and index."""
    [questions] = tables.values()
    rows = [
        row | {"dimensions": str(row["dimensions"]), "video_path": f"./video/{row['video']}.mp4"}
        for row in kept_rows(questions).sort("video", "index").iter_rows(named=True)
    ]
    return {"MMBench-Video.tsv": as_csv(rows, COLUMNS, "\t")}


SHOTS_NOTE = "counted on the videos: Table 1 of the benchmark"
FIGURE_NOTE = "shown in a figure of the paper"


def statistics(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> list[Row]:
    """Return the paper's statistics of the data set with the same counts of this construction."""
    static = tables.get("static")
    released = kept_rows(tables["reviewed"] if static is None else static)
    removed = None if static is None else static.height - kept_rows(static).height
    videos = kept_rows(tables["pool"]).join(released, on="video", how="semi")
    lengths = (videos["end_s"] - videos["start_s"]).to_list()
    dimensions = released["dimensions"].to_list()
    leaf_counts = Counter(leaf for leaves in dimensions for leaf in leaves)
    ability_counts = Counter(name for leaves in dimensions for name in {L2_BY_LEAF[leaf] for leaf in leaves})
    type_counts = Counter(map(classify_question, released["question"].to_list()))
    abilities = [name for l1_group in L1_GROUPS.values() for name in l1_group]
    words = {name: [len(text.split()) for text in released[name].to_list()] for name in ("question", "answer")}
    return [
        statistic_row("videos collected", "all", None, tables["pool"].height, "not stated in the paper"),
        statistic_row("video clips", "all", 609, videos.height, "with a question that is released"),
        statistic_row("categories of videos", "all", 16, videos["video_type"].n_unique()),
        *_mean_and_deviation_rows("duration of a clip (s)", 165.4, 80.7, lengths),
        statistic_row(
            "duration of a clip (s)", "shortest", 30, min(lengths, default=None), "16.9 in the paper's datasheet"
        ),
        statistic_row("duration of a clip (s)", "longest", 360, max(lengths, default=None)),
        statistic_row("duration of all clips (h)", "all", 28, sum(lengths) / 3600),
        statistic_row("shots of a clip", "mean", 32.6, None, SHOTS_NOTE),
        statistic_row("shots of a clip", "standard deviation", 33.5, None, SHOTS_NOTE),
        statistic_row("shots of a clip", "most", 210, None, SHOTS_NOTE),
        statistic_row("questions written", "all", None, tables["candidates"].height, "rows of the annotators"),
        statistic_row(
            "questions cross-validated", "all", None, kept_rows(tables["reviewed"]).height, "before the static filter"
        ),
        statistic_row("static questions removed", "all", 246, removed),
        statistic_row("questions", "all", 1998, released.height),
        statistic_row("leaf abilities", "all", 26, len(leaf_counts)),
        *(
            statistic_row("questions of an ability (level 2)", name, None, ability_counts[name], FIGURE_NOTE)
            for name in abilities
        ),
        *(statistic_row("questions of a leaf", leaf, None, leaf_counts[leaf], FIGURE_NOTE) for leaf in L2_BY_LEAF),
        *(
            statistic_row("questions of a type", kind, None, type_counts[kind], FIGURE_NOTE)
            for kind in (*QUESTION_TYPES, OTHER_TYPE)
        ),
        *_mean_and_deviation_rows("words of a question", 10.9, 4.1, words["question"]),
        *_mean_and_deviation_rows("words of an answer", 8.4, 7.7, words["answer"]),
    ]


def _mean_and_deviation_rows(measure: str, mean: float, deviation: float, values: Sequence[float]) -> list[Row]:
    """Return two rows with the paper's mean and standard deviation, and those of the values of this construction."""
    average = sum(values) / len(values) if values else None
    measured_deviation = (
        None if average is None else (sum((value - average) ** 2 for value in values) / len(values)) ** 0.5
    )
    return [
        statistic_row(measure, "mean", mean, average),
        statistic_row(measure, "standard deviation", deviation, measured_deviation),
    ]
