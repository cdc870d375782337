"""Every table of the suites, and figures, as LaTeX prints them; needs LaTeX, so that `make test` leaves it out."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from reprise.tables.render import render
from reprise.tables.render.latex_document import document, figure, print_document, too_large
from reprise.tables.render.table import Column, Table, TableRow

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, hostile_table, other_table, small_table


def printed(tables: dict[str, Table], folder: Path) -> list[str]:
    fragments = {name: render(table, "tex") for name, table in tables.items()}
    _, log = print_document(document(fragments), folder)
    return [f"{table}: {points} pt too {side}" for table, points, side in too_large(log)]


@pytest.mark.parametrize("suite", ["demo", "paper", "rehearsal"])
def test_every_table_fits_a_page(suite: str, tmp_path: Path) -> None:
    assert printed(full_tables(suite), tmp_path) == []


def test_hostile_texts_compile(tmp_path: Path) -> None:
    tables = {"hostile": hostile_table(), "full": full_table(), "other": other_table()}
    assert printed(tables, tmp_path) == []


def test_the_widest_and_the_tallest_table_fit(tmp_path: Path) -> None:
    """Many columns are scaled down; many rows go over several pages, landscape ones too."""
    wide = small_table(TableRow("m", tuple([cell(10)] * 60)), columns=tuple([Column("A")] * 60))
    tall = small_table(
        *[TableRow(f"m{index}", tuple([cell(10)] * 20)) for index in range(80)], columns=tuple([Column("A")] * 20)
    )
    assert printed({"wide": wide, "tall": tall}, tmp_path) == []


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    fragment = "\\noindent\\rule{400pt}{1pt}\n\n\\begin{table}\\rule{1pt}{600pt}\\end{table}\n"
    _, log = print_document(document({"a/table1": "x\n", "b/table2": fragment}), tmp_path)
    found = [(table, round(points), side) for table, points, side in too_large(log)]
    assert found == [("b/table2", 55, "wide"), ("b/table2", 50, "high")]


@pytest.mark.parametrize("size", [(4.4, 3), (7.2, 5), (7.2, 14), (30, 2)])
def test_a_figure_of_any_size_fits_a_page_with_its_caption(size: tuple[float, float], tmp_path: Path) -> None:
    Figure(figsize=size).savefig(tmp_path / "figure0.pdf")
    page = {"velociti/fig3": figure("figure0.pdf", f"A caption. {HOSTILE} " + "Words that go on. " * 20)}
    _, log = print_document(document(page), tmp_path)
    assert list(too_large(log)) == []


def test_a_figure_with_a_caption_that_no_page_holds_is_named(tmp_path: Path) -> None:
    Figure(figsize=(7.2, 14)).savefig(tmp_path / "figure0.pdf")
    _, log = print_document(document({"velociti/fig3": figure("figure0.pdf", "Words that go on. " * 500)}), tmp_path)
    assert [(name, side) for name, _, side in too_large(log)] == [("velociti/fig3", "high")]
