"""The numbers of the demo that the tutorial shows are those of its tables. To be run after `make demo`, as CI does."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONE_ANSWER = 2.5
"""Points that one of a test's 40 pairs is worth: a processor may tip one of the toy model's answers."""


def shown() -> dict[tuple[str, str], float]:
    """The first table of the tutorial, by row and column."""
    text = (ROOT / "docs/tutorial.md").read_text()
    block = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]
    (_, *columns), *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return {(row, column): float(cell) for row, *cells in rows for column, cell in zip(columns, cells, strict=True)}


def test_the_tutorial_shows_the_demo_s_numbers() -> None:
    with (ROOT / "results/tables/velociti/table9.csv").open() as stream:
        made = {(row["row"], row["column"]): row for row in csv.DictReader(stream) if row["convention"] == "fixed"}
    assert {made[place]["suite"] for place in shown()} == {"demo"}
    for place, value in shown().items():
        assert float(made[place]["value"]) == pytest.approx(value, abs=ONE_ANSWER), place
