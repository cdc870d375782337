"""Test all tables of the suites, and figures, with LaTeX. `make test` skips this folder, because LaTeX may be missing."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from reprise.tables.render import render
from reprise.tables.render.latex_document import build_document, build_figure, compile_pdf, find_oversized
from reprise.tables.render.table import Table, TableColumn, TableRow

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, hostile_table, other_table, small_table


def oversized_tables(tables: dict[str, Table], folder: Path) -> list[str]:
    fragments = {name: render(table, "tex") for name, table in tables.items()}
    _, log = compile_pdf(build_document(fragments), folder)
    return [f"{table}: {points} pt too {side}" for table, points, side in find_oversized(log)]


@pytest.mark.parametrize("suite", ["demo", "paper", "rehearsal"])
def test_every_table_fits_a_page(suite: str, tmp_path: Path) -> None:
    assert oversized_tables(full_tables(suite), tmp_path) == []


def test_hostile_texts_compile(tmp_path: Path) -> None:
    tables = {"hostile": hostile_table(), "full": full_table(), "other": other_table()}
    assert oversized_tables(tables, tmp_path) == []


def test_the_widest_and_the_tallest_table_fit(tmp_path: Path) -> None:
    """Many columns are scaled down, and many rows continue on further pages, also in landscape."""
    wide = small_table(TableRow("m", tuple([cell(10)] * 60)), columns=tuple([TableColumn("A")] * 60))
    tall = small_table(
        *[TableRow(f"m{index}", tuple([cell(10)] * 20)) for index in range(80)], columns=tuple([TableColumn("A")] * 20)
    )
    assert oversized_tables({"wide": wide, "tall": tall}, tmp_path) == []


def test_tables_that_do_not_fit_are_named(tmp_path: Path) -> None:
    fragment = "\\noindent\\rule{400pt}{1pt}\n\n\\begin{table}\\rule{1pt}{600pt}\\end{table}\n"
    _, log = compile_pdf(build_document({"a/table1": "x\n", "b/table2": fragment}), tmp_path)
    oversized = [(table, round(points), side) for table, points, side in find_oversized(log)]
    assert oversized == [("b/table2", 55, "wide"), ("b/table2", 50, "high")]


@pytest.mark.parametrize("size", [(4.4, 3), (7.2, 5), (7.2, 14), (30, 2)])
def test_a_figure_of_any_size_fits_a_page_with_its_caption(size: tuple[float, float], tmp_path: Path) -> None:
    Figure(figsize=size).savefig(tmp_path / "figure0.pdf")
    page = {"velociti/fig3": build_figure("figure0.pdf", f"A caption. {HOSTILE} " + "Words that go on. " * 20)}
    _, log = compile_pdf(build_document(page), tmp_path)
    assert list(find_oversized(log)) == []


def test_a_figure_with_a_caption_longer_than_a_page_is_named(tmp_path: Path) -> None:
    Figure(figsize=(7.2, 14)).savefig(tmp_path / "figure0.pdf")
    _, log = compile_pdf(
        build_document({"velociti/fig3": build_figure("figure0.pdf", "Words that go on. " * 500)}), tmp_path
    )
    assert [(name, side) for name, _, side in find_oversized(log)] == [("velociti/fig3", "high")]
