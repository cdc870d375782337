"""TemporalBench's release: questions about short and long videos, captions, and option sets made of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Flaws, Item, entries_of, grouped
from reprise.benchmarks.temporalbench.option_sets import SET_NAMES, caption_pair, captions_of
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES, CENTRAL, DATASETS
from reprise.core.errors import UserError
from reprise.core.tabular import read_rows, require_columns

# Task -> a part of its file's name.
FILES = {"short": "short_qa", "long": "long_qa", "caption": "short_caption"}
GIVEN_SETS = "_central"
"""part of the name of a file of option sets, where a release has one"""
COLUMNS = ("idx", "video_name", "question", "GT")
QUESTION = re.compile(r"\nA\. ?(?P<a>.*?)\s*\nB\. ?(?P<b>.*?)\s*\nAnswer with the option's letter", re.DOTALL)
VIDEO = re.compile(r"^(?:(?:short|long)_video/)?(?P<name>.+)\.\w+$")
SPAN = re.compile(r"^(?P<source>.+)_start_(?P<start>\d+(?:\.\d+)?)_end_(?P<end>\d+(?:\.\d+)?)$")


def read_release(files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
    """Read the three released files, and make option sets of the questions about short videos."""
    found: dict[str, Clip] = {}
    items: list[Item] = []
    flaws = Flaws()
    paths: dict[str, Path] = {}
    for task, mark in FILES.items():
        fitting = [path for path in files if mark in path.name]
        if len(fitting) != 1:
            names = ", ".join(path.name for path in files) or "nothing"
            raise UserError(f"release: expected one file named *{mark}*, found {len(fitting)} in {names}.")
        paths[task] = fitting[0]
    for task, path in paths.items():
        for where, row in entries_of(_rows(path, task), path, "idx"):
            clip = _clip(row["video_name"], task, where, clips)
            found[clip.clip_id] = clip
            items.append(_item(row, task, clip, where, flaws, clips))
    given = [path for path in files if GIVEN_SETS in path.name]
    return Annotations(list(found.values()), [*items, *_central_items(items, given, clips)])


def _rows(path: Path, task: str) -> pl.DataFrame:
    """The entries of a file with `dataset` and `category`, whatever the release calls the first.

    A release that was made here may have no entries of a task, and then no columns.
    """
    rows = read_rows(path)
    if "dataset" not in rows.columns and "source_dataset" in rows.columns:
        rows = rows.rename({"source_dataset": "dataset"})
    if task == "caption" and "dataset" not in rows.columns:
        rows = rows.with_columns(dataset=pl.lit(""))
    if task != "short":
        rows = rows.with_columns(category=pl.lit(""))
    return _with_columns(rows, (*COLUMNS, "dataset", "category"), path)


def _with_columns(rows: pl.DataFrame, needed: Sequence[str], path: Path) -> pl.DataFrame:
    """The needed columns as text; a file without entries has none of its own."""
    if rows.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(needed, pl.String))
    return require_columns(rows, needed, path).cast(pl.String)


def _clip(video_name: str, task: str, where: str, clips: ClipsFrom) -> Clip:
    """Clips of one source video share a unit, as far as the file's name tells its source."""
    video = VIDEO.match(video_name)
    if video is None:
        raise UserError(f"{where}: video_name '{video_name}' names no video file.")
    length, name = "long" if task == "long" else "short", video["name"]
    span = SPAN.match(name)
    if span is None and clips == "ids":
        raise UserError(
            f"{where}: video_name '{video_name}' does not end in _start_<s>_end_<s>, so it cannot be cut from its "
            "source. Use `clips: release` in the suite to take the released files."
        )
    if span is None:
        return Clip(f"{name}.{length}", name, "whole", video_name if clips == "release" else Path(name).name)
    unit, start, end = span["source"], span["start"], span["end"]
    clip_id = f"{unit}.{length}-{start}-{end}"
    if clips == "release":
        return Clip(clip_id, unit, "whole", video_name)
    kind: Literal["segment", "trim"] = "segment" if length == "long" else "trim"
    return Clip(clip_id, unit, kind, Path(unit).name, float(start), float(end))


def _item(row: Mapping[str, str], task: str, clip: Clip, where: str, flaws: Flaws, clips: ClipsFrom) -> Item:
    """One item per entry. What is wrong with an entry is logged and counted; it stays, so that no number hides it.

    Clips of one's own are of none of the paper's data sets, which is no fault of theirs.
    """
    dataset = row["dataset"].lower()
    category = CATEGORIES.get(row["category"])
    answer = row["GT"] if task == "caption" else row["GT"].strip().upper()
    texts = {"question": row["question"]}
    shown = QUESTION.search(row["question"])
    if task != "caption" and shown is not None:
        texts |= {"A": shown["a"], "B": shown["b"]}
    found = []
    if task != "caption" and answer not in ("A", "B"):
        found.append(f"ground truth '{row['GT']}' is neither A nor B, so no answer to it is right")
    if task == "caption" and not answer.strip():
        found.append("the reference caption is empty")
    if task == "short" and not category:
        found.append(f"category '{row['category']}' is not one of {', '.join(CATEGORIES)}; it counts in no category")
    if task != "caption" and clips != "files" and dataset not in DATASETS:
        found.append(f"data set '{row['dataset']}' is not one of {', '.join(DATASETS)}; it counts in none of them")
    for flaw in found:
        flaws.add(row["idx"], f"{where} ({row['idx']})", flaw)
    groups = [task, *([dataset] if dataset in DATASETS else []), *([category] if category else [])]
    return Item(
        item_id=f"{task}/{row['idx']}",
        clip_id=clip.clip_id,
        unit=clip.unit,
        task=task,
        texts=texts,
        answer=answer if task == "caption" or answer in ("A", "B") else "",
        groups=groups,
        flaws=flaws.of(row["idx"]),
    )


def _central_items(items: Sequence[Item], given: Sequence[Path], clips: ClipsFrom) -> Iterator[Item]:
    """The option sets of a release that was made here; of the authors', which has none, one item per short video.

    That is made where a video's negatives give both option sets.
    """
    for path in given:
        rows = _with_columns(read_rows(path), ("video_name", *SET_NAMES), path)
        for number, row in enumerate(rows.iter_rows(named=True), start=1):
            clip = _clip(row["video_name"], "short", f"{path}: entry {number}", clips)
            yield _central_item(clip.clip_id, clip.unit, {name: row[name] for name in SET_NAMES})
    short = [item for item in items if item.task == "short" and not given]
    for clip_id, members in grouped(short, lambda item: item.clip_id).items():
        pairs = [pair for item in members if (pair := caption_pair(item)) is not None]
        caption = pairs[0][0] if pairs else ""
        texts = captions_of(caption, [negative for positive, negative in pairs if positive == caption])
        if texts is not None:
            yield _central_item(clip_id, members[0].unit, texts)


def _central_item(clip_id: str, unit: str, texts: Mapping[str, str]) -> Item:
    return Item(f"{CENTRAL}/{clip_id}", clip_id, unit, CENTRAL, texts, texts["c"], groups=[CENTRAL])
