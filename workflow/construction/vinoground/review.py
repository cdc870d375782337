"""Vinoground's review (which video shows a caption, each pair's category), its release and its statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import polars as pl
from human_evaluation.draws import shuffled
from human_evaluation.tasks import Task, as_csv, as_json, count_votes, read_verdicts
from reprise.benchmarks.vinoground.release import TEXT_QUESTION, VIDEO_QUESTION
from reprise.benchmarks.vinoground.taxonomy import MAJOR_CATEGORIES, MINOR_CATEGORIES, POLARITIES
from reprise.core.names import format_seconds

from construction.filters import Row, RowFilter, apply_filters, kept_rows, statistic_row
from construction.review import ReviewResult, apply_decisions, decide, task_rows
from construction.settings import VinogroundSettings

VIDEO_VERDICTS = ("shows it", "does not show it", "is ambiguous")
_MINORS = list(chain.from_iterable(combinations(MINOR_CATEGORIES, count) for count in range(len(MINOR_CATEGORIES) + 1)))
CATEGORIES = tuple(";".join((major, *minors)) for major in MAJOR_CATEGORIES for minors in _MINORS)
SHOWN_COLUMNS = ("text", "video", "caption")
COLUMNS = (
    "index",
    "major",
    "minor",
    *(f"{half}_{name}" for half in POLARITIES for name in ("vid", "start", "end", "cap")),
)


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VinogroundSettings) -> ReviewResult:
    """Return the videos with their verdicts, and the remaining tasks."""
    video_tasks = [
        Task(row["sample_id"], VIDEO_VERDICTS, {name: row[name] for name in SHOWN_COLUMNS})
        for row in kept_rows(tables["samples"]).iter_rows(named=True)
    ]
    pair_tasks = [  # A pair has one major category, then any number of minor ones.
        Task(f"category/{name}", CATEGORIES, {"text": f"{positive} / {negative}", "video": "", "caption": ""})
        for name, positive, negative in kept_rows(tables["written"]).select("pair", "positive", "negative").iter_rows()
    ]
    all_verdicts = read_verdicts(verdicts)
    # A verdict on a search that is no longer needed is no problem.
    searchable = {_search(pair, half) for pair in tables["written"]["pair"].unique() for half in POLARITIES}
    votes = count_votes(
        [*video_tasks, *pair_tasks], [verdict for verdict in all_verdicts if verdict.task_id not in searchable]
    )
    needed = settings.review.votes
    categories = {}  # the most frequent verdict, empty with too few verdicts or with a tie
    for task in pair_tasks:
        ranking = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
        is_agreed = sum(count for _, count in ranking) >= needed and (len(ranking) < 2 or ranking[0][1] > ranking[1][1])
        categories[task.task_id.partition("/")[2]] = ranking[0][0] if is_agreed else ""
    rows = apply_decisions(tables["samples"], decide(video_tasks, votes, settings.review))
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
    searched = count_votes(searches, [verdict for verdict in all_verdicts if verdict.task_id in names])
    tasks = task_rows([*video_tasks, *pair_tasks], votes, needed) + task_rows(searches, searched, needed)
    return ReviewResult(
        reviewed, votes.verdict_rows(votes.by_task), tasks, SHOWN_COLUMNS, [*votes.problems, *searched.problems]
    )


def _search(pair: str, half: str) -> str:
    return f"search/{pair}/{half}"


def _one_of_each_half(rows: list[Row]) -> list[Row]:
    """Keep the most similar video that shows each caption, in pairs with both halves and a category."""
    shown_counts = Counter((row["pair"], row["video"]) for row in rows if not row["filter"])
    why = "the video also shows the other caption of its pair"  # Such a video would be no negative.
    rows = apply_filters(rows, {"shows_both": lambda row: why if shown_counts[row["pair"], row["video"]] > 1 else ""})
    first: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if not row["filter"]), key=lambda row: row["rank"]):
        first.setdefault((row["pair"], row["half"]), row["sample_id"])
    lower, alone = "a video with a more similar caption also shows it", "no video shows the other caption"
    filters: dict[str, RowFilter] = {
        "lower_rank": lambda row: lower if first[row["pair"], row["half"]] != row["sample_id"] else "",
        "no_counterpart": lambda row: "" if all((row["pair"], half) in first for half in POLARITIES) else alone,
        "no_category": lambda row: "" if row["category"] else "annotators have not agreed on a category",
    }
    return apply_filters(rows, filters)


def release(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> dict[str, str]:
    """Return the content of the table and of both question files, with pairs in the order of their digests."""
    halves: dict[str, dict[str, Row]] = {}
    for row in sorted(kept_rows(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"]):
        halves.setdefault(row["pair"], {})[row["half"]] = row
    texts, videos = questions(halves, settings.seed)
    rows = []
    for name, pair in halves.items():
        major, *minors = pair["pos"]["category"].split(";")
        line: Row = {"index": int(name, 16), "major": major, "minor": "".join(f"{category};" for category in minors)}
        for half, row in pair.items():
            start, end = ("" if time is None else format_seconds(time) for time in (row["start_s"], row["end_s"]))
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
        index, captions = int(name, 16), [pair[half]["text"].removesuffix(".") for half in POLARITIES]
        a, b = captions if name in caption_first else captions[::-1]
        for half, caption in zip(POLARITIES, captions, strict=True):
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
NOTE = "spans as annotated; whole files are not counted"


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    pool, released = kept_rows(tables["pool"]), kept_rows(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    category_counts = Counter(name for category in categories for name in category.split(";"))
    ranks = [float(rank) for rank in tables["samples"]["rank"]]
    lengths = (released["end_s"] - released["start_s"]).to_list()
    short = {most: sum(length is not None and length <= most for length in lengths) for most in LENGTHS}
    return [
        statistic_row("videos of the pool", "all", 9000, pool["video"].n_unique()),
        statistic_row("captions of the pool", "all", 45000, pool.height),
        statistic_row(
            "pairs of captions written", "all", 500, kept_rows(tables["written"]).height, "candidates, before videos"
        ),
        statistic_row("similar captions reviewed per caption", "all", 20, max(ranks, default=None)),
        statistic_row("pairs released", "all", 500, len(categories)),
        statistic_row("videos and captions released", "all", 1000, released.height),
        *(statistic_row("videos by length", f"{most} s or less", LENGTHS[most], short[most], NOTE) for most in LENGTHS),
        *(
            statistic_row("pairs (Table 2)", name, TABLE2[name], category_counts[name])
            for name in (*MAJOR_CATEGORIES, *MINOR_CATEGORIES)
        ),
    ]
