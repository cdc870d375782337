"""MMBench and MMStar: multiple choice about an image, which a video model sees as a short clip (Table 4)."""

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.mmbench_video.images.taxonomy import (
    CATEGORIES,
    LETTERS,
    MMBENCH,
    MMSTAR,
    OPTIONS,
    OVERALL,
    ROTATION_STEP,
)
from reprise.benchmarks.rows import Annotations, Clip, Item, Tag
from reprise.core.errors import UserError
from reprise.core.tabular import read_rows, require_columns
from reprise.fetch.release_files import owner_of, release_source

COLUMNS = ("index", "question", "image", "answer")
LISTED = re.compile(r"\s*Options:\s*(?=A[:.])")


def read_images(path: Path, data_set: str) -> Annotations:
    """Clips and items of `MMBench_DEV_*.tsv` or `MMStar.tsv`; rows that share an image share its clip."""
    rows = read_rows(path)
    # MMBench's coarse categories have been spelt in several ways.
    spelt = [name for name in rows.columns if name.lower().replace("_", "-") == "l2-category"]
    category = "category" if data_set == MMSTAR else next(iter(spelt), "l2-category")
    require_columns(rows, (*COLUMNS, category), path)
    clips: dict[str, Clip] = {}
    items = []
    flaws = Flaws()
    for number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        if data_set == MMBENCH and row["index"].isdigit() and int(row["index"]) >= ROTATION_STEP:
            continue  # the rotations are made here
        unit = f"{data_set}-{owner_of(row['index'], row['image'])}"
        image = release_source(path.name, unit.removeprefix(f"{data_set}-"))
        clips[unit] = Clip(f"{unit}.still", unit, "images", parts=[image])
        where = f"{path}: row {number} ({row['index']})"
        items.append(_item(row, row[category].strip(), data_set, unit, where, flaws))
    return Annotations(list(clips.values()), items)


def _item(row: Mapping[str, str], category: str, data_set: str, unit: str, where: str, flaws: Flaws) -> Item:
    """One question. A wrong category or answer is logged and counted; it stays, so that no number hides it."""
    question, options = _options(row)
    if len(options) < 2:
        raise UserError(
            f"{where}: found {len(options)} options, expected two to four, in columns A to D or as "
            "`Options: A: ..., B: ...` in the question. Correct the row or remove it."
        )
    answer = row["answer"].strip().upper()
    entry = f"{data_set}/{row['index']}"
    if category.lower() not in CATEGORIES[data_set]:
        allowed = ", ".join(CATEGORIES[data_set])
        flaw = f"category '{category}' is not one of {allowed}; the question counts in none of them"
        flaws.add(entry, where, flaw)
    if answer not in options:
        flaw = f"answer '{row['answer']}' is none of its options {', '.join(options)}; no answer to it is right"
        flaws.add(entry, where, flaw)
    group = CATEGORIES[data_set].get(category.lower())
    return Item(
        item_id=entry,
        clip_id=f"{unit}.still",
        unit=unit,
        task=data_set,
        texts={"question": question, "hint": row.get("hint", "").strip(), **options},
        answer=answer if answer in options else "",
        groups=[data_set, OVERALL[data_set], *([group] if group else [])],
        tags=[Tag(OPTIONS, str(len(options)))],
        flaws=flaws.of(entry),
    )


def _options(row: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The question and its options, from columns A to D or out of `... Options: A: ..., B: ...` in its text."""
    options = {letter: row[letter].strip() for letter in LETTERS if row.get(letter, "").strip()}
    if options:
        return row["question"], options
    question, *listed = LISTED.split(row["question"], maxsplit=1)
    rest = listed[0] if listed else ""
    for letter, following in zip(LETTERS, (*LETTERS[1:], "E"), strict=True):
        if not re.match(rf"{letter}[:.]", rest):
            break
        text, *later = re.split(rf"[,\n]\s*(?={following}[:.])", rest[2:], maxsplit=1)
        options[letter] = text.strip()
        rest = later[0] if later else ""
    return question, options
