"""Read other sets of videos with questions: a manifest `sets/<set>.csv` and a folder `sets/<set>/` with the videos."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import AnnotatedClip, Annotations, Item, Tag
from reprise.benchmarks.mmbench_video.taxonomy import LEAF_TAG, OTHER_VIDEO_SETS, SCORINGS, SET_OPTIONS, SETS
from reprise.core.errors import UserError
from reprise.core.tabular import require_columns
from reprise.fetch.release_files import release_source

COLUMNS = ("video", "question", "answer")
SCORING_COLUMN = "scoring"
ACCURACY_SCORING = "accuracy"
SET_NAME = re.compile(r"^[a-z0-9][a-z0-9_-]*$")


def read_video_set(rows: pl.DataFrame, path: Path, reserved: Sequence[str]) -> Annotations:
    """Return the clips and items of a manifest.

    Its columns are video (a file name), question and answer, and optionally capability and scoring. A set that is
    scored by accuracy has its options in the columns A to E, and a letter as the answer.
    """
    name = path.stem
    if not SET_NAME.match(name) or name in reserved:
        raise UserError(
            f"{path}: '{name}' cannot be the name of a set of videos. Use lower-case letters, digits, - and _, but "
            f"none of the names {', '.join(reserved)}."
        )
    require_columns(rows, COLUMNS, path)
    rows = rows.cast(pl.String).fill_null("")
    scoring = _scoring(rows, path)
    clips: dict[str, AnnotatedClip] = {}
    items = []
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        empty = [column for column in COLUMNS if not row[column].strip()]
        if empty:
            raise UserError(f"{path}: row {number}: '{empty[0]}' is empty. Correct the row or remove it.")
        cluster = f"{name}-{row['video']}"
        clip = AnnotatedClip(f"{cluster}.whole", cluster, "whole", release_source(f"sets/{path.name}", row["video"]))
        clips[cluster] = clip
        options = _options(row, f"{path}: row {number}") if scoring == ACCURACY_SCORING else {}
        items.append(
            Item(
                item_id=f"{name}/{number}",
                clip_id=clip.clip_id,
                cluster=cluster,
                task=name,
                texts={"question": row["question"], "subtitles": "", **options},
                answer=row["answer"].strip().upper() if options else row["answer"],
                groups=[SETS, SCORINGS[scoring], name],
                tags=[Tag(LEAF_TAG, leaf) for leaf in [row.get("capability", "")] if leaf],
            )
        )
    return Annotations(list(clips.values()), items)


def _scoring(rows: pl.DataFrame, path: Path) -> str:
    """Return how a set is scored: by its manifest, else by the paper if it has a set of this name, else from 0 to 3."""
    manifest_values = (
        rows[SCORING_COLUMN].unique(maintain_order=True).to_list() if SCORING_COLUMN in rows.columns else []
    )
    scorings = manifest_values or [OTHER_VIDEO_SETS.get(path.stem, "0 to 3")]
    if len(scorings) > 1 or scorings[0] not in SCORINGS:
        values = ", ".join(map(repr, scorings[:3]))
        raise UserError(
            f"{path}: column '{SCORING_COLUMN}' has {values}, expected one of {', '.join(SCORINGS)} in all rows."
        )
    return str(scorings[0])


def _options(row: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the options by letter of a question that is scored by accuracy."""
    options = {letter: row[letter].strip() for letter in SET_OPTIONS if row.get(letter, "").strip()}
    letters = SET_OPTIONS[: len(options)]
    if len(options) < 2 or tuple(options) != letters:
        raise UserError(
            f"{location}: found {'options ' + ', '.join(options) if options else 'no options'}; a set that is scored "
            f"by accuracy has two or more, in the first of the columns {', '.join(SET_OPTIONS)}. Correct the row, or "
            f"the column '{SCORING_COLUMN}'."
        )
    if row["answer"].strip().upper() not in options:
        raise UserError(f"{location}: answer '{row['answer'][:40]}' is none of {', '.join(options)}. Correct the row.")
    return options
