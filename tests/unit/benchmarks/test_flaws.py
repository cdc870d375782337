"""Flawed entries of a release: said, kept once an entry, and counted with their names."""

import polars as pl
import pytest
from reprise.benchmarks.flaws import Flaws, flaw_numbers, flaws_of
from reprise.core.schemas import ITEMS, METRICS

from tests.unit.rows import item_row


def items_of(flaws: Flaws, entries: list[str]) -> pl.DataFrame:
    """Two items an entry, as the four of a Vinoground pair share one."""
    rows = [item_row(f"{entry}/{part}", groups=["subset"], flaws=flaws.of(entry)) for entry in entries for part in "ab"]
    return pl.DataFrame(rows, schema=ITEMS)


def test_an_entry_is_said_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    flaws = Flaws()
    flaws.add("pair 1", "rows.csv: row 2", "no category")
    flaws.add("pair 1", "rows.csv: row 2", "no caption")
    assert caplog.messages == ["rows.csv: row 2: no category", "rows.csv: row 2: no caption"]
    items = items_of(flaws, ["pair 0", "pair 1"])
    assert flaws_of(items) == ["pair 1: no category; no caption"]
    (number,) = flaw_numbers(items)
    assert (number["value"], number["note"]) == (1, "pair 1: no category; no caption")
    assert pl.DataFrame([number], schema=METRICS)["asked"].to_list() == [0], "it is no sample"


def test_a_release_without_flaws_has_no_such_number() -> None:
    assert flaw_numbers(items_of(Flaws(), ["pair 0"])) == []
    assert flaw_numbers(items_of(Flaws(), [])) == []


def test_many_flaws_are_counted_and_the_first_are_named() -> None:
    flaws = Flaws()
    entries = [f"pair {number}" for number in range(8)]
    for entry in entries:
        flaws.add(entry, entry, "bad")
    (number,) = flaw_numbers(items_of(flaws, entries))
    assert number["value"] == 8
    assert number["note"].startswith("pair 0: bad; pair 1: bad;")
    assert number["note"].endswith("pair 4: bad; and 3 more, all in the log of `annotations`")
