"""Write counterfactual pairs as a release of Vinoground: the table and both files of questions."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import write_text

from synthetic.toyworld.counterfactuals import (
    COUNTERFACTUAL_SEED,
    Counterfactual,
    counterfactual_sources,
    counterfactuals,
)
from synthetic.toyworld.generate import EVALUATION_SOURCES, Dice, evaluation_sources
from synthetic.toyworld.script import Part, Source

# Few evaluation sources, for speed. They still give every category at least five pairs.
PAIR_SOURCES = (0, 1, 2, 4, 6, 8, 13, 14)
COLUMNS = (
    *("index", "major", "minor"),
    *("pos_vid", "pos_start", "pos_end", "pos_cap"),
    *("neg_vid", "neg_start", "neg_end", "neg_cap"),
)
# The toy models know few sentences, so caption questions have the wording of their training. Segment questions have
# that of the paper.
TEXT = (
    "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons.\n"
    "Here are two captions that describe the video.\nA) {a}\nB) {b}\n"
    "Based on your observation, select the caption that best describes the video.\nJust print either A or B."
)
VIDEO = (
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    "frame. Caption: {caption}. A. First segment (before black frame), B. Second segment (after black frame)"
)


class PairSpan(NamedTuple):
    """Sources and common time span of both videos of a pair."""

    pos_source: str
    neg_source: str
    start: int
    end: int


def clip_parts(source: Source, number: int, source_count: int) -> list[Part]:
    """Return the clips of a source that have pairs: all clips of a few sources, or one of each in a larger world."""
    parts = [part for part in source.parts if part.is_clip]
    if source_count > EVALUATION_SOURCES:
        return parts[:1]
    return parts if number in PAIR_SOURCES else []


def _pairs(source_count: int) -> list[tuple[PairSpan, Counterfactual]]:
    """Return the pairs of the release, each with the span of its videos."""
    sources = zip(evaluation_sources(source_count), counterfactual_sources(source_count), strict=True)
    return [
        (
            PairSpan(source.source_id, counterfactual_source.source_id, part.start, part.start + part.script.seconds),
            counterfactuals(source_count)[source.clip_id(part)],
        )
        for number, (source, counterfactual_source) in enumerate(sources)
        for part in clip_parts(source, number, source_count)
    ]


def _table(pairs: Sequence[tuple[PairSpan, Counterfactual]]) -> str:
    """Return the released table as csv."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for index, (span, pair) in enumerate(pairs):
        minors = "".join(f"{name};" for name in pair.minors)
        positive_cells = (span.pos_source, span.start, span.end, pair.pos)
        negative_cells = (span.neg_source, span.start, span.end, pair.neg)
        writer.writerow([index, pair.major, minors, *positive_cells, *negative_cells])
    return buffer.getvalue()


def _question(index: int, half: str, video: str, text: str, is_a: bool) -> dict[str, Any]:
    """Return a question in the released format; `half` is the half of the pair (`pos` or `neg`) that it is about."""
    return {"idx": f"{index}_{half}", "video_name": f"{video}.mp4", "question": text, "GT": "A" if is_a else "B"}


def _questions(pairs: Sequence[tuple[PairSpan, Counterfactual]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return two questions of each kind per pair. In half of the pairs, the positive caption or segment is option A."""
    texts: list[dict[str, Any]] = []
    videos: list[dict[str, Any]] = []
    half_count = len(pairs) // 2
    caption_first, segment_first = (
        set(Dice(COUNTERFACTUAL_SEED, 1_000_000 + kind).sample(range(len(pairs)), half_count)) for kind in (0, 1)
    )
    for index, (_, pair) in enumerate(pairs):
        a, b = (pair.pos, pair.neg) if index in caption_first else (pair.neg, pair.pos)
        text_question = TEXT.format(a=a, b=b)
        for half, caption in (("pos", pair.pos), ("neg", pair.neg)):
            is_pos = half == "pos"
            single, joined = f"vinoground_videos/{index}_{half}", f"vinoground_videos_concated/{index}"
            texts.append(_question(index, half, single, text_question, is_pos == (index in caption_first)))
            video_question = VIDEO.format(caption=caption.removesuffix("."))
            videos.append(_question(index, half, joined, video_question, is_pos == (index in segment_first)))
    return texts, videos


def write_release(folder: Path, sources: int = EVALUATION_SOURCES) -> None:
    """Write `vinoground.csv`, `vinoground_textscore.json` and `vinoground_videoscore.json`."""
    pairs = _pairs(sources)
    texts, videos = _questions(pairs)
    write_text(folder / "vinoground.csv", _table(pairs))
    write_text(folder / "vinoground_textscore.json", json.dumps(texts, indent=1) + "\n")
    write_text(folder / "vinoground_videoscore.json", json.dumps(videos, indent=1) + "\n")
