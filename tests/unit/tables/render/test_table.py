"""Test the table object: the format of numbers, the best numbers, and the layout of footnotes."""

from dataclasses import replace

from reprise.tables.render.layout import Superscripts, _footnote_letter, compute_layout
from reprise.tables.render.table import (
    BestRule,
    TableNumber,
    TableRow,
    TableSection,
    TextCell,
    format_comparison,
    mark_best,
)

from tests.unit.tables.render.render_examples import cell, small_table


def test_comparisons_are_formatted() -> None:
    assert format_comparison(TableNumber(78.04, published=78.4)) == ("78.4", "−0.4")
    assert format_comparison(TableNumber(1.04, published=0.96)) == ("1.0", "0.0"), (
        "the difference of the printed values"
    )
    assert format_comparison(TableNumber(-3.6, signed=True, published=2.0)) == ("+2.0", "−5.6")
    without_comparison = (
        TableNumber(78.0),
        TableNumber(None, published=78.0),
        TableNumber(78.0, published=78.0, state="published"),
    )
    assert list(map(format_comparison, without_comparison)) == [None] * 3


def mark_rows(*values: float | None, better: BestRule = "highest", **rows: TableRow) -> list[str]:
    """Return `1` for the best of some rows and `2` for the second best."""
    table = small_table(*(TableRow("m", (cell(value),)) for value in values), *rows.values())
    table = replace(table, sections=(*table.sections, TableSection((TableRow("alone", (cell(1),)),))))
    section, section_of_one_row = mark_best(table, 0, better).sections
    assert not any(number.is_best for row in section_of_one_row.rows for number in row.cells[0].numbers)  # type: ignore[union-attr]
    numbers = [row.cells[0].numbers[0] for row in section.rows]  # type: ignore[union-attr]
    return ["1" if number.is_best else "2" if number.is_second_best else "" for number in numbers]


def test_the_best_and_second_best_numbers_are_marked() -> None:
    assert mark_rows(1, 3, 2, better="lowest") == ["1", "", "2"]
    assert mark_rows(67.8, -9.1, 10.7, 0, better="nearest_zero") == ["", "2", "", "1"]
    marks_by_values = {
        (1, 3, 2): ["", "1", "2"], (60, 50, None): ["1", "", ""], (50, 50): ["", ""], (60, 50, 50): ["1", "", ""],
        (0, 0, 0): ["", "", ""], (0.04, -1): ["", ""], (3, 0, -2): ["1", "", ""],
        (50.01, 49.99, 49.9, 49.92, 10): ["1", "1", "2", "2", ""],
    }  # fmt: skip
    assert {values: mark_rows(*values) for values in marks_by_values} == marks_by_values, (
        "the worst number is never second best, and zero is never best"
    )


def test_references_and_incomplete_rows_are_never_marked() -> None:
    human = TableRow("Human", (cell(99),), is_reference=True)
    incomplete = TableRow("incomplete", (cell(97, state="incomplete"),))
    published = TableRow("published", (cell(98, state="published"),))
    imported = TableRow("imported", (cell(60, state="imported"),))
    assert mark_rows(50, 40, human=human, incomplete=incomplete, imported=imported) == ["2", "", "", "", "1"]
    assert mark_rows(60, 50, published=published) == ["2", "", "1"]
    text_row = TableRow("words", (TextCell("-"),))
    rows = [TableRow("a", (cell(50, 9),)), TableRow("b", (cell(60, 1),)), text_row]
    first, second, _ = mark_best(small_table(*rows), 0).rows()
    is_best = [[number.is_best for number in row.cells[0].numbers] for row in (first, second)]  # type: ignore[union-attr]
    assert is_best == [[False, False], [True, False]], "only the first number of a cell is marked"


def test_footnotes_have_letters_in_reading_order() -> None:
    rows = [TableRow(str(index), (cell(1),), notes=notes) for index, notes in enumerate([("x",), ("y", "x")])]
    layout = compute_layout(small_table(*rows))
    assert [row.label[1:] for row in layout.sections[0].rows] == [(Superscripts(("a",)),), (Superscripts(("a", "b")),)]
    assert layout.footnotes == (("a", "x"), ("b", "y"))
    assert [_footnote_letter(index) for index in (0, 25, 26, 51, 52, 701)] == ["a", "z", "aa", "az", "ba", "zz"]
