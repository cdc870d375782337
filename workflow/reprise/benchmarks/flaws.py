"""Flawed entries of a release: they are kept, named and counted, and do not stop the others."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from reprise.core.errors import UserError
from reprise.core.log import log

Row: TypeAlias = dict[str, str]
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


def entries_of(rows: pl.DataFrame, path: Path, name: str, needed: Sequence[str] = ()) -> Iterator[tuple[str, Row]]:
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
