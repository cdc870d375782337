"""Read Vinoground's release: pairs of counterfactual videos and captions, and the questions about them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.annotations import AnnotatedClip, Annotations, ClipSource, Flaws, Item, Tag, iterate_entries
from reprise.benchmarks.vinoground.clusters import join_pairs
from reprise.benchmarks.vinoground.taxonomy import HALF_TAG, HALVES, LETTERS, MAJOR_CATEGORIES, MINOR_CATEGORIES
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.plain import parse_number
from reprise.core.tabular import find_single_table, read_rows, require_columns

PAIR_FIELDS = ("index", "major", "minor", "pos_cap", "neg_cap")
VIDEO_FIELDS = ("pos_vid", "neg_vid")
SPAN_FIELDS = (*VIDEO_FIELDS, "pos_start", "pos_end", "neg_start", "neg_end")
YOUTUBE_ID = r"(?P<video>[A-Za-z0-9_-]{11})"
YOUTUBE_LINK = re.compile(rf"(?:youtu\.be/|[?&]v=|/embed/|/shorts/){YOUTUBE_ID}(?![A-Za-z0-9_-])")
QUESTION_FIELDS = ("idx", "video_name", "question", "GT")
SEGMENTS = ("First segment (before black frame)", "Second segment (after black frame)")
# The wording of section 4.2 of the paper, for a release without question files.
TEXT_QUESTION = "Which caption best describes this video? A. {a}, B. {b}"
VIDEO_QUESTION = (
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    f"frame. Caption: {{caption}}. A. {SEGMENTS[0]}, B. {SEGMENTS[1]}"
)


class PairQuestion(NamedTuple):
    """One of the four questions about a pair; its texts are empty if the release lacks the question."""

    text: str = ""
    answer: str = ""
    video: str = ""


PairQuestions = dict[tuple[str, str], PairQuestion]
"""(index of a pair, its half `pos` or `neg`) -> question"""


def read_release(files: Sequence[Path], clips: ClipSource, options: Mapping[str, object]) -> Annotations:
    """Build four items per pair: each video with both captions, each caption with the concatenation of both videos.

    Released questions are used unchanged. Without released questions, the paper's wording is filled in, and a seeded
    shuffle of captions and segments makes both answers right equally often.
    """
    if options.get("subset"):
        raise UserError("Vinoground has no subset. Remove `subset` from the suite's entry.")
    flaws = Flaws()
    fields = PAIR_FIELDS if clips == "release" else PAIR_FIELDS + SPAN_FIELDS
    rows = _read_pairs(files, fields, clips, options, flaws)
    seed = options.get("seed", "0")
    text_questions = _read_questions(files, "textscore", rows, flaws) or _generate_questions("text", rows, seed)
    video_questions = _read_questions(files, "videoscore", rows, flaws) or _generate_questions("video", rows, seed)
    clusters = join_pairs({row["index"]: _list_source_videos(row) for row in rows})
    all_clips: list[AnnotatedClip] = []
    items: list[Item] = []
    for row in rows:
        index = row["index"]
        order = _find_segment_order(index, video_questions, flaws)
        concat_id = f"{index}.{'-'.join(order)}"
        half_clips = [
            clip for half in HALVES if (clip := _build_half_clip(row, half, clips, text_questions[index, half].video))
        ]
        # A release may contain the concatenation as a file, which its questions name.
        released_video = video_questions[index, "pos"].video or video_questions[index, "neg"].video
        concat_video = released_video if clips == "release" else ""
        all_clips += half_clips
        if len(half_clips) == len(HALVES):
            all_clips.append(
                AnnotatedClip(concat_id, index, "concat", concat_video, parts=[f"{index}.{half}" for half in order])
            )
        for half in HALVES:
            for task, questions, clip_id in (
                ("text", text_questions, f"{index}.{half}"),
                ("video", video_questions, concat_id),
            ):
                items.append(_build_item(row, half, task, questions[index, half], clip_id, clusters[index], flaws))
    return Annotations(all_clips, items)


def _find_segment_order(index: str, video_questions: PairQuestions, flaws: Flaws) -> tuple[str, ...]:
    """Return the order of the halves in a pair's concatenation, which follows from the answers to its questions.

    Answer A means that the caption describes the first segment. Add a flaw if both captions have the same answer.
    """
    answer_by_half = {half: video_questions[index, half].answer for half in HALVES}
    orders = [
        HALVES if (half == "pos") == (answer == "A") else HALVES[::-1]
        for half, answer in answer_by_half.items()
        if answer
    ]
    if len(set(orders)) > 1:
        flaw = f"both captions have the ground truth '{answer_by_half['pos']}', but only one of them fits that segment"
        flaws.add(f"pair {index}", f"pair {index}", f"videoscore: {flaw}")
    return orders[0] if orders else HALVES


def _read_pairs(
    files: Sequence[Path], fields: Sequence[str], clips: ClipSource, options: Mapping[str, object], flaws: Flaws
) -> list[dict[str, str]]:
    """Return the rows of the table of pairs as field -> text; `options` map fields to columns of the release.

    The source videos are also returned if the table names them.
    """
    column_by_field = {field: str(options.get(field, field)) for field in (*fields, *VIDEO_FIELDS)}
    required_columns = [column_by_field[field] for field in fields]
    path = find_single_table(files, required_columns)
    table = read_rows(path)
    require_columns(table, required_columns, path)
    frame = table.select(
        pl.col(column).cast(pl.String).alias(field)
        for field, column in column_by_field.items()
        if column in table.columns
    )
    rows = []
    for location, row in iterate_entries(frame.with_columns(pl.all().str.strip_chars()), path, "index"):
        rows.append(row)
        may_be_empty = {"major", "minor"}
        if clips == "files":  # An empty span means the whole file.
            spans = [(f"{half}_start", f"{half}_end") for half in HALVES]
            may_be_empty |= {field for span in spans if not any(row[field] for field in span) for field in span}
        for field in fields:
            if not row[field] and field not in may_be_empty:
                flaw = f"'{field}' is empty: half of the pair is missing, and no request that needs it is sent"
                flaws.add(f"pair {row['index']}", location, flaw)
        for kind, categories, allowed in (
            ("major", [row["major"]], MAJOR_CATEGORIES),
            ("minor", _split_minor_categories(row), MINOR_CATEGORIES),
        ):
            for category in categories:
                if category not in allowed:
                    flaw = (
                        f"{kind} category '{category}' is not one of {', '.join(allowed)}; "
                        "the pair counts in none of them"
                    )
                    flaws.add(f"pair {row['index']}", location, flaw)
    return rows


def _list_source_videos(row: Mapping[str, str]) -> list[str]:
    """Return the YouTube ids or names of a pair's source videos, where the table of pairs names them."""
    names = [row[field] for field in VIDEO_FIELDS if row.get(field)]
    return [link["video"] if (link := YOUTUBE_LINK.search(name)) else name for name in names]


