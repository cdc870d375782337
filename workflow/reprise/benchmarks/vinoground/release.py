"""Vinoground's release: pairs of counterfactual videos and captions, and the questions about them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.clip_ids import own as own_span
from reprise.benchmarks.clip_ids import vinoground as segment_of
from reprise.benchmarks.flaws import Flaws, entries_of
from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Item, Tag
from reprise.benchmarks.vinoground.taxonomy import HALF, HALVES, LETTERS, MAJOR, MINOR
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.tabular import only_table, read_rows, require_columns

FIELDS = ("index", "major", "minor", "pos_cap", "neg_cap")
SPANS = ("pos_vid", "pos_start", "pos_end", "neg_vid", "neg_start", "neg_end")
QUESTION_FIELDS = ("idx", "video_name", "question", "GT")
SEGMENTS = ("First segment (before black frame)", "Second segment (after black frame)")
# Section 4.2 of the paper, for a release without its question files.
TEXT_QUESTION = "Which caption best describes this video? A. {a}, B. {b}"
VIDEO_QUESTION = (
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    f"frame. Caption: {{caption}}. A. {SEGMENTS[0]}, B. {SEGMENTS[1]}"
)


class Question(NamedTuple):
    """One of a pair's four questions; empty texts where the release does not have it."""

    text: str = ""
    answer: str = ""
    video: str = ""


Questions = dict[tuple[str, str], Question]
"""(index, half) -> question"""


