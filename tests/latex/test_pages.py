"""Test all tables of the suites, and figures, with LaTeX. `make test` skips this folder, because LaTeX may be missing."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from reprise.tables.render import render
from reprise.tables.render.latex_document import build_document, build_figure, compile_pdf, find_oversized
from reprise.tables.render.table import Table, TableColumn, TableRow

from tests.unit.tables.full_tables import full_overviews, full_tables
from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, hostile_table, other_table, small_table

ARTICLE = r"\documentclass[a4paper]{article}"
TWO_COLUMNS = (  # as CVPR
    r"\documentclass[10pt,twocolumn]{article}\usepackage{times}"
    r"\usepackage[letterpaper,textwidth=6.875in,textheight=8.875in,columnsep=0.3125in]{geometry}"
)
ONE_COLUMN = (  # as NeurIPS
    r"\documentclass{article}\usepackage{times}\usepackage[letterpaper,textwidth=5.5in,textheight=9in]{geometry}"
)
PAGE_LAYOUTS = {"article": ARTICLE, "one-column": ONE_COLUMN, "two-columns": TWO_COLUMNS}


def oversized_tables(tables: dict[str, Table], folder: Path, page_layout: str = ARTICLE) -> list[str]:
    fragments = {name: render(table, "tex") for name, table in tables.items()}
    _, log = compile_pdf(build_document(fragments, page_layout), folder)
    return [f"{table}: {points} pt too {side}" for table, points, side in find_oversized(log)]


@pytest.mark.parametrize("page_layout", PAGE_LAYOUTS)
@pytest.mark.parametrize("suite", ["demo", "paper", "rehearsal"])
def test_every_table_fits_a_page(suite: str, page_layout: str, tmp_path: Path) -> None:
    tables = full_tables(suite) | full_overviews(suite)
    assert oversized_tables(tables, tmp_path, PAGE_LAYOUTS[page_layout]) == []


def test_hostile_texts_compile(tmp_path: Path) -> None:
    """Hostile texts end no table and no document. They are too long for a page."""
    tables = {"hostile": hostile_table(), "full": full_table(), "other": other_table()}
    assert {name.partition(":")[0] for name in oversized_tables(tables, tmp_path)} == {"hostile"}


def test_a_wide_or_tall_table_fits_and_only_an_unreadable_table_is_named(tmp_path: Path) -> None:
    """Wide tables are turned, and tall tables continue on further pages. A table of 60 columns fits no page."""
    tables = {
        f"{count} columns": small_table(
            *[TableRow(f"m{index}", tuple([cell(10)] * count)) for index in range(rows)],
            columns=tuple([TableColumn("A")] * count),
        )
        for count, rows in ((20, 80), (27, 80), (60, 1))
    }
    oversized = oversized_tables(tables, tmp_path)
    assert [name.partition(":")[0] for name in oversized] == ["60 columns"]


def test_tables_that_do_not_fit_are_named(tmp_path: Path) -> None:
    fragment = "\\noindent\\rule{400pt}{1pt}\n\n\\begin{table}\\rule{1pt}{648pt}\\end{table}\n"
    _, log = compile_pdf(build_document({"a/table1": "x\n", "b/table2": fragment}, ARTICLE), tmp_path)
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
