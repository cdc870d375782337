"""Vinoground's release, in the authors' layout: the table and both files of questions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.vinoground.release import TEXT_QUESTION, VIDEO_QUESTION
from reprise.benchmarks.vinoground.taxonomy import HALVES
from reprise.construction.draws import shuffled
from reprise.construction.filters import Row, kept
from reprise.construction.review import as_csv
from reprise.construction.settings import VinogroundSettings
from reprise.core.times import seconds

COLUMNS = (
    "index", "major", "minor", "pos_vid", "pos_start", "pos_end", "pos_cap", "neg_vid", "neg_start", "neg_end",
    "neg_cap",
)  # fmt: skip


def release(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> dict[str, str]:
    """File -> content. Pairs are in the order of their digests, so that a file stays the same."""
    halves: dict[str, dict[str, Row]] = {}
    for row in sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"]):
        halves.setdefault(row["pair"], {})[row["half"]] = row
    pairs = list(halves.values())
    texts, videos = questions(pairs, settings.seed)
    return {
        "vinoground.csv": as_csv([_row(pair) for pair in pairs], COLUMNS),
        "vinoground_textscore.json": json.dumps(texts, indent=1, ensure_ascii=False) + "\n",
        "vinoground_videoscore.json": json.dumps(videos, indent=1, ensure_ascii=False) + "\n",
    }


def index_of(pair: Mapping[str, Row]) -> int:
    """A pair's number, made of its texts: it is the same when other pairs come or go, as people's answers need it."""
    return int(pair["pos"]["pair"], 16)


def _row(pair: Mapping[str, Row]) -> Row:
    major, _, minors = pair["pos"]["category"].partition(";")
    found: Row = {
        "index": index_of(pair),
        "major": major,
        "minor": "".join(f"{one};" for one in minors.split(";") if one),
    }
    for half in HALVES:
        row = pair[half]
        found |= {f"{half}_vid": row["source"], f"{half}_cap": row["text"]}
        times = {name: row[f"{name}_s"] for name in ("start", "end")}
        found |= {f"{half}_{name}": "" if time is None else seconds(time) for name, time in times.items()}
    return found


def questions(pairs: Sequence[Mapping[str, Row]], seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two questions a pair of each kind; in half of the pairs the positive caption, or segment, comes first."""
    texts: list[dict[str, Any]] = []
    videos: list[dict[str, Any]] = []
    names = [pair["pos"]["pair"] for pair in pairs]
    caption_first, segment_first = (set(shuffled(names, seed + kind)[: len(names) // 2]) for kind in (0, 1))
    for name, pair in zip(names, pairs, strict=True):
        index = index_of(pair)
        captions = [pair[half]["text"].removesuffix(".") for half in HALVES]
        a, b = captions if name in caption_first else captions[::-1]
        for half, caption in zip(HALVES, captions, strict=True):
            is_positive = half == "pos"
            texts.append(
                _question(index, half, f"vinoground_videos/{index}_{half}", TEXT_QUESTION.format(a=a, b=b),
                          is_positive == (name in caption_first))
            )  # fmt: skip
            videos.append(
                _question(index, half, f"vinoground_videos_concated/{index}", VIDEO_QUESTION.format(caption=caption),
                          is_positive == (name in segment_first))
            )  # fmt: skip
    return texts, videos


def _question(index: int, half: str, video: str, text: str, is_a: bool) -> dict[str, Any]:
    return {"idx": f"{index}_{half}", "video_name": f"{video}.mp4", "question": text, "GT": "A" if is_a else "B"}
