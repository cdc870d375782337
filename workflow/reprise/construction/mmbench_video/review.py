"""Cross-validation, and the filter of static questions, which one random frame answers (appendix C.1); the release."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.construction.filters import KEPT, Row, kept
from reprise.construction.review import (
    Problem,
    Reviewed,
    Task,
    counted,
    decided,
    judged,
    known_as,
    read_verdicts,
    task_rows,
)
from reprise.construction.settings import MmbenchVideoSettings

OF_QUESTIONS = (
    "correct", "answer is wrong", "ability is wrong", "breaks a guideline", "cannot be told from the video",
)  # fmt: skip
OF_FRAMES = ("needs the video", "one frame is enough")
SHOWN = ("video", "question", "answer", "dimensions")
STATIC_FILTERS = ("static", "static_by_hand")


def _shown(row: Row, *columns: str) -> dict[str, str]:
    """What people see of a question; lists on one line."""
    return {name: "; ".join(row[name]) if isinstance(row[name], list) else row[name] for name in (*SHOWN, *columns)}


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: MmbenchVideoSettings) -> Reviewed:
    """The questions with what people said of them, who did not write them, and what is left for people to do."""
    rows = tables["samples"].to_dicts()
    tasks = [Task(row["sample_id"], OF_QUESTIONS, _shown(row, "warnings")) for row in rows if not row["filter"]]
    authors = {row["sample_id"]: known_as(row["annotator"]) for row in rows}
    own, others = [], []
    for one in read_verdicts(verdicts):
        if known_as(one.reviewer) and known_as(one.reviewer) == authors.get(one.task_id):
            own.append(Problem(one.where, "own_question", f"'{one.reviewer}' wrote {one.task_id}"))
        else:
            others.append(one)
    votes = counted(tasks, others)
    reviewed = judged(tables["samples"], decided(tasks, votes, settings.review))
    left = task_rows(tasks, votes, settings.review.votes)
    return Reviewed(reviewed, votes.said(votes.by_task), left, (*SHOWN, "warnings"), [*own, *votes.problems])


def mean_ratings(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Mean rating of every question over the runs, what failed as 0, so that no failure makes a question static."""
    rated = pl.concat(verdicts).select("item_id", pl.col("score").fill_null(0.0).alias("rating"))
    return rated.group_by("item_id", maintain_order=True).agg(pl.col("rating").sum() / len(verdicts))


def static(
    reviewed: pl.DataFrame, rated: Sequence[pl.DataFrame], checked: Sequence[Path], settings: MmbenchVideoSettings
) -> Reviewed:
    """The questions with their ratings on one frame, and the list that people check by hand, highest means first."""
    assert settings.static is not None  # the filter is asked for
    means = dict(mean_ratings(rated).iter_rows())
    ratings = [dict(one.select("item_id", "score").iter_rows()) for one in rated]
    rows: list[Row] = [
        {**row, "mean": means.get(row["index"]), "ratings": [one.get(row["index"]) for one in ratings]}
        for row in kept(reviewed).iter_rows(named=True)
    ]
    rows = sorted(rows, key=lambda row: (-(row["mean"] or 0.0), row["sample_id"]))
    tasks = [Task(f"static/{row['sample_id']}", OF_FRAMES, _shown(row)) for row in rows]
    votes, needed, least = counted(tasks, read_verdicts(checked)), settings.review.votes, settings.static.least
    shown, decisions = {}, []
    for task, row in zip(tasks, rows, strict=True):
        shown[task.task_id] = {"mean": _digits(row["mean"]), "ratings": " ".join(map(_digits, row["ratings"]))}
        given = votes.by_task.get(task.task_id, {})
        in_favour = sum(verdict == OF_FRAMES[0] for verdict in given.values())
        against = len(given) - in_favour
        # What most people say if enough have looked, else what the ratings say. A question that was not asked stays.
        is_static, is_decided = row["mean"] is not None and row["mean"] >= least, len(given) >= needed
        verdict = KEPT
        if is_static and not (is_decided and in_favour > against):
            verdict = {"filter": "static", "why": f"mean rating {row['mean']:g} on one frame, {least:g} or more"}
        elif is_decided and against > in_favour:
            verdict = {"filter": "static_by_hand", "why": f"{against} of {len(given)} say so"}
        decisions.append(row | {"votes": len(given), "in_favour": in_favour} | verdict)
    listed = [task | shown[task["task_id"]] for task in task_rows(tasks, votes, needed)]
    return Reviewed(decisions, [], listed, ("mean", "ratings", *SHOWN), votes.problems)


def _digits(rating: float | None) -> str:
    return "-" if rating is None else f"{rating:g}"


def release(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> dict[str, str]:
    """File -> content, of the one table that is given. Questions are in the order of their videos and indices."""
    [questions] = tables.values()
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, delimiter="\t", lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in kept(questions).sort("video", "index").iter_rows(named=True):
        writer.writerow(row | {"dimensions": str(row["dimensions"]), "video_path": f"./video/{row['video']}.mp4"})
    return {"MMBench-Video.tsv": buffer.getvalue()}
