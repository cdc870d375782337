"""The filter of static questions (appendix C.1): those that a model answers from one random frame are dropped."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.construction.filters import KEPT, Row, kept
from reprise.construction.review import Reviewed, Task, Votes, counted, read_verdicts, task_rows
from reprise.construction.settings import MmbenchVideoSettings

CHOICES = ("needs the video", "one frame is enough")
STATIC_FILTERS = ("static", "static_by_hand")
TASK_COLUMNS = (
    "task_id", "digest", "mean", "ratings", "video", "question", "answer", "dimensions", "choices", "judged_by",
    "reviewer", "verdict",
)  # fmt: skip


def mean_ratings(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Mean rating of every question over the runs, what failed as 0, so that no failure makes a question static."""
    rated = pl.concat(verdicts).select("item_id", pl.col("score").fill_null(0.0).alias("rating"))
    return rated.group_by("item_id", maintain_order=True).agg(pl.col("rating").sum() / len(verdicts))


def static(
    reviewed: pl.DataFrame,
    rated: Sequence[pl.DataFrame],
    checked: Sequence[Path],
    least: float,
    settings: MmbenchVideoSettings,
) -> Reviewed:
    """The questions with their ratings on one frame, and the list that people check by hand, highest means first."""
    rows = _rated(kept(reviewed), rated)
    tasks = [_task(row) for row in rows]
    votes, needed = counted(tasks, read_verdicts(checked)), settings.review.votes
    decided = [row | _decision(row, votes, needed, least) for row in rows]
    shown = {
        _name(row): {"mean": _digits(row["mean"]), "ratings": " ".join(map(_digits, row["ratings"]))} for row in rows
    }
    listed = [task | shown[task["task_id"]] for task in task_rows(tasks, votes, needed)]
    return Reviewed(decided, [], listed, TASK_COLUMNS, votes.problems)


def _rated(questions: pl.DataFrame, rated: Sequence[pl.DataFrame]) -> list[Row]:
    means = dict(mean_ratings(rated).iter_rows())
    ratings = [dict(one.select("item_id", "score").iter_rows()) for one in rated]
    rows: list[Row] = [
        {**row, "mean": means.get(row["index"]), "ratings": [one.get(row["index"]) for one in ratings]}
        for row in questions.iter_rows(named=True)
    ]
    return sorted(rows, key=lambda row: (-(row["mean"] or 0.0), row["sample_id"]))


def _name(row: Mapping[str, object]) -> str:
    return f"static/{row['sample_id']}"


def _task(row: Row) -> Task:
    shown = {name: row[name] for name in ("video", "question", "answer")}
    return Task(_name(row), CHOICES, shown | {"dimensions": "; ".join(row["dimensions"])})


def _digits(rating: float | None) -> str:
    return "-" if rating is None else f"{rating:g}"


def _decision(row: Row, votes: Votes, needed: int, least: float) -> Row:
    """What most people say if enough have looked; else what the ratings say. A question that was not asked stays."""
    given = votes.by_task.get(_name(row), {})
    in_favour = sum(verdict == CHOICES[0] for verdict in given.values())
    found: Row = {"votes": len(given), "in_favour": in_favour, **KEPT}
    is_static = row["mean"] is not None and row["mean"] >= least
    if len(given) >= needed and 2 * in_favour != len(given):  # as many of one as of the other decide nothing
        if 2 * in_favour > len(given):
            return found
        if not is_static:
            return found | {"filter": "static_by_hand", "why": f"{len(given) - in_favour} of {len(given)} say so"}
    if is_static:
        return found | {"filter": "static", "why": f"mean rating {row['mean']:g} on one frame, {least:g} or more"}
    return found
