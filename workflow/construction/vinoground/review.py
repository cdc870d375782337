"""Vinoground's review (which video shows a caption, the category of each pair), its release and its numbers."""

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
    categories = {}  # what most people said; empty where too few said something, or none was said most often
    for task in of_pairs:
        said = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
        is_agreed = sum(count for _, count in said) >= needed and (len(said) < 2 or said[0][1] > said[1][1])
        categories[task.task_id.partition("/")[2]] = said[0][0] if is_agreed else ""
    rows = judged(tables["samples"], decided(of_videos, votes, settings.review))
    reviewed = _one_of_each_half([row | {"category": categories[row["pair"]]} for row in rows])
    # Captions that no video shows although people have looked at all that were found.
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
    searched = counted(searches, [one for one in given if one.task_id in names])
    tasks = task_rows([*of_videos, *of_pairs], votes, needed) + task_rows(searches, searched, needed)
    return Reviewed(reviewed, votes.said(votes.by_task), tasks, SHOWN, [*votes.problems, *searched.problems])


def _search(pair: str, half: str) -> str:
    return f"search/{pair}/{half}"


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
    rows = []
    for name, pair in halves.items():
        major, *minors = pair["pos"]["category"].split(";")
        line: Row = {"index": int(name, 16), "major": major, "minor": "".join(f"{one};" for one in minors)}
        for half, one in pair.items():
            start, end = ("" if time is None else seconds(time) for time in (one["start_s"], one["end_s"]))
            own = {"vid": one["source"], "start": start, "end": end, "cap": one["text"]}
            line |= {f"{half}_{column}": text for column, text in own.items()}
        rows.append(line)
    return {
        "vinoground.csv": as_csv(rows, COLUMNS),
        "vinoground_textscore.json": as_json(texts),
        "vinoground_videoscore.json": as_json(videos),
    }


def questions(pairs: Mapping[str, Mapping[str, Row]], seed: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """Two questions a pair of each kind; in half of the pairs the positive caption, or segment, comes first."""
    # A pair's number is made of its texts: the same when other pairs come or go, as people's answers need it.
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
# Appendix L: seconds -> videos of at most so many.
LENGTHS = {20: 992, 10: 930}
NOTE = "spans as given; a whole file is not counted"


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    pool, released = kept(tables["pool"]), kept(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    named = Counter(name for category in categories for name in category.split(";"))
    ranks = [float(rank) for rank in tables["samples"]["rank"]]
    lengths = (released["end_s"] - released["start_s"]).to_list()
    short = {most: sum(one is not None and one <= most for one in lengths) for most in LENGTHS}
    return [
        beside("videos of the pool", "all", 9000, pool["video"].n_unique()),
        beside("captions of the pool", "all", 45000, pool.height),
        beside("pairs of captions written", "all", 500, kept(tables["written"]).height, "candidates, before videos"),
        beside("similar captions looked at, a caption", "all", 20, max(ranks, default=None)),
        beside("pairs released", "all", 500, len(categories)),
        beside("videos and captions released", "all", 1000, released.height),
        *(beside("videos by length", f"{most} s or less", LENGTHS[most], short[most], NOTE) for most in LENGTHS),
        *(beside("pairs (Table 2)", name, TABLE2[name], named[name]) for name in (*MAJOR, *MINOR)),
    ]
