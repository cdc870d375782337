"""Define clips and items, the two tables that every release is converted to, and collect the flaws of their entries.

A flawed entry does not stop the others: it stays in the tables, and its flaws are listed and counted.
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
ClipSource: TypeAlias = Literal["ids", "release", "files"]
"""Where clips come from. `ids`: cut from source videos by the ids and spans in the release. `release`: released files.
`files`: the user's own files that the release names, with or without a span."""


class AnnotatedClip(NamedTuple):
    """A clip that models see: a file, a span of a file, a concatenation of clips, or images."""

    clip_id: str
    cluster: str
    kind: Literal["whole", "trim", "segment", "concat", "images"]
    """`whole`: a file; `trim`: a span of a source; `segment`: a long span; `concat`: two clips with black between them;
    `images`: still images"""
    source_id: str = ""
    """source video or file; empty if the clip is made from its `parts`"""
    start_s: float | None = None
    end_s: float | None = None
    parts: Sequence[str] = ()
    """ids of the clips of a `concat`, or ids of the sources of `images`"""


class Tag(NamedTuple):
    """A property of an item other than its groups, such as its half of a pair or its number of options."""

    name: str
    text: str


class Item(NamedTuple):
    """One annotated entry about a clip. The protocol decides which requests are made from it."""

    item_id: str
    clip_id: str
    cluster: str
    task: str
    texts: Mapping[str, str]
    """name, such as `question` or `positive` -> text"""
    answer: str = ""
    """right option or reference text; empty if the release has no valid one"""
    groups: Sequence[str] = ()
    """groups that the item belongs to; scores are computed per group, and a protocol may query a single group"""
    tags: Sequence[Tag] = ()
    flaws: Sequence[str] = ()
    pair: str = ""
    """pair whose questions are scored together, as in Vinoground"""

    def get_tag_text(self, name: str) -> str:
        """Return the text of the item's first tag with this name."""
        return next(tag.text for tag in self.tags if tag.name == name)


class Annotations(NamedTuple):
    """The clips and items of one release."""

    clips: Sequence[AnnotatedClip]
    items: Sequence[Item]

    def to_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the clips and the items as data frames."""
        rows = [
            item._asdict() | {"texts": _to_structs(item.texts.items()), "tags": _to_structs(item.tags)}
            for item in self.items
        ]
        return pl.DataFrame([clip._asdict() for clip in self.clips], schema=CLIPS), pl.DataFrame(rows, schema=ITEMS)


def _to_structs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Convert name-text pairs to the structs of the columns `texts` and `tags`."""
    return [{"name": name, "text": text} for name, text in pairs]


def to_items(table: pl.DataFrame) -> list[Item]:
    """Convert a table of items back to `Item` objects."""
    return [
        Item(
            **row
            | {
                "texts": {named_text["name"]: named_text["text"] for named_text in row["texts"]},
                "tags": [Tag(**tag) for tag in row["tags"]],
            }
        )
        for row in table.iter_rows(named=True)
    ]


def group_by_key(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group rows by a key, in the order in which the keys first appear."""
    rows_by_key: dict[K, list[T]] = {}
    for row in rows:
        rows_by_key.setdefault(key(row), []).append(row)
    return rows_by_key


ALL_ITEMS = pl.lit(True)
"""expression that is true for every item"""


def is_in_group(group: str) -> pl.Expr:
    """Return an expression that is true for the items whose `groups` contain this group."""
    return pl.col("groups").list.contains(group)


def select_items(items: pl.DataFrame, group: str | None) -> pl.DataFrame:
    """Return the items that a protocol queries: those of one group, or all if the group is None."""
    return items if group is None else items.filter(is_in_group(group))


def has_only_short_texts(max_chars: int) -> pl.Expr:
    """Return an expression that is true for items without a text longer than `max_chars` characters."""
    lengths = pl.element().struct.field("text").str.len_chars()
    return pl.col("texts").list.eval(lengths > max_chars).list.any().not_()


def flag_long_texts(items: Iterable[Item], max_chars: int) -> Iterator[Item]:
    """Add a flaw to items that have a text longer than `max_chars` characters; no request is sent about them."""
    for item in items:
        flaws = [
            f"{item.item_id}: '{name}' has {len(text)} characters, more than text_chars_max ({max_chars}), so no "
            "request is sent and the item counts as missing"
            for name, text in item.texts.items()
            if len(text) > max_chars
        ]
        yield item._replace(flaws=[*item.flaws, *flaws]) if flaws else item


def tag_text_expr(name: str) -> pl.Expr:
    """Return an expression for the text of an item's first tag of this name; null if it has none."""
    tag = pl.element()
    texts = tag.struct.field("text").filter(tag.struct.field("name") == name)
    return pl.col("tags").list.eval(texts).list.first()


FLAWS_METRIC = "flaws"
"""metric that counts the flawed entries of a release"""
MAX_QUOTED_FLAWS = 5
"""number of flaws that a note quotes"""


class Flaws:
    """Errors in a release. Each is logged at once, and stored by entry (such as `row 7`) for the items of the entry."""

    def __init__(self) -> None:
        self._flaws_by_entry: dict[str, list[str]] = defaultdict(list)

    def add(self, entry: str, location: str, flaw: str) -> None:
        """Log a flaw and store it for its entry."""
        log.info(f"{location}: {flaw}")
        self._flaws_by_entry[entry].append(flaw)

    def get(self, entry: str) -> list[str]:
        """Return a list with one text of all flaws of an entry, or an empty list if it has none."""
        flaws = self._flaws_by_entry.get(entry)
        return [f"{entry}: {'; '.join(flaws)}"] if flaws else []


def iterate_entries(
    rows: pl.DataFrame, path: Path, id_column: str, required: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the location of each row of a release (for messages) and its cells as column -> text.

    Args:
        rows: The table of the release.
        path: The file of the table.
        id_column: The column that identifies a row.
        required: Further columns that may not be empty.

    Raises:
        UserError: A required cell is empty, or two rows have the same id.
    """
    row_number_by_id: dict[str, int] = {}
    row_word = "entry" if path.suffix == ".json" else "row"
    for row_number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        location = f"{path}: {row_word} {row_number}"
        for column in (id_column, *required):
            if not row[column].strip():
                raise UserError(f"{location}: '{column}' is empty. Correct the row or remove it.")
        if row[id_column] in row_number_by_id:
            first_number = row_number_by_id[row[id_column]]
            raise UserError(
                f"{location}: {id_column} '{row[id_column]}' is also that of {row_word} {first_number}. "
                "Remove one of them."
            )
        row_number_by_id[row[id_column]] = row_number
        yield location, row


def list_flaws(items: pl.DataFrame) -> list[str]:
    """Return the flaws of all items, each entry once."""
    return items["flaws"].explode().drop_nulls().unique(maintain_order=True).to_list()


def build_flaw_metric_rows(items: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a list with one metric row, which counts the flawed entries and quotes the first; empty without flaws."""
    flaws = list_flaws(items)
    if not flaws:
        return []
    omission_note = (
        f"; and {len(flaws) - MAX_QUOTED_FLAWS} more, all in the log of `annotations`"
        if len(flaws) > MAX_QUOTED_FLAWS
        else ""
    )
    counts = dict.fromkeys(("requested", "scored", "failed", "unparsed", "missing"), 0)
    note = "; ".join(flaws[:MAX_QUOTED_FLAWS]) + omission_note
    return [{"metric": FLAWS_METRIC, "group": "all", "value": float(len(flaws)), "note": note, **counts}]
