"""Other sets of videos with questions, each a manifest `sets/<set>.csv` beside a folder `sets/<set>/` of its videos."""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.taxonomy import LEAF, SETS
from reprise.benchmarks.rows import Annotations, Clip, Item, Tag
from reprise.core.errors import UserError
from reprise.core.tabular import read_rows, require_columns
from reprise.fetch.release_files import release_source

COLUMNS = ("video", "question", "answer")
NAME = re.compile(r"^[a-z0-9][a-z0-9_-]*$")


def read_set(path: Path, taken: Sequence[str]) -> Annotations:
    """Clips and items of a manifest: columns video (a file name), question, answer, perhaps capability."""
    name = path.stem
    if not NAME.match(name) or name in taken:
        raise UserError(
            f"{path}: '{name}' cannot be the name of a set of videos. Use lower case letters, digits, - and _, and "
            f"none of {', '.join(taken)}."
        )
    rows = read_rows(path)
    require_columns(rows, COLUMNS, path)
    clips: dict[str, Clip] = {}
    items = []
    for number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        empty = [column for column in COLUMNS if not row[column].strip()]
        if empty:
            raise UserError(f"{path}: row {number}: '{empty[0]}' is empty. Correct the row or remove it.")
        unit = f"{name}-{row['video']}"
        clip = Clip(f"{unit}.whole", unit, "whole", release_source(f"sets/{path.name}", row["video"]))
        clips[unit] = clip
        items.append(
            Item(
                item_id=f"{name}/{number}",
                clip_id=clip.clip_id,
                unit=unit,
                task=name,
                texts={"question": row["question"], "subtitles": ""},
                answer=row["answer"],
                groups=[SETS, name],
                tags=[Tag(LEAF, leaf) for leaf in [row.get("capability", "")] if leaf],
            )
        )
    return Annotations(list(clips.values()), items)
