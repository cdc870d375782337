"""How a table is made to fit: what is tried in which order, and what TeX itself says of the widths."""

import pytest
from reprise.tables.render import Cell, Column, ColumnGroup, Number, Section, Table, TableRow
from reprise.tables.render.latex_fit import (
    LINE_PT,
    READABLE,
    SMALL,
    Body,
    Print,
    fitting_print,
    header_lines,
    total_width,
    ways,
)
from reprise.tables.render.latex_widths import width_in_digits
from reprise.tables.render.pieces import Marks, Span, plain_text

from tests.unit.tables.render.render_examples import cell, small_table


def table_of(columns: int, header: str = "A", published: float | None = None) -> Table:
    """A table of comparison with one row."""
    row = TableRow("m", tuple([Cell((Number(10, published=published),))] * columns))
    return Table(
        "T", "C", "t", "M", (ColumnGroup(tuple([Column(header)] * columns)),), (Section((row,)),), comparison=True
    )


def test_the_first_way_is_the_largest_print_and_nothing_is_tried_twice() -> None:
    tried = list(ways(has_comparisons=True))
    assert tried[0] == Print(READABLE[0])
    assert len(tried) == len(set(tried))
    assert not any(way.stacked for way in ways(has_comparisons=False))


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (table_of(4), {"stacked": False, "headers": "whole", "landscape": False}),
        (table_of(4, published=20.0), {"stacked": False, "headers": "whole", "landscape": False}),
        (table_of(9, published=20.0), {"stacked": True, "headers": "whole", "landscape": False}),
        (table_of(9, header="Action Order"), {"stacked": False, "headers": "broken", "landscape": False}),
        (table_of(11, header="ActionOrder"), {"stacked": False, "headers": "upright", "landscape": False}),
        (table_of(20), {"landscape": True, "squeezed": False}),
        (table_of(60), {"landscape": True, "squeezed": True}),
    ],
)
def test_a_wider_table_is_printed_otherwise(table: Table, wanted: dict[str, object]) -> None:
    way, _ = fitting_print(table)
    assert {name: getattr(way, name) for name in wanted} == wanted


def test_no_way_that_is_taken_is_wider_than_its_line() -> None:
    for columns in range(1, 25):
        way, layout = fitting_print(table_of(columns, "Header", 20.0))
        assert way.squeezed or total_width(layout, way) <= way.line_pt


@pytest.mark.parametrize(("rows", "is_long"), [(10, False), (80, True)])
def test_many_rows_go_over_several_pages(rows: int, is_long: bool) -> None:
    table = small_table(*[TableRow("m", (cell(1),)) for _ in range(rows)])
    assert fitting_print(table)[0].long is is_long


@pytest.mark.parametrize(
    ("header", "body_pt", "lines"),
    [
        ("Number of Samples", 10, ["Number", "of", "Samples"]),
        ("Number of Samples", 60, ["Number of", "Samples"]),
        ("T-ActivityNet", 20, ["T-", "ActivityNet"]),
        ("Avg", 5, ["Avg"]),
        ("", 5, [""]),
    ],
)
def test_headers_are_broken_no_more_than_the_column_needs(header: str, body_pt: float, lines: list[str]) -> None:
    broken = header_lines((Span(header), Marks(("a",))), Body(body_pt, 0), Print(READABLE[0], headers="broken"))
    assert [plain_text(line[:1]) for line in broken] == lines
    assert broken[-1][-1] == Marks(("a",))
    assert all(len(line) == 1 for line in broken[:-1])


@pytest.mark.parametrize(
    ("text", "points"),  # as TeX measures them in \small of Computer Modern
    [
        ("94.9", 16.44),
        ("LLaVA-OneVision-72B", 92.93),
        ("Phi-3-Vision-128k-Instruct", 107.39),
        ("Average", 32.66),
        ("(83.0, −34.2)", 52.93),
        ("ShareGPT4Video-8B-[16f*]", 110.06),
        ("Number of Samples", 79.22),
    ],
)
def test_widths_are_those_of_tex_to_a_few_percent(text: str, points: float) -> None:
    assert points <= width_in_digits(text) * SMALL.digit_pt <= points * 1.08


def test_a_sign_that_latex_lacks_is_as_wide_as_its_code_point() -> None:
    assert width_in_digits("中") == width_in_digits("[U+4E2D]")


def test_the_line_is_that_of_article() -> None:
    assert LINE_PT == 345
