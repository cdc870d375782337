"""Read other sets of videos with questions: a manifest `sets/<set>.csv` and a folder `sets/<set>/` with the videos."""

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


def set_of(rows: pl.DataFrame, path: Path, reserved: Sequence[str]) -> Annotations:
    """Return the clips and items of a manifest.

    Its columns are video (a file name), question and answer, and optionally capability and scoring. A set that is
    scored by accuracy has its options in the columns A to E, and a letter as the answer.
    """
    name = path.stem
    if not NAME.match(name) or name in reserved:
        raise UserError(
            f"{path}: '{name}' cannot be the name of a set of videos. Use lower case letters, digits, - and _, and "
            f"none of {', '.join(reserved)}."
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
    """Return how a set is scored: by its manifest, else by the paper if it has a set of this name, else from 0 to 3."""
    manifest_values = rows[SCORING].unique(maintain_order=True).to_list() if SCORING in rows.columns else []
    scorings = manifest_values or [OTHER_VIDEO_SETS.get(path.stem, "0 to 3")]
    if len(scorings) > 1 or scorings[0] not in SCORINGS:
        raise UserError(
            f"{path}: column '{SCORING}' has {', '.join(repr(scoring) for scoring in scorings[:3])}, expected one of "
            f"{', '.join(SCORINGS)} in all of its rows."
        )
    return str(scorings[0])


def _options(row: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the options by letter of a question that is scored by accuracy."""
    options = {letter: row[letter].strip() for letter in SET_OPTIONS if row.get(letter, "").strip()}
    letters = SET_OPTIONS[: len(options)]
    if len(options) < 2 or tuple(options) != letters:
        raise UserError(
            f"{location}: found options {', '.join(options) or 'nowhere'}; a set that is scored by accuracy has two or "
            f"more in columns {', '.join(SET_OPTIONS)} from the first one on. Correct the row, or column '{SCORING}'."
        )
    if row["answer"].strip().upper() not in options:
        raise UserError(f"{location}: answer '{row['answer'][:40]}' is none of {', '.join(options)}. Correct the row.")
    return options
