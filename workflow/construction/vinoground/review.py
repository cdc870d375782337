"""Vinoground's review (which video shows a caption, each pair's category), its release and its statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import polars as pl
from human_evaluation.draws import shuffled
from human_evaluation.tasks import Task, as_csv, as_json, counted, read_verdicts
from reprise.benchmarks.vinoground.release import TEXT_QUESTION, VIDEO_QUESTION
from reprise.benchmarks.vinoground.taxonomy import HALVES, MAJOR, MINOR
from reprise.core.names import seconds

from construction.filters import Found, Row, beside, kept, sifted
from construction.review import Reviewed, decided, judged, task_rows
from construction.settings import VinogroundSettings

OF_VIDEOS = ("shows it", "does not show it", "is ambiguous")
_MINORS = list(chain.from_iterable(combinations(MINOR, count) for count in range(len(MINOR) + 1)))
CATEGORIES = tuple(";".join((major, *minors)) for major in MAJOR for minors in _MINORS)
SHOWN = ("text", "video", "caption")
COLUMNS = ("index", "major", "minor", *(f"{half}_{name}" for half in HALVES for name in ("vid", "start", "end", "cap")))


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VinogroundSettings) -> Reviewed:
    """Return the videos with their verdicts, and the remaining tasks."""
    video_tasks = [
        Task(row["sample_id"], OF_VIDEOS, {name: row[name] for name in SHOWN})
        for row in kept(tables["samples"]).iter_rows(named=True)
    ]
    pair_tasks = [  # A pair has one major category, then any number of minor ones.
        Task(f"category/{name}", CATEGORIES, {"text": f"{positive} / {negative}", "video": "", "caption": ""})
        for name, positive, negative in kept(tables["written"]).select("pair", "positive", "negative").iter_rows()
    ]
    all_verdicts = read_verdicts(verdicts)
    # A verdict on a search that is no longer needed is no problem.
    searchable = {_search(pair, half) for pair in tables["written"]["pair"].unique() for half in HALVES}
    votes = counted(
        [*video_tasks, *pair_tasks], [verdict for verdict in all_verdicts if verdict.task_id not in searchable]
    )
    needed = settings.review.votes
    categories = {}  # the most frequent verdict, empty with too few verdicts or with a tie
    for task in pair_tasks:
        ranking = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
        is_agreed = sum(count for _, count in ranking) >= needed and (len(ranking) < 2 or ranking[0][1] > ranking[1][1])
        categories[task.task_id.partition("/")[2]] = ranking[0][0] if is_agreed else ""
    rows = judged(tables["samples"], decided(video_tasks, votes, settings.review))
    reviewed = _one_of_each_half([row | {"category": categories[row["pair"]]} for row in rows])
    # A caption needs a new search if no retrieved video shows it, although all of them have been reviewed.
    waiting = {
        _search(row["pair"], row["half"])
        for row in reviewed
        if row["filter"] not in ("refused", "same_video", "shows_both")
    }
    texts = {_search(row["pair"], row["half"]): row["text"] for row in reviewed}
    searches = [
        Task(name, ("searched",), {"text": text, "video": "", "caption": ""})
        for name, text in texts.items()
        if name not in waiting
    ]
    names = {task.task_id for task in searches}
    searched = counted(searches, [verdict for verdict in all_verdicts if verdict.task_id in names])
    tasks = task_rows([*video_tasks, *pair_tasks], votes, needed) + task_rows(searches, searched, needed)
    return Reviewed(reviewed, votes.said(votes.by_task), tasks, SHOWN, [*votes.problems, *searched.problems])


def _search(pair: str, half: str) -> str:
    return f"search/{pair}/{half}"


def _one_of_each_half(rows: list[Row]) -> list[Row]:
    """Keep the most similar video that shows each caption, in pairs with both halves and a category."""
    shown_counts = Counter((row["pair"], row["video"]) for row in rows if not row["filter"])
    why = "the video shows the other caption of its pair too"  # Such a video would be no negative.
    rows = sifted(rows, {"shows_both": lambda row: why if shown_counts[row["pair"], row["video"]] > 1 else ""})
    first: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if not row["filter"]), key=lambda row: row["rank"]):
        first.setdefault((row["pair"], row["half"]), row["sample_id"])
    lower, alone = "a video with a more similar caption shows it too", "no video shows the other caption"
    filters: dict[str, Found] = {
        "lower_rank": lambda row: lower if first[row["pair"], row["half"]] != row["sample_id"] else "",
        "no_counterpart": lambda row: "" if all((row["pair"], half) in first for half in HALVES) else alone,
        "no_category": lambda row: "" if row["category"] else "people have not agreed on a category",
    }
    return sifted(rows, filters)


def release(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> dict[str, str]:
    """Return the content of the table and of both question files, with pairs in the order of their digests."""
    halves: dict[str, dict[str, Row]] = {}
    for row in sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"]):
        halves.setdefault(row["pair"], {})[row["half"]] = row
    texts, videos = questions(halves, settings.seed)
    rows = []
    for name, pair in halves.items():
        major, *minors = pair["pos"]["category"].split(";")
        line: Row = {"index": int(name, 16), "major": major, "minor": "".join(f"{category};" for category in minors)}
        for half, row in pair.items():
            start, end = ("" if time is None else seconds(time) for time in (row["start_s"], row["end_s"]))
            fields = {"vid": row["source"], "start": start, "end": end, "cap": row["text"]}
            line |= {f"{half}_{column}": text for column, text in fields.items()}
        rows.append(line)
    return {
        "vinoground.csv": as_csv(rows, COLUMNS),
        "vinoground_textscore.json": as_json(texts),
        "vinoground_videoscore.json": as_json(videos),
    }


def questions(pairs: Mapping[str, Mapping[str, Row]], seed: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return two questions of each kind per pair; the positive caption or segment comes first in half of the pairs."""
    # A pair's number depends on its texts alone, so human answers stay valid when other pairs are added or removed.
    texts, videos = [], []
    caption_first, segment_first = (set(shuffled(pairs, seed + kind)[: len(pairs) // 2]) for kind in (0, 1))
    for name, pair in pairs.items():
        index, captions = int(name, 16), [pair[half]["text"].removesuffix(".") for half in HALVES]
        a, b = captions if name in caption_first else captions[::-1]
        for half, caption in zip(HALVES, captions, strict=True):
            is_first = half == "pos"
            texts.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos/{index}_{half}.mp4",
                "question": TEXT_QUESTION.format(a=a, b=b), "GT": "BA"[is_first == (name in caption_first)],
            })  # fmt: skip
            videos.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos_concated/{index}.mp4",
                "question": VIDEO_QUESTION.format(caption=caption), "GT": "BA"[is_first == (name in segment_first)],
            })  # fmt: skip
    return texts, videos


