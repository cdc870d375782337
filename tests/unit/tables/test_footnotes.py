"""Test that the texts below all tables of the suites make sense in a paper."""

import re

import pytest

from tests.unit.tables.full_tables import full_tables

# Paths, file names, source code, names of runs and slugs of models in parentheses.
INTERNAL_NAME = re.compile(
    r"\b(config|resources|results|docs)/|\.(yaml|md|py)\b|`|\w/\w+/\w+/|\([a-z\d.]+(-[a-z\d.]+)+\)"
)


@pytest.mark.parametrize("suite", ["demo", "paper", "rehearsal", "construction"])
def test_no_footnote_has_an_internal_name(suite: str) -> None:
    for name, table in full_tables(suite).items():
        rows = list(table.rows())
        numbers = [number for row in rows for cell in row.cells for number in getattr(cell, "numbers", ())]
        notes = [note for part in (*rows, *numbers) for note in part.notes]
        for text in (table.caption, *table.notes, *table.warnings, *notes):
            assert not INTERNAL_NAME.search(text), f"{name}: {text}"


@pytest.mark.parametrize("text", ["see config/models/a.yaml", "Judged by A (a-7b).", "b/entail/fps1/a failed", "`low`"])
def test_internal_names_are_recognized(text: str) -> None:
    assert INTERNAL_NAME.search(text)