def read_release(files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
    """Four items per pair: each video with both captions, each caption with the concatenation of both videos.

    Released questions are used as they are. Without them the paper's wording is filled in, captions and segments in a
    seeded order in which both answers are right equally often.
    """
    if options.get("subset"):
        raise UserError("Vinoground has no subset: remove `subset` from the suite's entry.")
    flaws = Flaws()
    rows = _rows(files, FIELDS + (() if clips == "release" else SPANS), clips, options, flaws)
    written_text, written_video = _written(rows, str(options.get("seed", "0")))
    text = _released(files, "textscore", rows, flaws) or written_text
    video = _released(files, "videoscore", rows, flaws) or written_video
    found: list[Clip] = []
    items: list[Item] = []
    for row in rows:
        index = row["index"]
        order = _segments(index, video, flaws)
        joined = f"{index}.{'-'.join(order)}"
        halves = [
            _half_clip(row, half, clips, text[index, half].video) for half in HALVES if _has_video(row, half, clips)
        ]
        ready = "" if clips != "release" else video[index, "pos"].video or video[index, "neg"].video
        found += halves
        if len(halves) == len(HALVES):
            found.append(Clip(joined, index, "concat", ready, parts=[f"{index}.{half}" for half in order]))
        for half in HALVES:
            items.append(_item(row, half, "text", text[index, half], f"{index}.{half}", flaws))
            items.append(_item(row, half, "video", video[index, half], joined, flaws))
    return Annotations(found, items)


def _rows(
    files: Sequence[Path], fields: Sequence[str], clips: ClipsFrom, options: Mapping[str, object], flaws: Flaws
) -> list[dict[str, str]]:
    """The table's rows under our names; the specification says what a release calls its columns."""
    names = {str(options.get(field, field)): field for field in fields}
    path = only_table(files, list(names))
    frame = require_columns(read_rows(path), list(names), path).rename(names).cast(pl.String)
    rows = []
    for where, row in entries_of(frame.with_columns(pl.all().str.strip_chars()), path, "index"):
        rows.append(row)
        for field in fields:
            if field not in ("major", "minor") and not row[field] and not _is_whole(row, field, clips):
                flaw = f"'{field}' is empty: half of the pair is missing, and what needs it is not asked"
                flaws.add(f"pair {row['index']}", where, flaw)
        for kind, found, known in (("major", [row["major"]], MAJOR), ("minor", _minors(row), MINOR)):
            for name in found:
                if name not in known:
                    flaw = f"{kind} category '{name}' is not one of {', '.join(known)}; the pair counts in none of them"
                    flaws.add(f"pair {row['index']}", where, flaw)
    return rows


def _has_video(row: Mapping[str, str], half: str, clips: ClipsFrom) -> bool:
    """Whether a half's video can be made: one that is cut from its source needs its span."""
    fields = (f"{half}_{part}" for part in ("vid", "start", "end"))
    return clips == "release" or all(row[field] or _is_whole(row, field, clips) for field in fields)


def _is_whole(row: Mapping[str, str], field: str, clips: ClipsFrom) -> bool:
    """Whether a field is one of an empty span, which stands for the whole of a file of one's own."""
    half, _, part = field.partition("_")
    return clips == "files" and part in ("start", "end") and not row[f"{half}_start"] and not row[f"{half}_end"]


def _minors(row: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in row["minor"].split(";") if name.strip()]


def _released(files: Sequence[Path], kind: str, rows: Sequence[Mapping[str, str]], flaws: Flaws) -> Questions:
    """The released questions of one kind; empty where the release has none. A missing half is named, and kept."""
    path = next((path for path in files if path.name == f"vinoground_{kind}.json"), None)
    if path is None:
        return {}
    known = {row["index"] for row in rows}
    found: Questions = {}
    for where, entry in entries_of(require_columns(read_rows(path), QUESTION_FIELDS, path), path, "idx"):
        match = re.fullmatch(r"(.+)_(pos|neg)", entry["idx"])
        if match is None or match[1] not in known:
            raise UserError(f"{where}: idx '{entry['idx']}' is not <index>_pos or <index>_neg of the table's pairs.")
        answer = entry["GT"]
        if answer not in LETTERS:
            flaw = f"{kind}: ground truth '{answer}' is neither A nor B, so no answer to it is right"
            flaws.add(f"pair {match[1]}", f"{where} ({entry['idx']})", flaw)
        video = str(Path(entry["video_name"]).with_suffix(""))
        found[match[1], match[2]] = Question(entry["question"], answer if answer in LETTERS else "", video)
    asked = {place for place, question in found.items() if question.text.strip()}
    for place in sorted({(index, half) for index in known for half in HALVES} - asked):
        flaws.add(f"pair {place[0]}", str(path), f"{kind}: no question '{'_'.join(place)}'; its pair counts as missing")
        found[place] = Question()
    return found


def _written(rows: Sequence[Mapping[str, str]], seed: str) -> tuple[Questions, Questions]:
    """The paper's questions about captions and about segments; in half of the pairs the positive one comes first."""
    text: Questions = {}
    video: Questions = {}

    def drawn_half(kind: str) -> set[str]:
        """By seed and index alone."""
        ordered = sorted((row["index"] for row in rows), key=lambda index: text_digest(f"{kind} {seed}\n{index}"))
        return set(ordered[: len(rows) // 2])

    caption_first, segment_first = drawn_half("text"), drawn_half("video")
    for row in rows:
        index = row["index"]
        captions = (row["pos_cap"], row["neg_cap"])
        a, b = captions if index in caption_first else captions[::-1]
        for half in HALVES:
            caption = row[f"{half}_cap"]
            is_pos = half == "pos"
            letters = [LETTERS[is_pos != (index in first)] for first in (caption_first, segment_first)]
            text[index, half] = Question(TEXT_QUESTION.format(a=a, b=b), letters[0]) if a and b else Question()
            asked = VIDEO_QUESTION.format(caption=caption)
            video[index, half] = Question(asked, letters[1]) if caption else Question()
    return text, video


def _segments(index: str, questions: Questions, flaws: Flaws) -> tuple[str, str]:
    """The halves in the order of the concatenation, by the ground truth of the questions about it."""
    asked = [(half, questions[index, half].answer) for half in HALVES if questions[index, half].answer]
    orders = [HALVES if (half == "pos") == (answer == "A") else HALVES[::-1] for half, answer in asked] or [HALVES]
    if len(set(orders)) > 1:
        flaw = (
            f"videoscore: both captions have the ground truth '{asked[0][1]}', but only one of them fits that segment"
        )
        flaws.add(f"pair {index}", f"pair {index}", flaw)
    return orders[0]


def _half_clip(row: Mapping[str, str], half: str, clips: ClipsFrom, video: str) -> Clip:
    """One video of a pair: cut from its source, the released file, or a file of one's own, cut where it has a span."""
    index, clip_id = row["index"], f"{row['index']}.{half}"
    if clips == "release":
        return Clip(clip_id, index, "whole", video or f"vinoground_videos/{index}_{half}")
    name, start, end = (row[f"{half}_{part}"] for part in ("vid", "start", "end"))
    if clips == "files" and not start:
        return Clip(clip_id, index, "whole", name)
    span = own_span(name, start, end) if clips == "files" else segment_of(name, start, end)
    return Clip(clip_id, index, "trim", span.video, span.start_s, span.end_s)


def _item(row: Mapping[str, str], half: str, task: str, question: Question, clip_id: str, flaws: Flaws) -> Item:
    a, b = SEGMENTS if task == "video" else (row["pos_cap"], row["neg_cap"])
    if task == "text" and (half == "pos") != (question.answer == "A"):
        a, b = b, a
    return Item(
        item_id=f"{row['index']}_{half}/{task}",
        clip_id=clip_id,
        unit=row["index"],
        task=task,
        texts={"question": question.text, "a": a, "b": b, "pos": row["pos_cap"], "neg": row["neg_cap"]},
        answer=question.answer,
        groups=list(dict.fromkeys(name for name in (row["major"], *_minors(row)) if name in (*MAJOR, *MINOR))),
        tags=[Tag(HALF, half)],
        flaws=flaws.of(f"pair {row['index']}"),
    )