# Table 2: category -> pairs.
TABLE2 = {
    "object": 160, "action": 257, "viewpoint": 83, "interaction": 73, "cyclical": 111, "spatial": 103, "contextual": 63,
}  # fmt: skip
# Appendix L: seconds -> number of videos of at most this length.
LENGTHS = {20: 992, 10: 930}
NOTE = "spans as given; a whole file is not counted"


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    pool, released = kept(tables["pool"]), kept(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    category_counts = Counter(name for category in categories for name in category.split(";"))
    ranks = [float(rank) for rank in tables["samples"]["rank"]]
    lengths = (released["end_s"] - released["start_s"]).to_list()
    short = {most: sum(length is not None and length <= most for length in lengths) for most in LENGTHS}
    return [
        beside("videos of the pool", "all", 9000, pool["video"].n_unique()),
        beside("captions of the pool", "all", 45000, pool.height),
        beside("pairs of captions written", "all", 500, kept(tables["written"]).height, "candidates, before videos"),
        beside("similar captions looked at, a caption", "all", 20, max(ranks, default=None)),
        beside("pairs released", "all", 500, len(categories)),
        beside("videos and captions released", "all", 1000, released.height),
        *(beside("videos by length", f"{most} s or less", LENGTHS[most], short[most], NOTE) for most in LENGTHS),
        *(beside("pairs (Table 2)", name, TABLE2[name], category_counts[name]) for name in (*MAJOR, *MINOR)),
    ]
