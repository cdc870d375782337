"""Read MMBench-Video's release: questions about long videos, and the images and other videos of its tables."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import AnnotatedClip, Annotations, ClipSource, Flaws, Item, Tag, iterate_entries
from reprise.benchmarks.mmbench_video.taxonomy import (
    BENCHMARK_NAME,
    GROUP_BY_CATEGORY,
    GROUPS_BY_DATA_SET,
    IMAGE_OPTION_LETTERS,
    L1_GROUPS,
    L2_BY_LEAF,
    LEAF_TAG,
    LEAVES_BY_L2,
    MMBENCH,
    MMSTAR,
    OPTION_COUNT_TAG,
    RESERVED_GROUPS,
    ROTATION_STEP,
    SUBTITLED,
)
from reprise.benchmarks.mmbench_video.video_sets import read_video_set
from reprise.core.errors import UserError, suggest_name
from reprise.core.tabular import find_single_table, read_rows, require_columns
from reprise.fetch.release_files import build_source_id, find_image_owner
from reprise.media.subtitles import format_as_prompt, read_vtt

# Image benchmark -> prefix of the file name of its released table.
IMAGE_TABLE_PREFIXES = {MMBENCH: "MMBench_", MMSTAR: "MMStar"}
COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")
IMAGE_COLUMNS = ("index", "question", "image", "answer")
OPTION_SEPARATOR = r"[,\n]\s*"
INLINE_OPTIONS = re.compile(
    rf"(?P<question>.*?)\s*Options:\s*A[:.](?P<A>.*?)(?:{OPTION_SEPARATOR}B[:.](?P<B>.*?)(?:{OPTION_SEPARATOR}C[:.](?P<C>.*?)"
    rf"(?:{OPTION_SEPARATOR}D[:.](?P<D>.*?)(?:{OPTION_SEPARATOR}E[:.].*)?)?)?)?",
    re.DOTALL,
)
"""pattern of a question whose text lists its options; options from E on are ignored"""


def read_release(files: Sequence[Path], clips: ClipSource, options: Mapping[str, object]) -> Annotations:
    """Read `MMBench-Video.tsv` and the `<video>.vtt` subtitles; the videos are released files.

    The release may also contain the image tables of MMBench and MMStar, and manifests `sets/<set>.csv` of other videos.
    """
    if clips == "ids":
        raise UserError("MMBench-Video release: it names no spans, so clips cannot be cut. Use `clips: release`.")
    annotations = [_read_videos(files)]
    for name, prefix in IMAGE_TABLE_PREFIXES.items():
        matches = [path for path in files if path.suffix == ".tsv" and path.name.startswith(prefix)]
        if len(matches) > 1:
            names = ", ".join(path.name for path in matches)
            raise UserError(f"release: expected one table {prefix}*.tsv, found {names}. Remove all but one.")
        annotations += [read_images(path, name) for path in matches]
    annotations += [read_video_set(read_rows(path), path, RESERVED_GROUPS) for path in files if path.suffix == ".csv"]
    all_clips = [clip for table_annotations in annotations for clip in table_annotations.clips]
    all_items = [item for table_annotations in annotations for item in table_annotations.items]
    return Annotations(all_clips, all_items)


def _read_videos(files: Sequence[Path]) -> Annotations:
    """Read the questions about long videos, with the subtitles of their videos."""
    path = find_single_table([file for file in files if file.name.startswith("MMBench-Video")], COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path)
    subtitles = {file.stem: format_as_prompt(read_vtt(file)) for file in files if file.suffix == ".vtt"}
    flaws = Flaws()
    items = [
        _build_item(row, location, flaws, subtitles.get(row["video"], ""))
        for location, row in iterate_entries(rows, path, "index", required=("video",))
    ]
    videos = rows["video"].cast(pl.String).unique(maintain_order=True)
    return Annotations([AnnotatedClip(f"{video}.whole", video, "whole", video) for video in videos], items)


def _build_item(row: Mapping[str, str], location: str, flaws: Flaws, subtitles: str) -> Item:
    """Return the item of a question; a flawed question is logged and counted, and its item stays in the table."""
    try:
        parsed_cell = ast.literal_eval(row["dimensions"])  # literal_eval runs no code from the release.
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed_cell = None
    dimensions = [str(leaf) for leaf in parsed_cell] if isinstance(parsed_cell, list) else []
    leaves = [leaf for leaf in dimensions if leaf in L2_BY_LEAF]
    entry = f"question {row['index']}"
    for column in ("question", "answer"):
        if not row[column].strip():
            flaws.add(entry, location, f"'{column}' is empty, so no request is sent and the item counts as missing")
    for leaf in dimensions:
        if leaf not in L2_BY_LEAF:
            flaws.add(
                entry,
                location,
                f"dimension '{leaf}' is unknown and counts in no group.{suggest_name(leaf, L2_BY_LEAF)}",
            )
    if not dimensions:
        cell = row["dimensions"][:80]
        flaws.add(
            entry,
            location,
            f"dimensions: found {cell!r}, expected a list such as ['OCR']; the question counts only in Overall",
        )
    l2_groups = {L2_BY_LEAF[leaf] for leaf in leaves}
    groups = [BENCHMARK_NAME, *(name for name in LEAVES_BY_L2 if name in l2_groups)]
    groups += [l1_group for l1_group, l1_members in L1_GROUPS.items() if l2_groups & set(l1_members)]
    return Item(
        item_id=row["index"],
        clip_id=f"{row['video']}.whole",
        cluster=row["video"],
        task=row["video_type"],
        texts={"question": row["question"], "subtitles": subtitles},
        answer=row["answer"],
        groups=[*groups, *([SUBTITLED] if subtitles else [])],
        tags=[Tag(LEAF_TAG, leaf) for leaf in leaves],
        flaws=flaws.get(entry),
    )


def read_images(path: Path, data_set: str) -> Annotations:
    """Read multiple-choice questions about images; each image becomes a short clip, and equal images share a clip."""
    rows = read_rows(path)
    # Versions of MMBench spell the column of the coarse categories differently.
    category_columns = [name for name in rows.columns if name.lower().replace("_", "-") == "l2-category"]
    category_column = "category" if data_set == MMSTAR else next(iter(category_columns), "l2-category")
    require_columns(rows, (*IMAGE_COLUMNS, category_column), path)
    clips: dict[str, AnnotatedClip] = {}
    items = []
    flaws = Flaws()
    for row_number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        if data_set == MMBENCH and row["index"].isdigit() and int(row["index"]) >= ROTATION_STEP:
            continue  # Rotations are generated from the first row, so the released ones are skipped.
        cluster = f"{data_set}-{find_image_owner(row['index'], row['image'])}"
        image = build_source_id(path.name, cluster.removeprefix(f"{data_set}-"))
        clips[cluster] = AnnotatedClip(f"{cluster}.still", cluster, "images", parts=[image])
        location = f"{path}: row {row_number} ({row['index']})"
        items.append(_build_image_item(row, row[category_column].strip(), data_set, cluster, location, flaws))
    return Annotations(list(clips.values()), items)


def _build_image_item(
    row: Mapping[str, str], category: str, data_set: str, cluster: str, location: str, flaws: Flaws
) -> Item:
    """Return the item of a question about an image; an invalid category or answer is logged and counted as a flaw."""
    question, options = _split_question(row)
    if len(options) < 2:
        raise UserError(
            f"{location}: found {len(options)} options, expected two to four, in columns A to D or as "
            "`Options: A: ..., B: ...` in the question. Correct the row or remove it."
        )
    answer = row["answer"].strip().upper()
    entry = f"{data_set}/{row['index']}"
    if category.lower() not in GROUP_BY_CATEGORY[data_set]:
        allowed = ", ".join(GROUP_BY_CATEGORY[data_set])
        flaw = f"category '{category}' is not one of {allowed}; the question counts in none of them"
        flaws.add(entry, location, flaw)
    if answer not in options:
        flaw = f"answer '{row['answer']}' is none of the options {', '.join(options)}; every response counts as wrong"
        flaws.add(entry, location, flaw)
    category_group = GROUP_BY_CATEGORY[data_set].get(category.lower())
    overall_group = GROUPS_BY_DATA_SET[data_set][-1]
    return Item(
        item_id=entry,
        clip_id=f"{cluster}.still",
        cluster=cluster,
        task=data_set,
        texts={"question": question, "hint": row.get("hint", "").strip(), **options},
        answer=answer if answer in options else "",
        groups=[data_set, overall_group, *([category_group] if category_group else [])],
        tags=[Tag(OPTION_COUNT_TAG, str(len(options)))],
        flaws=flaws.get(entry),
    )


def _split_question(row: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the question and its options, from columns A to D or from `... Options: A: ..., B: ...` in its text."""
    options = {letter: row[letter].strip() for letter in IMAGE_OPTION_LETTERS if row.get(letter, "").strip()}
    if options:
        return row["question"], options
    match = INLINE_OPTIONS.fullmatch(row["question"])
    if match is None:
        return row["question"], {}
    return match["question"], {
        letter: match[letter].strip() for letter in IMAGE_OPTION_LETTERS if match[letter] is not None
    }
