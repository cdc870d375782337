"""Test that the tutorial shows the numbers of the demo's tables. Run it after `make demo`, as CI does."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ANSWER_POINTS = 2.5
"""Percentage points of one of a test's 40 pairs: one of the toy model's answers may differ between processors."""


def documented_values() -> dict[tuple[str, str], float]:
    """Return the values of the tutorial's first table by row and column."""
    text = (ROOT / "docs/tutorial.md").read_text()
    block = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]
    (_, *columns), *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return {(row, column): float(cell) for row, *cells in rows for column, cell in zip(columns, cells, strict=True)}


def test_the_tutorial_shows_the_demo_s_numbers() -> None:
    with (ROOT / "results/tables/velociti/table9.csv").open() as stream:
        cells = {(row["row"], row["column"]): row for row in csv.DictReader(stream) if row["convention"] == "fixed"}
    assert {cells[place]["suite"] for place in documented_values()} == {"demo"}
    for cell, value in documented_values().items():
        assert float(cells[cell]["value"]) == pytest.approx(value, abs=ANSWER_POINTS), cell
