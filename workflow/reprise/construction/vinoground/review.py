"""The review of Vinoground: which video shows a caption without doubt, and the category of each pair."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from pathlib import Path

import polars as pl

from reprise.benchmarks.vinoground.taxonomy import HALVES, MAJOR, MINOR
from reprise.construction.filters import Row, kept
from reprise.construction.review import (
    REVIEW_FILTERS,
    Reviewed,
    Task,
    Votes,
    counted,
    decided,
    read_verdicts,
    task_rows,
)
from reprise.construction.settings import VinogroundSettings

OF_VIDEOS = ("shows it", "does not show it", "is ambiguous")
_MINORS = list(chain.from_iterable(combinations(MINOR, count) for count in range(len(MINOR) + 1)))
CATEGORIES = tuple(";".join((major, *minors)) for major in MAJOR for minors in _MINORS)
SEARCHED = ("searched",)
TASK_COLUMNS = (
    "task_id", "digest", "text", "video", "caption", "choices", "judged_by", "reviewer", "verdict",
)  # fmt: skip
NOT_SHOWN = ("refused", "same_video", "shows_both")
VIDEO_FILTERS = (*REVIEW_FILTERS, "shows_both", "lower_rank", "no_counterpart", "no_category")


def video_tasks(found: pl.DataFrame) -> list[Task]:
    """Whether a video shows a caption, and nothing else could be meant."""
    return [
        Task(row["sample_id"], OF_VIDEOS, {"text": row["text"], "video": row["video"], "caption": row["caption"]})
        for row in kept(found).iter_rows(named=True)
    ]


def category_tasks(pairs: pl.DataFrame) -> list[Task]:
    """One major category of each pair, and any number of minor ones behind it."""
    return [
        Task(
            f"category/{row['pair']}",
            CATEGORIES,
            {"text": f"{row['positive']} / {row['negative']}", "video": "", "caption": ""},
        )
        for row in kept(pairs).iter_rows(named=True)
    ]


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VinogroundSettings) -> Reviewed:
    """The videos with what people said of them, and what is left for people to do."""
    of_videos, of_pairs = video_tasks(tables["samples"]), category_tasks(tables["written"])
    given = read_verdicts(verdicts)
    pairs = tables["written"]["pair"].unique()
    searchable = {search_name(pair, half) for pair in pairs for half in HALVES}
    votes = counted([*of_videos, *of_pairs], [one for one in given if one.task_id not in searchable])
    needed = settings.review.votes
    decisions = decided(of_videos, votes, needed, settings.review.undecided == "keep")
    categories = {task.task_id.partition("/")[2]: category_of(task, votes, needed) for task in of_pairs}
    rows = [
        {**row, "category": categories[row["pair"]], "votes": 0, "in_favour": 0}
        | ({} if row["filter"] else decisions[row["sample_id"]])
        for row in tables["samples"].iter_rows(named=True)
    ]
    reviewed = _one_of_each_half(_of_one_caption(rows))
    searches = [
        Task(search_name(pair, half), SEARCHED, {"text": text, "video": "", "caption": ""})
        for pair, half, text in _without_video(reviewed)
    ]
    wanted = {task.task_id for task in searches}
    searched = counted(searches, [one for one in given if one.task_id in wanted])
    tasks = [*task_rows([*of_videos, *of_pairs], votes, needed), *task_rows(searches, searched, needed)]
    said = [{"task_id": task, "verdict": one} for task, by in votes.by_task.items() for one in by.values()]
    return Reviewed(reviewed, said, tasks, TASK_COLUMNS, [*votes.problems, *searched.problems])


def search_name(pair: str, half: str) -> str:
    """Name of a task to search for a video; a verdict on one that is not wanted any more is no problem."""
    return f"search/{pair}/{half}"


def category_of(task: Task, votes: Votes, needed: int) -> str:
    """What most people said; empty where too few said something, or none was said most often."""
    said = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
    if not said or sum(count for _, count in said) < needed or (len(said) == 2 and said[0][1] == said[1][1]):
        return ""
    return said[0][0]


def _of_one_caption(rows: list[Row]) -> list[Row]:
    """A video that shows both captions of a pair is neither's: the other one would be no negative."""
    shown = Counter((row["pair"], row["video"]) for row in rows if not row["filter"])
    both = {"filter": "shows_both", "why": "the video shows the other caption of its pair too"}
    return [row if row["filter"] or shown[row["pair"], row["video"]] == 1 else row | both for row in rows]


def _one_of_each_half(rows: list[Row]) -> list[Row]:
    """The most similar of the videos that show each caption; a pair needs both of its halves, and a category."""
    first: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if not row["filter"]), key=lambda row: row["rank"]):
        first.setdefault((row["pair"], row["half"]), row["sample_id"])

    def verdict(row: Row) -> dict[str, str]:
        if first[row["pair"], row["half"]] != row["sample_id"]:
            return {"filter": "lower_rank", "why": "a video with a more similar caption shows it too"}
        if not all((row["pair"], half) in first for half in HALVES):
            return {"filter": "no_counterpart", "why": "no video shows the other caption"}
        return {} if row["category"] else {"filter": "no_category", "why": "people have not agreed on a category"}

    return [row if row["filter"] else row | verdict(row) for row in rows]


def _without_video(rows: list[Row]) -> Iterator[tuple[str, str, str]]:
    """The captions that no video shows although people have looked at all that were found: to be searched for."""
    wanted = {(row["pair"], row["half"]): row["text"] for row in rows}
    waiting = {(row["pair"], row["half"]) for row in rows if row["filter"] not in NOT_SHOWN}
    return ((*name, text) for name, text in wanted.items() if name not in waiting)
