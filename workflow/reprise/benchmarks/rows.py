"""Clips and items, the two tables that every release is read into, and the flaws of its entries.

A flawed entry is kept, named and counted, and does not stop the others.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import polars as pl

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIPS, ITEMS

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
ClipsFrom: TypeAlias = Literal["ids", "release", "files"]
"""Whether clips are cut from their sources, by the ids and spans that a release names, or are released files; `files`
are one's own: a release names them, with a span or without."""


class Clip(NamedTuple):
    """What is shown: a file, a span of one, several clips in a row, or images."""

    clip_id: str
    unit: str
    kind: Literal["whole", "trim", "segment", "concat", "images"]
    source_id: str = ""
    start_s: float | None = None
    end_s: float | None = None
    parts: Sequence[str] = ()


class Tag(NamedTuple):
    """A property of an item other than its groups, such as its half of a pair or its number of options."""

    name: str
    text: str


class Item(NamedTuple):
    """Something to ask about a clip, in any form of question."""

    item_id: str
    clip_id: str
    unit: str
    task: str
    texts: Mapping[str, str]
    answer: str = ""
    groups: Sequence[str] = ()
    """sets of items that it belongs to: numbers are computed for them, and a protocol may ask about one only"""
    tags: Sequence[Tag] = ()
    flaws: Sequence[str] = ()

    def tag(self, name: str) -> str:
        return next(tag.text for tag in self.tags if tag.name == name)


class Annotations(NamedTuple):
    clips: Sequence[Clip]
    items: Sequence[Item]

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        rows = [
            item._asdict() | {"texts": _named(item.texts.items()), "tags": _named(item.tags)} for item in self.items
        ]
        return pl.DataFrame([clip._asdict() for clip in self.clips], schema=CLIPS), pl.DataFrame(rows, schema=ITEMS)


def _named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "text": text} for name, text in pairs]


def items_of(table: pl.DataFrame) -> list[Item]:
    return [
        Item(
            **row
            | {
                "texts": {text["name"]: text["text"] for text in row["texts"]},
                "tags": [Tag(**tag) for tag in row["tags"]],
            }
        )
        for row in table.iter_rows(named=True)
    ]


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


ALL_ITEMS = pl.lit(True)


def is_in(group: str) -> pl.Expr:
    return pl.col("groups").list.contains(group)


def chosen_items(items: pl.DataFrame, group: str | None) -> pl.DataFrame:
    """The items that a protocol asks about: all, or those of one group."""
    return items if group is None else items.filter(is_in(group))


def are_short(longest: int) -> pl.Expr:
    lengths = pl.element().struct.field("text").str.len_chars()
    return pl.col("texts").list.eval(lengths > longest).list.any().not_()


def with_long_texts_flawed(items: Iterable[Item], longest: int) -> Iterator[Item]:
    """Items; one that has a text of more characters is not asked about, and its flaws say why."""
    for item in items:
        flaws = [
            f"{item.item_id}: '{name}' has {len(text)} characters, more than text_chars_max ({longest}), so it is not "
            "asked and counts as missing"
            for name, text in item.texts.items()
            if len(text) > longest
        ]
        yield item._replace(flaws=[*item.flaws, *flaws]) if flaws else item


def tag_text(name: str) -> pl.Expr:
    """The text of an item's first tag of this name; null where it has none."""
    entry = pl.element()
    texts = entry.struct.field("text").filter(entry.struct.field("name") == name)
    return pl.col("tags").list.eval(texts).list.first()


FLAWS = "flaws"
NAMED = 5


class Flaws:
    """Mistakes of a release: logged when they are found, and kept by entry for the items that come from it."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = defaultdict(list)

    def add(self, entry: str, where: str, flaw: str) -> None:
        log.info(f"{where}: {flaw}")
        self._found[entry].append(flaw)

    def of(self, entry: str) -> list[str]:
        """The flaws of an entry as one text, for the items made from it; nothing if it has none."""
        flaws = self._found.get(entry)
        return [f"{entry}: {'; '.join(flaws)}"] if flaws else []


def entries_of(
    rows: pl.DataFrame, path: Path, name: str, needed: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """Where each row of a release is, and its cells as text.

    Refused are rows whose name, or another cell that is needed, is empty, and names that two rows have.
    """
    seen: dict[str, int] = {}
    what = "entry" if path.suffix == ".json" else "row"
    for number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        where = f"{path}: {what} {number}"
        for column in (name, *needed):
            if not row[column].strip():
                raise UserError(f"{where}: '{column}' is empty. Correct the row or remove it.")
        if row[name] in seen:
            raise UserError(
                f"{where}: {name} '{row[name]}' is that of {what} {seen[row[name]]} already. Remove one of them."
            )
        seen[row[name]] = number
        yield where, row


def flaws_of(items: pl.DataFrame) -> list[str]:
    """What is wrong with which entries, each entry once."""
    return items["flaws"].explode().drop_nulls().unique(maintain_order=True).to_list()


def flaw_numbers(items: pl.DataFrame) -> list[dict[str, Any]]:
    """The number of flawed entries behind the items, with a note that names them; no number if there are none."""
    flaws = flaws_of(items)
    if not flaws:
        return []
    more = f"; and {len(flaws) - NAMED} more, all in the log of `annotations`" if len(flaws) > NAMED else ""
    counts = dict.fromkeys(("asked", "scored", "failed", "unparsed", "missing"), 0)
    note = "; ".join(flaws[:NAMED]) + more
    return [{"metric": FLAWS, "group": "all", "value": float(len(flaws)), "note": note, **counts}]
