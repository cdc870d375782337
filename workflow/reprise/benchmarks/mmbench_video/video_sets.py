"""Other sets of videos with questions, each a manifest `sets/<set>.csv` beside a folder `sets/<set>/` of its videos."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.taxonomy import LEAF, OTHER_VIDEO_SETS, SCORINGS, SET_OPTIONS, SETS
from reprise.benchmarks.rows import Annotations, Clip, Item, Tag
from reprise.core.errors import UserError
from reprise.core.tabular import require_columns
from reprise.fetch.release_files import release_source

COLUMNS = ("video", "question", "answer")
SCORING = "scoring"
CHOICE = "accuracy"
NAME = re.compile(r"^[a-z0-9][a-z0-9_-]*$")


def set_of(rows: pl.DataFrame, path: Path, taken: Sequence[str]) -> Annotations:
    """Clips and items of a manifest: columns video (a file name), question, answer, perhaps capability and scoring.

    A set that is scored by accuracy has its options in the columns A to E, and a letter as the answer.
    """
    name = path.stem
    if not NAME.match(name) or name in taken:
        raise UserError(
            f"{path}: '{name}' cannot be the name of a set of videos. Use lower case letters, digits, - and _, and "
            f"none of {', '.join(taken)}."
        )
    require_columns(rows, COLUMNS, path)
    rows = rows.cast(pl.String).fill_null("")
    scoring = _scoring(rows, path)
    clips: dict[str, Clip] = {}
    items = []
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        empty = [column for column in COLUMNS if not row[column].strip()]
        if empty:
            raise UserError(f"{path}: row {number}: '{empty[0]}' is empty. Correct the row or remove it.")
        unit = f"{name}-{row['video']}"
        clip = Clip(f"{unit}.whole", unit, "whole", release_source(f"sets/{path.name}", row["video"]))
        clips[unit] = clip
        options = _options(row, f"{path}: row {number}") if scoring == CHOICE else {}
        items.append(
            Item(
                item_id=f"{name}/{number}",
                clip_id=clip.clip_id,
                unit=unit,
                task=name,
                texts={"question": row["question"], "subtitles": "", **options},
                answer=row["answer"].strip().upper() if options else row["answer"],
                groups=[SETS, SCORINGS[scoring], name],
                tags=[Tag(LEAF, leaf) for leaf in [row.get("capability", "")] if leaf],
            )
        )
    return Annotations(list(clips.values()), items)


def _scoring(rows: pl.DataFrame, path: Path) -> str:
    """How a set is scored: as its manifest says, else as the paper scores the set of this name, else from 0 to 3."""
    found = rows[SCORING].unique(maintain_order=True).to_list() if SCORING in rows.columns else []
    given = found or [OTHER_VIDEO_SETS.get(path.stem, "0 to 3")]
    if len(given) > 1 or given[0] not in SCORINGS:
        raise UserError(
            f"{path}: column '{SCORING}' has {', '.join(repr(one) for one in given[:3])}, expected one of "
            f"{', '.join(SCORINGS)} in all of its rows."
        )
    return str(given[0])


def _options(row: Mapping[str, str], where: str) -> dict[str, str]:
    """Letter -> option, of a question that is scored by accuracy."""
    found = {letter: row[letter].strip() for letter in SET_OPTIONS if row.get(letter, "").strip()}
    letters = SET_OPTIONS[: len(found)]
    if len(found) < 2 or tuple(found) != letters:
        raise UserError(
            f"{where}: found options {', '.join(found) or 'nowhere'}; a set that is scored by accuracy has two or more "
            f"in columns {', '.join(SET_OPTIONS)} from the first one on. Correct the row, or column '{SCORING}'."
        )
    if row["answer"].strip().upper() not in found:
        raise UserError(f"{where}: answer '{row['answer'][:40]}' is none of {', '.join(found)}. Correct the row.")
    return found
