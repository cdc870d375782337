"""The review of Vinoground: which video shows a caption, the category of each pair; and the release."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import polars as pl

from reprise.benchmarks.vinoground.release import TEXT_QUESTION, VIDEO_QUESTION
from reprise.benchmarks.vinoground.taxonomy import HALVES, MAJOR, MINOR
from reprise.construction.filters import Found, Row, kept, shuffled, sifted
from reprise.construction.review import (
    REVIEW_FILTERS,
    Reviewed,
    Task,
    Votes,
    as_csv,
    as_json,
    counted,
    decided,
    judged,
    read_verdicts,
    task_rows,
)
from reprise.construction.settings import VinogroundSettings
from reprise.core.names import seconds

OF_VIDEOS = ("shows it", "does not show it", "is ambiguous")
_MINORS = list(chain.from_iterable(combinations(MINOR, count) for count in range(len(MINOR) + 1)))
CATEGORIES = tuple(";".join((major, *minors)) for major in MAJOR for minors in _MINORS)
SEARCHED = ("searched",)
SHOWN = ("text", "video", "caption")
NOT_SHOWN = ("refused", "same_video", "shows_both")
VIDEO_FILTERS = (*REVIEW_FILTERS, "shows_both", "lower_rank", "no_counterpart", "no_category")
COLUMNS = (
    "index", "major", "minor", "pos_vid", "pos_start", "pos_end", "pos_cap", "neg_vid", "neg_start", "neg_end",
    "neg_cap",
)  # fmt: skip


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VinogroundSettings) -> Reviewed:
    """The videos with what people said of them, and what is left for people to do."""
    of_videos = [
        Task(row["sample_id"], OF_VIDEOS, {name: row[name] for name in SHOWN})
        for row in kept(tables["samples"]).iter_rows(named=True)
    ]
    of_pairs = [  # one major category of each pair, and any number of minor ones behind it
        Task(f"category/{name}", CATEGORIES, {"text": f"{positive} / {negative}", "video": "", "caption": ""})
        for name, positive, negative in kept(tables["written"]).select("pair", "positive", "negative").iter_rows()
    ]
    given = read_verdicts(verdicts)
    # A verdict on a search that is not wanted any more is no problem.
    searchable = {_search(pair, half) for pair in tables["written"]["pair"].unique() for half in HALVES}
    votes = counted([*of_videos, *of_pairs], [one for one in given if one.task_id not in searchable])
    needed = settings.review.votes
    categories = {task.task_id.partition("/")[2]: category_of(task, votes, needed) for task in of_pairs}
    rows = judged(tables["samples"], decided(of_videos, votes, settings.review))
    reviewed = _one_of_each_half([row | {"category": categories[row["pair"]]} for row in rows])
    # Captions that no video shows although people have looked at all that were found.
    waiting = {(row["pair"], row["half"]) for row in reviewed if row["filter"] not in NOT_SHOWN}
    unseen = {(row["pair"], row["half"]): row["text"] for row in reviewed}
    searches = {
        name: Task(name, SEARCHED, {"text": text, "video": "", "caption": ""})
        for (pair, half), text in unseen.items()
        if (pair, half) not in waiting and (name := _search(pair, half))
    }
    searched = counted(list(searches.values()), [one for one in given if one.task_id in searches])
    tasks = task_rows([*of_videos, *of_pairs], votes, needed) + task_rows(list(searches.values()), searched, needed)
    return Reviewed(reviewed, votes.said(votes.by_task), tasks, SHOWN, [*votes.problems, *searched.problems])


def _search(pair: str, half: str) -> str:
    return f"search/{pair}/{half}"


def category_of(task: Task, votes: Votes, needed: int) -> str:
    """What most people said; empty where too few said something, or none was said most often."""
    said = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
    if not said or sum(count for _, count in said) < needed or (len(said) == 2 and said[0][1] == said[1][1]):
        return ""
    return said[0][0]


def _one_of_each_half(rows: list[Row]) -> list[Row]:
    """The most similar of the videos that show each caption; a pair needs both of its halves, and a category."""
    shown = Counter((row["pair"], row["video"]) for row in rows if not row["filter"])
    why = "the video shows the other caption of its pair too"  # which would be no negative
    rows = sifted(rows, {"shows_both": lambda row: why if shown[row["pair"], row["video"]] > 1 else ""})
    first: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if not row["filter"]), key=lambda row: row["rank"]):
        first.setdefault((row["pair"], row["half"]), row["sample_id"])
    lower, alone = "a video with a more similar caption shows it too", "no video shows the other caption"
    found: dict[str, Found] = {
        "lower_rank": lambda row: lower if first[row["pair"], row["half"]] != row["sample_id"] else "",
        "no_counterpart": lambda row: "" if all((row["pair"], half) in first for half in HALVES) else alone,
        "no_category": lambda row: "" if row["category"] else "people have not agreed on a category",
    }
    return sifted(rows, found)


def release(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> dict[str, str]:
    """File -> content: the table and both files of questions, of pairs in the order of their digests."""
    halves: dict[str, dict[str, Row]] = {}
    for row in sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"]):
        halves.setdefault(row["pair"], {})[row["half"]] = row
    texts, videos = questions(halves, settings.seed)
    return {
        "vinoground.csv": as_csv([_released(name, pair) for name, pair in halves.items()], COLUMNS),
        "vinoground_textscore.json": as_json(texts),
        "vinoground_videoscore.json": as_json(videos),
    }


def _released(name: str, pair: Mapping[str, Row]) -> Row:
    major, *minors = pair["pos"]["category"].split(";")
    found: Row = {"index": int(name, 16), "major": major, "minor": "".join(f"{one};" for one in minors)}
    for half in HALVES:
        row = pair[half]
        found |= {f"{half}_vid": row["source"], f"{half}_cap": row["text"]}
        times = {name: row[f"{name}_s"] for name in ("start", "end")}
        found |= {f"{half}_{name}": "" if time is None else seconds(time) for name, time in times.items()}
    return found


def questions(pairs: Mapping[str, Mapping[str, Row]], seed: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """Two questions a pair of each kind; in half of the pairs the positive caption, or segment, comes first."""
    # A pair's number is made of its texts: the same when other pairs come or go, as people's answers need it.
    texts, videos = [], []
    caption_first, segment_first = (set(shuffled(pairs, seed + kind)[: len(pairs) // 2]) for kind in (0, 1))
    for name, pair in pairs.items():
        index, captions = int(name, 16), [pair[half]["text"].removesuffix(".") for half in HALVES]
        a, b = captions if name in caption_first else captions[::-1]
        for half, caption in zip(HALVES, captions, strict=True):
            is_a = {
                kind: (half == "pos") == (name in first) for kind, first in ((0, caption_first), (1, segment_first))
            }
            texts.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos/{index}_{half}.mp4",
                "question": TEXT_QUESTION.format(a=a, b=b), "GT": "BA"[is_a[0]],
            })  # fmt: skip
            videos.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos_concated/{index}.mp4",
                "question": VIDEO_QUESTION.format(caption=caption), "GT": "BA"[is_a[1]],
            })  # fmt: skip
    return texts, videos
