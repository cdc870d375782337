"""Flawed entries of a release: said, kept once an entry, and counted with their names."""

import polars as pl
import pytest
from reprise.benchmarks.flaws import Flaws, flaw_numbers, flaws_of
from reprise.core.schemas import ITEMS

from tests.unit.rows import item_row


def test_an_entry_is_said_and_counted_once_and_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """Two items an entry, as the four of a Vinoground pair share one."""
    flaws = Flaws()
    for number in range(1, 8):
        flaws.add(f"pair {number}", f"rows.csv: row {number + 1}", "no caption")
    flaws.add("pair 1", "rows.csv: row 2", "no category")
    assert (len(caplog.messages), caplog.messages[-1]) == (8, "rows.csv: row 2: no category")
    rows = [item_row(f"{at}/{part}", flaws=flaws.of(f"pair {at}")) for at in range(8) for part in "ab"]
    table = pl.DataFrame(rows, schema=ITEMS)
    assert flaws_of(table)[:2] == ["pair 1: no caption; no category", "pair 2: no caption"]
    (number,) = flaw_numbers(table)
    assert (number["value"], number["asked"]) == (7, 0), "it is no sample"
    assert number["note"].endswith("; pair 5: no caption; and 2 more, all in the log of `annotations`")
    assert flaw_numbers(table.head(2)) == [] == flaw_numbers(table.clear())
