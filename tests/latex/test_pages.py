"""Every table of the suites as LaTeX prints it; needs LaTeX, so that `make test` leaves it out."""

from pathlib import Path

import pytest
from reprise.tables.render import render
from reprise.tables.render.latex_document import document, print_document, too_large
from reprise.tables.render.table import Table

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.render.render_examples import HOSTILE, cell, small_table


def printed(tables: dict[str, Table], folder: Path) -> list[str]:
    """What does not fit its page."""
    fragments = {name: render(table, "tex") for name, table in tables.items()}
    _, log = print_document(document(fragments), folder)
    return [f"{one.table}: {one.points} pt too {one.side}" for one in too_large(log)]


@pytest.mark.parametrize("suite", ["demo", "rehearsal"])
def test_every_table_fits_a_page(suite: str, tmp_path: Path) -> None:
    assert printed(dict(full_tables(suite)), tmp_path) == []
