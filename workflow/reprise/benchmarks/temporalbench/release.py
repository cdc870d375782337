"""TemporalBench's release: questions about short and long videos, captions, and option sets made of them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.temporalbench.captions import caption_pair
from reprise.benchmarks.temporalbench.option_sets import captions_of
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES, DATASETS
from reprise.core.errors import UserError
from reprise.core.schemas import CLIPS, ITEMS
from reprise.core.tabular import read_rows, require_columns

# Task -> what its file's name holds.
FILES = {"short": "short_qa", "long": "long_qa", "caption": "short_caption"}
COLUMNS = ("idx", "video_name", "question", "GT")
QUESTION = re.compile(r"\nA\. ?(?P<a>.*?)\s*\nB\. ?(?P<b>.*?)\s*\nAnswer with the option's letter", re.DOTALL)
VIDEO = re.compile(r"^(?:(?:short|long)_video/)?(?P<name>.+)\.\w+$")
SPAN = re.compile(r"^(?P<source>.+)_start_(?P<start>\d+(?:\.\d+)?)_end_(?P<end>\d+(?:\.\d+)?)$")


def read_release(files: Sequence[Path], clips: str, options: Mapping[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the three released files; `clips` says whether videos are cut from their sources or the released files."""
    places: dict[str, Place] = {}
    items: list[dict[str, object]] = []
    flaws = Flaws()
    for task, path in _files(files).items():
        seen: dict[str, int] = {}
        for number, row in enumerate(_rows(path, task).iter_rows(named=True), start=1):
            where = f"{path}: entry {number}"
            if row["idx"] in seen:
                raise UserError(f"{where}: idx '{row['idx']}' is that of entry {seen[row['idx']]} already.")
            seen[row["idx"]] = number
            place = _place(row["video_name"], task, where, cut=clips == "ids")
            places[place.clip_id] = place
            items.append(_item(row, task, place, where, flaws))
    frame = pl.DataFrame(items, schema=ITEMS)
    central = pl.DataFrame(_central_items(frame), schema=ITEMS)
    return pl.DataFrame([place.row() for place in places.values()], schema=CLIPS), pl.concat([frame, central])


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
    """The entries of a file with `dataset` and `category`, whatever the release calls the first."""
    rows = read_rows(path)
    if "dataset" not in rows.columns and "source_dataset" in rows.columns:
        rows = rows.rename({"source_dataset": "dataset"})
    if task == "caption" and "dataset" not in rows.columns:
        rows = rows.with_columns(dataset=pl.lit(""))
    if task != "short":
        rows = rows.with_columns(category=pl.lit(""))
    needed = (*COLUMNS, "dataset", "category")
    return require_columns(rows, needed, path).cast(pl.String).fill_null("")


class Place(NamedTuple):
    """Where a video comes from: a file of the release, or a span of a source video."""

    clip_id: str
    unit: str
    kind: str
    source_id: str
    start_s: float | None
    end_s: float | None

    def row(self) -> dict[str, object]:
        return {**self._asdict(), "parts": []}


def _place(video_name: str, task: str, where: str, *, cut: bool) -> Place:
    """Clips of one source video share a unit, as far as the file's name tells its source."""
    name = VIDEO.match(video_name)
    if name is None:
        raise UserError(f"{where}: video_name '{video_name}' names no video file.")
    length = "long" if task == "long" else "short"
    span = SPAN.match(name["name"])
    if cut:
        if span is None:
            raise UserError(
                f"{where}: video_name '{video_name}' does not end in _start_<s>_end_<s>, so it cannot be cut from its "
                "source. Use `clips: release` in the suite to take the released files."
            )
        kind = "segment" if length == "long" else "trim"
        start, end = float(span["start"]), float(span["end"])
        part, source = f"{length}-{span['start']}-{span['end']}", Path(span["source"]).name
        return Place(f"{span['source']}.{part}", span["source"], kind, source, start, end)
    unit = span["source"] if span else name["name"]
    part = f"{length}-{span['start']}-{span['end']}" if span else length
    return Place(f"{unit}.{part}", unit, "whole", video_name, None, None)


def _item(row: Mapping[str, str], task: str, place: Place, where: str, flaws: Flaws) -> dict[str, object]:
    """One item an entry. What is wrong with an entry is said and counted; it stays, so that no number hides it."""
    dataset = row["dataset"].lower()
    category = CATEGORIES.get(row["category"], "")
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
    if task != "caption" and dataset not in DATASETS:
        found.append(f"data set '{row['dataset']}' is not one of {', '.join(DATASETS)}; it counts in none of them")
    for flaw in found:
        flaws.add(row["idx"], f"{where} ({row['idx']})", flaw)
    groups = {task: "yes", "dataset": dataset, "category": category}
    return {
        "item_id": f"{task}/{row['idx']}",
        "clip_id": place.clip_id,
        "unit": place.unit,
        "task": task,
        "texts": _named(texts),
        "answer": answer if task == "caption" or answer in ("A", "B") else "",
        "groups": _named({name: text for name, text in groups.items() if text}) + flaws.groups(row["idx"]),
    }


def _central_items(items: pl.DataFrame) -> list[dict[str, object]]:
    """One item a short video whose negatives give both option sets."""
    found = []
    for (clip_id,), rows in items.filter(pl.col("task") == "short").group_by("clip_id", maintain_order=True):
        pairs = [pair for row in rows.iter_rows(named=True) if (pair := caption_pair(row)) is not None]
        if not pairs:
            continue
        caption = pairs[0][0]
        texts = captions_of(caption, [negative for positive, negative in pairs if positive == caption])
        if texts is not None:
            found.append(
                {
                    "item_id": f"central/{clip_id}",
                    "clip_id": clip_id,
                    "unit": rows["unit"][0],
                    "task": "central",
                    "texts": _named(texts),
                    "answer": texts["c"],
                    "groups": _named({"central": "yes"}),
                }
            )
    return found


def _named(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "text": text} for name, text in texts.items()]
