"""Read TemporalBench's release: questions about short and long videos, captions, and option sets built from them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from reprise.benchmarks.annotations import (
    AnnotatedClip,
    Annotations,
    ClipSource,
    Flaws,
    Item,
    group_by_key,
    iterate_entries,
)
from reprise.benchmarks.temporalbench.option_sets import CAPTION_NAMES, build_set_captions, caption_pair
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES, CENTRAL, DATASETS
from reprise.core.errors import UserError
from reprise.core.tabular import read_rows, require_columns

# Task -> part of the name of its file.
FILE_NAME_PARTS = {"short": "short_qa", "long": "long_qa", "caption": "short_caption"}
OPTION_SETS_NAME_PART = "_central"
"""part of the name of a file with option sets, which only some releases contain"""
COLUMNS = ("idx", "video_name", "question", "GT")
QUESTION = re.compile(r"\nA\. ?(?P<a>.*?)\s*\nB\. ?(?P<b>.*?)\s*\nAnswer with the option's letter", re.DOTALL)
VIDEO = re.compile(r"^(?:(?:short|long)_video/)?(?P<name>.+)\.\w+$")
SPAN = re.compile(r"^(?P<source>.+)_start_(?P<start>\d+(?:\.\d+)?)_end_(?P<end>\d+(?:\.\d+)?)$")


def read_release(files: Sequence[Path], clips: ClipSource, options: Mapping[str, object]) -> Annotations:
    """Read the three released files, and build option sets from the questions about short videos."""
    clips_by_id: dict[str, AnnotatedClip] = {}
    items: list[Item] = []
    flaws = Flaws()
    paths: dict[str, Path] = {}
    for task, name_part in FILE_NAME_PARTS.items():
        matches = [path for path in files if name_part in path.name]
        if len(matches) != 1:
            names = ", ".join(path.name for path in files) or "nothing"
            raise UserError(
                f"release: expected one file named *{name_part}*, found {len(matches)} in {names}. "
                "Keep one file per task."
            )
        paths[task] = matches[0]
    for task, path in paths.items():
        for location, row in iterate_entries(_read_entries(path, task), path, "idx"):
            clip = _build_clip(row["video_name"], task, location, clips)
            clips_by_id[clip.clip_id] = clip
            items.append(_build_item(row, task, clip, location, flaws, clips))
    option_set_paths = [path for path in files if OPTION_SETS_NAME_PART in path.name]
    return Annotations(list(clips_by_id.values()), [*items, *_iter_option_set_items(items, option_set_paths, clips)])


def _read_entries(path: Path, task: str) -> pl.DataFrame:
    """Return the entries of a file with the columns `dataset` and `category`, which some releases name differently.

    A generated release may contain a file without entries, and therefore without columns.
    """
    rows = read_rows(path)
    if "dataset" not in rows.columns and "source_dataset" in rows.columns:
        rows = rows.rename({"source_dataset": "dataset"})
    if task == "caption" and "dataset" not in rows.columns:
        rows = rows.with_columns(dataset=pl.lit(""))
    if task != "short":
        rows = rows.with_columns(category=pl.lit(""))
    return _select_columns(rows, (*COLUMNS, "dataset", "category"), path)


def _select_columns(rows: pl.DataFrame, required: Sequence[str], path: Path) -> pl.DataFrame:
    """Return the required columns as text; a file without entries gets empty columns."""
    if rows.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(required, pl.String))
    return require_columns(rows, required, path).cast(pl.String)


def _build_clip(video_name: str, task: str, location: str, clips: ClipSource) -> AnnotatedClip:
    """Return the clip that a file name describes. Clips share a cluster if their names give the same source video."""
    video = VIDEO.match(video_name)
    if video is None:
        raise UserError(f"{location}: video_name '{video_name}' is not the name of a video file. Correct it.")
    name = video["name"]
    length = "long" if task == "long" else "short"
    span = SPAN.match(name)
    if span is None and clips == "ids":
        raise UserError(
            f"{location}: video_name '{video_name}' does not end in _start_<s>_end_<s>, so it cannot be cut from "
            "its source. Use `clips: release` in the suite to use the released files."
        )
    if span is None:
        return AnnotatedClip(f"{name}.{length}", name, "whole", video_name if clips == "release" else Path(name).name)
    cluster, start, end = span["source"], span["start"], span["end"]
    clip_id = f"{cluster}.{length}-{start}-{end}"
    if clips == "release":
        return AnnotatedClip(clip_id, cluster, "whole", video_name)
    kind: Literal["segment", "trim"] = "segment" if length == "long" else "trim"
    return AnnotatedClip(clip_id, cluster, kind, Path(cluster).name, float(start), float(end))


def _build_item(
    row: Mapping[str, str], task: str, clip: AnnotatedClip, location: str, flaws: Flaws, clips: ClipSource
) -> Item:
    """Return the item of an entry; a flawed entry is logged and counted, and its item stays in the table.

    Users' own clips (`files`) need not belong to one of the paper's data sets.
    """
    dataset = row["dataset"].lower()
    category = CATEGORIES.get(row["category"])
    answer = row["GT"] if task == "caption" else row["GT"].strip().upper()
    texts = {"question": row["question"]}
    option_match = QUESTION.search(row["question"])
    if task != "caption" and option_match is not None:
        texts |= {"A": option_match["a"], "B": option_match["b"]}
    entry_flaws = []
    if task != "caption" and answer not in ("A", "B"):
        entry_flaws.append(f"ground truth '{row['GT']}' is neither A nor B, so every response counts as wrong")
    if task == "caption" and not answer.strip():
        entry_flaws.append("the reference caption is empty")
    if task == "short" and not category:
        entry_flaws.append(
            f"category '{row['category']}' is not one of {', '.join(CATEGORIES)}; it counts in no category"
        )
    if task != "caption" and clips != "files" and dataset not in DATASETS:
        entry_flaws.append(
            f"data set '{row['dataset']}' is not one of {', '.join(DATASETS)}; it counts in none of them"
        )
    for flaw in entry_flaws:
        flaws.add(row["idx"], f"{location} ({row['idx']})", flaw)
    groups = [task, *([dataset] if dataset in DATASETS else []), *([category] if category else [])]
    return Item(
        item_id=f"{task}/{row['idx']}",
        clip_id=clip.clip_id,
        cluster=clip.cluster,
        task=task,
        texts=texts,
        answer=answer if task == "caption" or answer in ("A", "B") else "",
        groups=groups,
        flaws=flaws.get(row["idx"]),
    )


def _iter_option_set_items(
    items: Sequence[Item], option_set_paths: Sequence[Path], clips: ClipSource
) -> Iterator[Item]:
    """Yield the items with option sets, from a file of the release if it has one.

    The authors' release has no such file. A short video then gets an item if its negatives combine to both option sets.
    """
    for path in option_set_paths:
        rows = _select_columns(read_rows(path), ("video_name", *CAPTION_NAMES), path)
        for entry_number, row in enumerate(rows.iter_rows(named=True), start=1):
            clip = _build_clip(row["video_name"], "short", f"{path}: entry {entry_number}", clips)
            yield _build_option_set_item(clip.clip_id, clip.cluster, {name: row[name] for name in CAPTION_NAMES})
    if option_set_paths:
        return
    short_items = [item for item in items if item.task == "short"]
    for clip_id, clip_items in group_by_key(short_items, lambda item: item.clip_id).items():
        pairs = [pair for item in clip_items if (pair := caption_pair(item)) is not None]
        caption = pairs[0][0] if pairs else ""
        texts = build_set_captions(caption, [negative for positive, negative in pairs if positive == caption])
        if texts is not None:
            yield _build_option_set_item(clip_id, clip_items[0].cluster, texts)


def _build_option_set_item(clip_id: str, cluster: str, texts: Mapping[str, str]) -> Item:
    """Return the item whose texts are the captions of both option sets."""
    return Item(f"{CENTRAL}/{clip_id}", clip_id, cluster, CENTRAL, texts, texts["c"], groups=[CENTRAL])