def _split_minor_categories(row: Mapping[str, str]) -> list[str]:
    """Return the minor categories of a pair."""
    return [name.strip() for name in row["minor"].split(";") if name.strip()]


def _read_questions(files: Sequence[Path], kind: str, rows: Sequence[Mapping[str, str]], flaws: Flaws) -> PairQuestions:
    """Return the released questions of one kind, or nothing if they are not released.

    The kind is `textscore` (which caption fits a video) or `videoscore` (which segment fits a caption).
    If the question about one half of a pair is missing, its text is empty and a flaw is added.
    """
    path = next((path for path in files if path.name == f"vinoground_{kind}.json"), None)
    if path is None:
        return {}
    indices = {row["index"] for row in rows}
    questions: PairQuestions = {}
    for location, entry in iterate_entries(require_columns(read_rows(path), QUESTION_FIELDS, path), path, "idx"):
        match = re.fullmatch(r"(.+)_(pos|neg)", entry["idx"])
        if match is None or match[1] not in indices:
            raise UserError(f"{location}: idx '{entry['idx']}' is not <index>_pos or <index>_neg of the table's pairs.")
        answer = entry["GT"]
        if answer not in LETTERS:
            flaw = f"{kind}: ground truth '{answer}' is neither A nor B, so every response counts as wrong"
            flaws.add(f"pair {match[1]}", f"{location} ({entry['idx']})", flaw)
        video = str(Path(entry["video_name"]).with_suffix(""))
        questions[match[1], match[2]] = PairQuestion(entry["question"], answer if answer in LETTERS else "", video)
    present_keys = {key for key, question in questions.items() if question.text.strip()}
    for index, half in sorted({(index, half) for index in indices for half in HALVES} - present_keys):
        flaws.add(f"pair {index}", str(path), f"{kind}: no question '{index}_{half}'; its pair counts as missing")
        questions[index, half] = PairQuestion()
    return questions


