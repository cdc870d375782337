"""Vinoground's review of videos and of pairs' categories, its release and its statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import polars as pl
from human_evaluation.draws import shuffled
from human_evaluation.tasks import Task, as_csv, as_json, count_votes, read_verdicts
from reprise.benchmarks.vinoground.release import TEXT_QUESTION, VIDEO_QUESTION
from reprise.benchmarks.vinoground.taxonomy import HALVES, MAJOR_CATEGORIES, MINOR_CATEGORIES
from reprise.core.names import format_seconds

from construction.filters import Row, RowFilter, apply_filters, kept_rows, statistic_row
from construction.review import ReviewResult, apply_decisions, decide, task_rows
from construction.settings import VinogroundSettings

VIDEO_VERDICTS = ("shows it", "does not show it", "is ambiguous")  # A vote in favour of a video is the first one.
_MINOR_SUBSETS = list(
    chain.from_iterable(combinations(MINOR_CATEGORIES, count) for count in range(len(MINOR_CATEGORIES) + 1))
)
# What annotators choose from: a major category and any minor ones, such as `action;spatial`.
CATEGORIES = tuple(";".join((major, *minors)) for major in MAJOR_CATEGORIES for minors in _MINOR_SUBSETS)
SHOWN_COLUMNS = ("text", "video", "caption")
COLUMNS = (  # the columns of the released table
    "index",
    "major",
    "minor",
    *(f"{half}_{name}" for half in HALVES for name in ("vid", "start", "end", "cap")),
)


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VinogroundSettings) -> ReviewResult:
    """Return the videos with their verdicts, and the open tasks."""
    video_tasks = [
        Task(row["sample_id"], VIDEO_VERDICTS, {name: row[name] for name in SHOWN_COLUMNS})
        for row in kept_rows(tables["samples"]).iter_rows(named=True)
    ]
    pair_tasks = [  # A pair has one major category, then any number of minor ones.
        Task(f"category/{name}", CATEGORIES, {"text": f"{positive} / {negative}", "video": "", "caption": ""})
        for name, positive, negative in kept_rows(tables["written"]).select("pair", "positive", "negative").iter_rows()
    ]
    all_verdicts = read_verdicts(verdicts)
    # Verdicts on searches are counted below. Those on searches that are no longer needed are no problem.
    search_task_ids = {_search_task_id(pair, half) for pair in tables["written"]["pair"].unique() for half in HALVES}
    votes = count_votes(
        [*video_tasks, *pair_tasks], [verdict for verdict in all_verdicts if verdict.task_id not in search_task_ids]
    )
    needed = settings.review.votes
    categories = {}  # pair -> its most frequent verdict; empty for a tie or too few verdicts
    for task in pair_tasks:
        ranking = Counter(votes.by_task.get(task.task_id, {}).values()).most_common(2)
        is_agreed = sum(count for _, count in ranking) >= needed and (len(ranking) < 2 or ranking[0][1] > ranking[1][1])
        categories[task.task_id.removeprefix("category/")] = ranking[0][0] if is_agreed else ""
    rows = apply_decisions(tables["samples"], decide(video_tasks, votes, settings.review))
    reviewed = _keep_best_videos([row | {"category": categories[row["pair"]]} for row in rows])
    # A caption needs a new search if all its retrieved videos have been reviewed and none shows it.
    captions_without_search = {
        _search_task_id(row["pair"], row["half"])
        for row in reviewed
        if row["filter"] not in ("refused", "same_video", "shows_both")
    }
    text_by_search = {_search_task_id(row["pair"], row["half"]): row["text"] for row in reviewed}
    searches = [
        Task(name, ("searched",), {"text": text, "video": "", "caption": ""})
        for name, text in text_by_search.items()
        if name not in captions_without_search
    ]
    search_ids = {task.task_id for task in searches}
    search_votes = count_votes(searches, [verdict for verdict in all_verdicts if verdict.task_id in search_ids])
    tasks = task_rows([*video_tasks, *pair_tasks], votes, needed) + task_rows(searches, search_votes, needed)
    return ReviewResult(
        reviewed, votes.verdict_rows(votes.by_task), tasks, SHOWN_COLUMNS, [*votes.problems, *search_votes.problems]
    )


def _search_task_id(pair: str, half: str) -> str:
    """Return the id of the task to search by hand for a video that shows the caption of this half."""
    return f"search/{pair}/{half}"


def _keep_best_videos(rows: list[Row]) -> list[Row]:
    """Keep the most similar video that shows each caption, in pairs with both halves and a category."""
    shown_counts = Counter((row["pair"], row["video"]) for row in rows if not row["filter"])
    shows_both_reason = "the video also shows the other caption of its pair"  # Such a video would be no negative.
    rows = apply_filters(
        rows, {"shows_both": lambda row: shows_both_reason if shown_counts[row["pair"], row["video"]] > 1 else ""}
    )
    best_sample: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if not row["filter"]), key=lambda row: row["rank"]):
        best_sample.setdefault((row["pair"], row["half"]), row["sample_id"])
    lower_rank_reason = "a video with a more similar caption also shows it"
    no_counterpart_reason = "no video shows the other caption"
    filters: dict[str, RowFilter] = {
        "lower_rank": lambda row: (
            lower_rank_reason if best_sample[row["pair"], row["half"]] != row["sample_id"] else ""
        ),
        "no_counterpart": lambda row: (
            "" if all((row["pair"], half) in best_sample for half in HALVES) else no_counterpart_reason
        ),
        "no_category": lambda row: "" if row["category"] else "annotators have not agreed on a category",
    }
    return apply_filters(rows, filters)


def release(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> dict[str, str]:
    """Return the content of the table and of both question files, with pairs in the order of their digests."""
    halves: dict[str, dict[str, Row]] = {}
    for row in sorted(kept_rows(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"]):
        halves.setdefault(row["pair"], {})[row["half"]] = row
    texts, videos = build_questions(halves, settings.seed)
    rows = []
    for pair_id, pair in halves.items():
        major, *minors = pair["pos"]["category"].split(";")
        table_row: Row = {
            "index": int(pair_id, 16),
            "major": major,
            "minor": "".join(f"{category};" for category in minors),
        }
        for half, row in pair.items():
            start, end = ("" if time is None else format_seconds(time) for time in (row["start_s"], row["end_s"]))
            fields = {"vid": row["source"], "start": start, "end": end, "cap": row["text"]}
            table_row |= {f"{half}_{column}": text for column, text in fields.items()}
        rows.append(table_row)
    return {
        "vinoground.csv": as_csv(rows, COLUMNS),
        "vinoground_textscore.json": as_json(texts),
        "vinoground_videoscore.json": as_json(videos),
    }


def build_questions(pairs: Mapping[str, Mapping[str, Row]], seed: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return two questions of each kind per pair. In half of the pairs, the positive caption or segment comes first."""
    # The index of a pair depends only on its texts: annotators' answers stay valid if other pairs come or go.
    texts, videos = [], []
    # Two seeds choose both halves independently.
    caption_first, segment_first = (set(shuffled(pairs, seed + kind)[: len(pairs) // 2]) for kind in (0, 1))
    for pair_id, pair in pairs.items():
        index, captions = int(pair_id, 16), [pair[half]["text"].removesuffix(".") for half in HALVES]
        caption_a, caption_b = captions if pair_id in caption_first else captions[::-1]
        for half, caption in zip(HALVES, captions, strict=True):
            is_positive = half == "pos"
            is_caption_a = is_positive == (pair_id in caption_first)
            is_segment_a = is_positive == (pair_id in segment_first)
            texts.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos/{index}_{half}.mp4",
                "question": TEXT_QUESTION.format(a=caption_a, b=caption_b),
                "GT": "A" if is_caption_a else "B",
            })  # fmt: skip
            videos.append({
                "idx": f"{index}_{half}", "video_name": f"vinoground_videos_concated/{index}.mp4",
                "question": VIDEO_QUESTION.format(caption=caption), "GT": "A" if is_segment_a else "B",
            })  # fmt: skip
    return texts, videos


# Table 2: category -> number of pairs in the paper's release.
TABLE2 = {
    "object": 160, "action": 257, "viewpoint": 83, "interaction": 73, "cyclical": 111, "spatial": 103, "contextual": 63,
}  # fmt: skip
# Appendix L: maximum length in seconds -> number of videos.
PAPER_VIDEOS_BY_MAX_SECONDS = {20: 992, 10: 930}
LENGTH_NOTE = "spans as annotated; whole files are not counted"


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    """Return the paper's statistics of the data set with the same counts of this construction."""
    pool, released = kept_rows(tables["pool"]), kept_rows(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    category_counts = Counter(name for category in categories for name in category.split(";"))
    ranks = [float(rank) for rank in tables["samples"]["rank"]]
    lengths = (released["end_s"] - released["start_s"]).to_list()
    short_counts = {
        max_seconds: sum(length is not None and length <= max_seconds for length in lengths)
        for max_seconds in PAPER_VIDEOS_BY_MAX_SECONDS
    }
    return [
        statistic_row("videos of the pool", "all", 9000, pool["video"].n_unique()),
        statistic_row("captions of the pool", "all", 45000, pool.height),
        statistic_row(
            "pairs of captions written", "all", 500, kept_rows(tables["written"]).height, "candidates, before videos"
        ),
        statistic_row("similar captions reviewed per caption", "all", 20, max(ranks, default=None)),
        statistic_row("pairs released", "all", 500, len(categories)),
        statistic_row("videos and captions released", "all", 1000, released.height),
        *(
            statistic_row(
                "videos by length",
                f"{max_seconds} s or less",
                PAPER_VIDEOS_BY_MAX_SECONDS[max_seconds],
                short_counts[max_seconds],
                LENGTH_NOTE,
            )
            for max_seconds in PAPER_VIDEOS_BY_MAX_SECONDS
        ),
        *(
            statistic_row("pairs (Table 2)", name, TABLE2[name], category_counts[name])
            for name in (*MAJOR_CATEGORIES, *MINOR_CATEGORIES)
        ),
    ]
