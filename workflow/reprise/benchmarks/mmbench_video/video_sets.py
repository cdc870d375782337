"""Read other sets of videos with questions: a manifest `sets/<set>.csv` and a folder `sets/<set>/` with the videos."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import AnnotatedClip, Annotations, Item, Tag
from reprise.benchmarks.mmbench_video.taxonomy import (
    GROUP_BY_SCORING,
    LEAF_TAG,
    OTHER_SETS_GROUP,
    SCORING_BY_SET,
    SET_OPTION_LETTERS,
)
from reprise.core.errors import UserError
from reprise.core.tabular import require_columns
from reprise.fetch.release_files import build_source_id

COLUMNS = ("video", "question", "answer")
SCORING_COLUMN = "scoring"
ACCURACY_SCORING = "accuracy"
SET_NAME = re.compile(r"^[a-z0-9][a-z0-9_-]*$")


def read_video_set(rows: pl.DataFrame, path: Path, reserved_names: Sequence[str]) -> Annotations:
    """Return the clips and items of a manifest.

    The manifest's columns are video (a file name), question and answer, and optionally capability and scoring. A set
    that is scored by accuracy has its options in the columns A to E, and a letter as the answer.
    """
    set_name = path.stem
    if not SET_NAME.match(set_name) or set_name in reserved_names:
        raise UserError(
            f"{path}: '{set_name}' cannot be the name of a set of videos. Use lower-case letters, digits, - and _, but "
            f"none of the names {', '.join(reserved_names)}."
        )
    require_columns(rows, COLUMNS, path)
    rows = rows.cast(pl.String).fill_null("")
    scoring = _read_scoring(rows, path)
    clip_by_cluster: dict[str, AnnotatedClip] = {}
    items = []
    for row_number, row in enumerate(rows.iter_rows(named=True), start=1):
        empty_columns = [column for column in COLUMNS if not row[column].strip()]
        if empty_columns:
            raise UserError(f"{path}: row {row_number}: '{empty_columns[0]}' is empty. Correct the row or remove it.")
        cluster = f"{set_name}-{row['video']}"
        clip = AnnotatedClip(f"{cluster}.whole", cluster, "whole", build_source_id(f"sets/{path.name}", row["video"]))
        clip_by_cluster[cluster] = clip
        options = _read_options(row, f"{path}: row {row_number}") if scoring == ACCURACY_SCORING else {}
        capability = row.get("capability", "")
        items.append(
            Item(
                item_id=f"{set_name}/{row_number}",
                clip_id=clip.clip_id,
                cluster=cluster,
                task=set_name,
                texts={"question": row["question"], "subtitles": "", **options},
                answer=row["answer"].strip().upper() if options else row["answer"],
                groups=[OTHER_SETS_GROUP, GROUP_BY_SCORING[scoring], set_name],
                tags=[Tag(LEAF_TAG, capability)] if capability else [],
            )
        )
    return Annotations(list(clip_by_cluster.values()), items)


def _read_scoring(rows: pl.DataFrame, path: Path) -> str:
    """Return the scoring of a set that its manifest states, else that of the paper, else `0 to 3`."""
    manifest_values = (
        rows[SCORING_COLUMN].unique(maintain_order=True).to_list() if SCORING_COLUMN in rows.columns else []
    )
    scorings = manifest_values or [SCORING_BY_SET.get(path.stem, "0 to 3")]
    if len(scorings) > 1 or scorings[0] not in GROUP_BY_SCORING:
        values = ", ".join(map(repr, scorings[:3]))
        raise UserError(
            f"{path}: column '{SCORING_COLUMN}' has {values}, "
            f"expected one of {', '.join(GROUP_BY_SCORING)} in all rows."
        )
    return str(scorings[0])


def _read_options(row: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the options by letter of a question that is scored by accuracy."""
    options = {letter: row[letter].strip() for letter in SET_OPTION_LETTERS if row.get(letter, "").strip()}
    letters = SET_OPTION_LETTERS[: len(options)]
    if len(options) < 2 or tuple(options) != letters:
        raise UserError(
            f"{location}: found {'options ' + ', '.join(options) if options else 'no options'}; a set that is scored "
            f"by accuracy has two or more, in the first of the columns {', '.join(SET_OPTION_LETTERS)}. "
            f"Correct the row, or the column '{SCORING_COLUMN}'."
        )
    if row["answer"].strip().upper() not in options:
        raise UserError(f"{location}: answer '{row['answer'][:40]}' is none of {', '.join(options)}. Correct the row.")
    return options
