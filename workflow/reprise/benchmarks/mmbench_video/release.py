"""MMBench-Video's release: questions about long videos, and the images and other videos of its tables."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.flaws import Flaws, entries_of
from reprise.benchmarks.mmbench_video.images.release import read_images
from reprise.benchmarks.mmbench_video.images.taxonomy import MMBENCH, MMSTAR
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS_TAKEN, HALVES, L2_OF, LEAF, LEAVES, OWN_NAME, SUBTITLED
from reprise.benchmarks.mmbench_video.video_sets import set_of
from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Item, Tag
from reprise.core.errors import UserError, suggestion
from reprise.core.tabular import only_table, read_rows, require_columns
from reprise.media.subtitles import as_prompt, read_vtt

# Image benchmark -> how the name of its released table begins.
IMAGE_TABLES = {MMBENCH: "MMBench_", MMSTAR: "MMStar"}
COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")


def read_release(files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
    """Read `MMBench-Video.tsv` and the `<video>.vtt` that lie with it; videos come as the released files.

    Beside it may lie MMBench's and MMStar's tables of images, and manifests `sets/<set>.csv` of other videos.
    """
    if clips == "ids":
        raise UserError("MMBench-Video release: it names no spans, so clips cannot be cut. Use `clips: release`.")
    found = [_videos(files)]
    for name, start in IMAGE_TABLES.items():
        fitting = [path for path in files if path.suffix == ".tsv" and path.name.startswith(start)]
        if len(fitting) > 1:
            names = ", ".join(path.name for path in fitting)
            raise UserError(f"release: expected one table {start}*.tsv, found {names}. Keep the one to be asked.")
        found += [read_images(path, name) for path in fitting]
    found += [set_of(read_rows(path), path, GROUPS_TAKEN) for path in files if path.suffix == ".csv"]
    return Annotations([clip for one in found for clip in one.clips], [item for one in found for item in one.items])


def _videos(files: Sequence[Path]) -> Annotations:
    path = only_table([file for file in files if file.name.startswith("MMBench-Video")], COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path)
    subtitles = {file.stem: as_prompt(read_vtt(file)) for file in files if file.suffix == ".vtt"}
    flaws = Flaws()
    items = [
        _item(row, where, flaws, subtitles.get(row["video"], ""))
        for where, row in entries_of(rows, path, "index", needed=("video",))
    ]
    videos = rows["video"].cast(pl.String).unique(maintain_order=True)
    return Annotations([Clip(f"{video}.whole", video, "whole", video) for video in videos], items)


def _leaves(text: str) -> list[str]:
    """The abilities that a question names, from the literal of a Python list; nothing is evaluated."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    return [str(leaf) for leaf in found] if isinstance(found, list) else []


def _item(row: Mapping[str, str], where: str, flaws: Flaws, subtitles: str) -> Item:
    """One item per question. What is wrong with it is logged and counted; it stays, so that no number hides it."""
    named = _leaves(row["dimensions"])
    leaves = [leaf for leaf in named if leaf in L2_OF]
    entry = f"question {row['index']}"
    for column in ("question", "answer"):
        if not row[column].strip():
            flaws.add(entry, where, f"'{column}' is empty, so it is not asked and counts as missing")
    for leaf in named:
        if leaf not in L2_OF:
            flaws.add(entry, where, f"dimension '{leaf}' is unknown and counts nowhere.{suggestion(leaf, L2_OF)}")
    if not named:
        shown = row["dimensions"][:80]
        flaws.add(entry, where, f"dimensions: found {shown!r}, expected a list such as ['OCR']; it counts in no group")
    coarse = {L2_OF[leaf] for leaf in leaves}
    groups = [OWN_NAME, *(name for name in LEAVES if name in coarse)]
    groups += [half for half, members in HALVES.items() if coarse & set(members)]
    return Item(
        item_id=row["index"],
        clip_id=f"{row['video']}.whole",
        unit=row["video"],
        task=row["video_type"],
        texts={"question": row["question"], "subtitles": subtitles},
        answer=row["answer"],
        groups=[*groups, *([SUBTITLED] if subtitles else [])],
        tags=[Tag(LEAF, leaf) for leaf in leaves],
        flaws=flaws.of(entry),
    )
