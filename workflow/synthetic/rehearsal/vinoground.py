"""Write a release of Vinoground with the paper's numbers of pairs (Table 2)."""

import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import write_text

from synthetic.rehearsal.words import SEED, clause, identifier, story
from synthetic.toyworld.generate import Dice

COLUMNS = (
    *("index", "major", "minor"),
    *("pos_vid", "pos_start", "pos_end", "pos_cap"),
    *("neg_vid", "neg_start", "neg_end", "neg_cap"),
)
# Category -> number of pairs. Each pair has one major category and any number of minor ones.
MAJORS = {"object": 160, "action": 257, "viewpoint": 83}
MINORS = {"interaction": 73, "cyclical": 111, "spatial": 103, "contextual": 63}
# The authors' questions of the text and of the video score.
TEXT = "Which caption best describes this video? A. {a}, B. {b}"
VIDEO = (
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    "frame. Caption: {caption}. A. First segment (before black frame), B. Second segment (after black frame)"
)


class Pair(NamedTuple):
    """Categories and captions of a pair, and whether the positive caption and segment are option A."""

    major: str
    minors: tuple[str, ...]
    pos: str
    neg: str
    is_caption_first: bool
    is_segment_first: bool


def build_pairs() -> list[Pair]:
    """Return the pairs of the release."""
    dice = Dice(SEED, 2)
    majors = dice.shuffled([major for major, count in MAJORS.items() for _ in range(count)])
    indices = range(len(majors))
    members = {minor: set(dice.sample(indices, count)) for minor, count in MINORS.items()}
    caption_first, segment_first = (set(dice.sample(indices, len(majors) // 2)) for _ in range(2))
    pair_list = []
    for index, major in enumerate(majors):
        first, second = clause(dice), clause(dice)
        minors = tuple(minor for minor, pair_indices in members.items() if index in pair_indices)
        texts = (story([first, second]), story([second, first]))
        pair_list.append(Pair(major, minors, *texts, index in caption_first, index in segment_first))
    return pair_list


def _row(index: int, pair: Pair) -> list[object]:
    """Return the row of a pair in `vinoground.csv`; both invented videos last from 0 to 5 s."""
    minors = "".join(f"{name};" for name in pair.minors)
    videos = [[identifier("vinoground", index, half), 0, 5] for half in ("pos", "neg")]
    return [index, pair.major, minors, *videos[0], pair.pos, *videos[1], pair.neg]


def _question(index: int, half: str, video: str, text: str, is_a: bool) -> dict[str, Any]:
    """Return a question in the released format; `is_a` states whether A is the right option."""
    return {"idx": f"{index}_{half}", "video_name": f"{video}.mp4", "question": text, "GT": "A" if is_a else "B"}


def _text_questions(index: int, pair: Pair) -> list[dict[str, Any]]:
    """Return a question per video of the pair: which caption fits it?"""
    a, b = (pair.pos, pair.neg) if pair.is_caption_first else (pair.neg, pair.pos)
    return [
        _question(
            index, half, f"vinoground_videos/{index}_{half}", TEXT.format(a=a, b=b), is_pos == pair.is_caption_first
        )
        for half, is_pos in (("pos", True), ("neg", False))
    ]


def _video_questions(index: int, pair: Pair) -> list[dict[str, Any]]:
    """Return a question per caption of the pair: which segment of the joined video fits it?"""
    texts = (("pos", pair.pos, True), ("neg", pair.neg, False))
    return [
        _question(
            index,
            half,
            f"vinoground_videos_concated/{index}",
            VIDEO.format(caption=text),
            is_pos == pair.is_segment_first,
        )
        for half, text, is_pos in texts
    ]


def write_release(folder: Path) -> None:
    """Write `vinoground.csv`, `vinoground_textscore.json` and `vinoground_videoscore.json`."""
    numbered_pairs = list(enumerate(build_pairs()))
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *(_row(index, pair) for index, pair in numbered_pairs)])
    write_text(folder / "vinoground.csv", buffer.getvalue())
    for kind, build_questions in (("textscore", _text_questions), ("videoscore", _video_questions)):
        questions = [question for index, pair in numbered_pairs for question in build_questions(index, pair)]
        write_text(folder / f"vinoground_{kind}.json", json.dumps(questions, indent=1) + "\n")
