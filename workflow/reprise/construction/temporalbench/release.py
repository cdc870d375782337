"""TemporalBench's release, in the authors' layout; and the captions of Table 4, which the authors did not release."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.temporalbench.option_sets import SET_NAMES
from reprise.construction.draws import rank, shuffled
from reprise.construction.filters import Row, kept
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.long_videos import LongVideo, long_videos
from reprise.construction.temporalbench.negatives import CENTRAL
from reprise.construction.temporalbench.option_sets import option_sets
from reprise.core.times import seconds

# The last line is the authors'; what stands before the captions is ours.
QUESTION = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
EXAMPLES = 3
"""captions of other videos in a question for a caption (section 4.4)"""
CAPTION = "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\nDescribe this video in the same style."
Entry = dict[str, Any]


def release(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> dict[str, str]:
    """File -> content. Clips and negatives are in the order of their names, so that a file stays the same."""
    rows = sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"])
    by_clip: dict[str, list[Row]] = {}
    for row in rows:
        if row["level"] != CENTRAL:
            by_clip.setdefault(row["clip"], []).append(row)
    files = {
        "temporalbench_short_qa.json": with_letters(_short(by_clip.values()), settings.seed),
        "temporalbench_long_qa.json": with_letters(_long(long_videos(tables["reviewed"], settings)), settings.seed),
        "temporalbench_short_caption.json": list(_captions(by_clip, settings)),
        "temporalbench_central.json": list(_central(rows)),
    }
    return {name: json.dumps(entries, indent=1, ensure_ascii=False) + "\n" for name, entries in files.items()}


def short_name(row: Mapping[str, Any]) -> str:
    """A clip's file, as the authors name it."""
    return _name("short_video", row["dataset"], row["video"], row["start_s"], row["end_s"])


def _name(folder: str, dataset: str, video: str, start_s: float, end_s: float) -> str:
    return f"{folder}/{dataset}/{video}_start_{seconds(start_s)}_end_{seconds(end_s)}.mp4"


def _short(clips: Iterable[Sequence[Row]]) -> Iterator[Entry]:
    for rows in clips:
        for number, row in enumerate(rows):
            name = short_name(row)
            yield {
                "idx": f"{name}_{number}", "video_name": name, "dataset": row["dataset"], "category": row["category"],
                "captions": (row["caption"], row["negative"]),
            }  # fmt: skip


def _long(videos: Iterable[LongVideo]) -> Iterator[Entry]:
    for one in videos:
        name = _name("long_video", one.dataset, one.video, one.start_s, one.end_s)
        for number, negative in enumerate(one.negatives):
            yield {
                "idx": f"{name}_{number}", "video_name": name, "dataset": one.dataset,
                "captions": (one.caption, negative),
            }  # fmt: skip


def with_letters(entries: Iterable[Entry], seed: int) -> list[Entry]:
    """The questions; the true caption is A in half of them, drawn by the seed."""
    listed = list(entries)
    first = set(shuffled([one["idx"] for one in listed], seed)[: len(listed) // 2])
    found = []
    for one in listed:
        caption, negative = one.pop("captions")
        is_first = one["idx"] in first
        shown = (caption, negative) if is_first else (negative, caption)
        found.append(one | {"question": QUESTION.format(*shown), "GT": "A" if is_first else "B"})
    return found


def _captions(by_clip: Mapping[str, Sequence[Row]], settings: TemporalBenchSettings) -> Iterator[Entry]:
    """A caption is asked of what people described, with captions of three other videos."""
    asked = {clip: rows[0] for clip, rows in by_clip.items() if rows[0]["dataset"] not in settings.described}
    for clip, row in asked.items():
        others = sorted((one for one in asked if one != clip), key=lambda one: rank(settings.seed, clip, one))
        if len(others) >= EXAMPLES:
            name = short_name(row)
            examples = [asked[one]["caption"] for one in others[:EXAMPLES]]
            yield {
                "idx": name, "video_name": name, "dataset": row["dataset"], "question": CAPTION.format(*examples),
                "GT": row["caption"],
            }  # fmt: skip


def _central(rows: Sequence[Row]) -> Iterator[Entry]:
    """Six captions of each clip that has an option set."""
    for row, texts in option_sets(rows):
        name = short_name(row)
        yield {"idx": name, "video_name": name} | dict(zip(SET_NAMES, texts, strict=True))