def _generate_questions(kind: str, rows: Sequence[Mapping[str, str]], seed: object) -> PairQuestions:
    """Generate the paper's questions about captions (`kind` is `text`), or about segments (`video`).

    The positive caption or segment comes first in half of the pairs, which the seed and the pairs' indices select.
    """
    shuffled_indices = sorted((row["index"] for row in rows), key=lambda index: text_digest(f"{kind} {seed}\n{index}"))
    indices_with_pos_first = set(shuffled_indices[: len(rows) // 2])
    questions: PairQuestions = {}
    for row in rows:
        index = row["index"]
        captions = (row["pos_cap"], row["neg_cap"])
        is_pos_first = index in indices_with_pos_first
        a, b = captions if is_pos_first else captions[::-1]
        for half in HALVES:
            caption = row[f"{half}_cap"]
            answer = "A" if (half == "pos") == is_pos_first else "B"
            if kind == "text":
                questions[index, half] = (
                    PairQuestion(TEXT_QUESTION.format(a=a, b=b), answer) if a and b else PairQuestion()
                )
            else:
                questions[index, half] = (
                    PairQuestion(VIDEO_QUESTION.format(caption=caption), answer) if caption else PairQuestion()
                )
    return questions


def _build_half_clip(row: Mapping[str, str], half: str, clips: ClipSource, video: str) -> AnnotatedClip | None:
    """Return one video of a pair: a span of its source, a released file, or a user's file with or without a span.

    Return None if the row names no video, or only one end of its span.
    """
    index, clip_id = row["index"], f"{row['index']}.{half}"
    if clips == "release":
        return AnnotatedClip(clip_id, index, "whole", video or f"vinoground_videos/{index}_{half}")
    name, start, end = (row[f"{half}_{part}"] for part in ("vid", "start", "end"))
    is_whole = clips == "files" and not start and not end
    if not name or not (is_whole or (start and end)):
        return None
    if is_whole:
        return AnnotatedClip(clip_id, index, "whole", name)
    if clips == "ids":
        match = YOUTUBE_LINK.search(name) or re.fullmatch(YOUTUBE_ID, name)
        if match is None:
            raise UserError(
                f"video '{name}' of clip '{clip_id}': expected a YouTube id of 11 characters, or a link with one."
            )
        name = match["video"]
    start_s, end_s = _parse_seconds(start, row[f"{half}_vid"]), _parse_seconds(end, row[f"{half}_vid"])
    if not 0 <= start_s < end_s:
        raise UserError(f"clip '{clip_id}': start {start_s:g} s is not before end {end_s:g} s. Correct its span.")
    return AnnotatedClip(clip_id, index, "trim", name, start_s, end_s)


def _parse_seconds(value: str, video: str) -> float:
    """Parse a time such as `12`, `12.5`, `1:02` or `1:00:02` to seconds."""
    total = 0.0
    for part in value.split(":"):
        seconds = parse_number(part)
        if seconds is None or seconds < 0:
            raise UserError(f"video '{video}': '{value}' is not a time; expected seconds or [h:]m:s.")
        total = total * 60 + seconds
    return total


def _build_item(
    row: Mapping[str, str],
    half: str,
    task: str,
    question: PairQuestion,
    clip_id: str,
    cluster: str,
    flaws: Flaws,
) -> Item:
    """Return the item of one question of a pair."""
    a, b = SEGMENTS if task == "video" else (row["pos_cap"], row["neg_cap"])
    # The answer to a video's question tells whether its own caption is option A or B.
    if task == "text" and (half == "pos") != (question.answer == "A"):
        a, b = b, a
    return Item(
        item_id=f"{row['index']}_{half}/{task}",
        clip_id=clip_id,
        cluster=cluster,
        task=task,
        texts={"question": question.text, "a": a, "b": b, "pos": row["pos_cap"], "neg": row["neg_cap"]},
        answer=question.answer,
        groups=list(
            dict.fromkeys(
                name
                for name in (row["major"], *_split_minor_categories(row))
                if name in (*MAJOR_CATEGORIES, *MINOR_CATEGORIES)
            )
        ),
        tags=[Tag(HALF_TAG, half)],
        flaws=flaws.get(f"pair {row['index']}"),
        pair=row["index"],
    )
