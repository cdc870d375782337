"""TemporalBench's release: questions about short and long videos, captions, and option sets made of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Flaws, Item, entries_of
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
    for task, path in _files(files).items():
        for where, row in entries_of(_rows(path, task), path, "idx"):
            clip = _clip(row["video_name"], task, where, clips)
            found[clip.clip_id] = clip
            items.append(_item(row, task, clip, where, flaws, clips))
    given = [path for path in files if GIVEN_SETS in path.name]
    sets = [item for path in given for item in _given_central_items(path, clips)] if given else _central_items(items)
    return Annotations(list(found.values()), [*items, *sets])


def _files(files: Sequence[Path]) -> dict[str, Path]:
    """The one file of each task."""
    found = {}
    for task, mark in FILES.items():
        fitting = [path for path in files if mark in path.name]
        if len(fitting) != 1:
            names = ", ".join(path.name for path in files) or "nothing"
            raise UserError(f"release: expected one file named *{mark}*, found {len(fitting)} in {names}.")
        found[task] = fitting[0]
    return found


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
    name = VIDEO.match(video_name)
    if name is None:
        raise UserError(f"{where}: video_name '{video_name}' names no video file.")
    length = "long" if task == "long" else "short"
    span = SPAN.match(name["name"])
    if clips == "release":
        unit = span["source"] if span else name["name"]
        part = f"{length}-{span['start']}-{span['end']}" if span else length
        return Clip(f"{unit}.{part}", unit, "whole", video_name)
    if span is None and clips == "files":
        return Clip(f"{name['name']}.{length}", name["name"], "whole", Path(name["name"]).name)
    if span is None:
        raise UserError(
            f"{where}: video_name '{video_name}' does not end in _start_<s>_end_<s>, so it cannot be cut from its "
            "source. Use `clips: release` in the suite to take the released files."
        )
    return Clip(
        clip_id=f"{span['source']}.{length}-{span['start']}-{span['end']}",
        unit=span["source"],
        kind="segment" if length == "long" else "trim",
        source_id=Path(span["source"]).name,
        start_s=float(span["start"]),
        end_s=float(span["end"]),
    )


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


def _given_central_items(path: Path, clips: ClipsFrom) -> Iterator[Item]:
    """The option sets of a release that was made here; the authors' has none."""
    rows = _with_columns(read_rows(path), ("video_name", *SET_NAMES), path)
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        clip = _clip(row["video_name"], "short", f"{path}: entry {number}", clips)
        texts = {name: row[name] for name in SET_NAMES}
        yield Item(f"{CENTRAL}/{clip.clip_id}", clip.clip_id, clip.unit, CENTRAL, texts, texts["c"], groups=[CENTRAL])


def _central_items(items: Sequence[Item]) -> Iterator[Item]:
    """One item per short video whose negatives give both option sets."""
    by_clip: dict[str, list[Item]] = {}
    for item in items:
        if item.task == "short":
            by_clip.setdefault(item.clip_id, []).append(item)
    for clip_id, members in by_clip.items():
        pairs = [pair for item in members if (pair := caption_pair(item)) is not None]
        if not pairs:
            continue
        caption = pairs[0][0]
        texts = captions_of(caption, [negative for positive, negative in pairs if positive == caption])
        if texts is not None:
            unit = members[0].unit
            yield Item(f"{CENTRAL}/{clip_id}", clip_id, unit, CENTRAL, texts, answer=texts["c"], groups=[CENTRAL])
