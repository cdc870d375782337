"""The table object: how numbers print, which are best, what is laid out."""

from dataclasses import replace

import pytest
from reprise.tables.render.layout import Marks, _letter, lay_out
from reprise.tables.render.table import Better, Number, Section, TableRow, Text, compared, format_value, mark_best

from tests.unit.tables.render.render_examples import cell, small_table


@pytest.mark.parametrize(
    ("value", "decimals", "signed", "printed"),
    [
        (43.16, 1, False, "43.2"),
        (16.6667, 2, False, "16.67"),
        (1.55, 0, False, "2"),
        (None, 1, True, "–"),
        (float("nan"), 1, False, "NaN"),
        (-10.3, 1, False, "−10.3"),
        (-0.04, 1, False, "0.0"),
        (3.6, 1, True, "+3.6"),
        (-0.04, 1, True, "+0.0"),
    ],
)
def test_print(value: float | None, decimals: int, signed: bool, printed: str) -> None:
    assert format_value(value, decimals, signed=signed) == printed


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (Number(78.04, published=78.4), ("78.4", "−0.4")),
        (Number(1.04, published=0.96), ("1.0", "+0.0")),  # as the printed values differ
        (Number(-3.6, signed=True, published=2.0), ("+2.0", "−5.6")),
        (Number(78.0), None),
        (Number(None, published=78.0), None),
        (Number(78.0, published=78.0, state="published"), None),
    ],
)
def test_comparison(number: Number, printed: tuple[str, str] | None) -> None:
    assert compared(number) == printed


def marks_of(*values: float | None, better: Better = "highest", **rows: TableRow) -> list[str]:
    """`1` for the best of some rows, `2` for the second best."""
    table = small_table(*(TableRow("m", (cell(value),)) for value in values), *rows.values())
    table = replace(table, sections=(*table.sections, Section((TableRow("alone", (cell(1),)),))))
    first, alone = mark_best(table, 0, better).sections
    assert not any(one.best for row in alone.rows for one in row.cells[0].numbers)  # type: ignore[union-attr]
    numbers = [row.cells[0].numbers[0] for row in first.rows]  # type: ignore[union-attr]
    return ["1" if number.best else "2" if number.second else "" for number in numbers]


@pytest.mark.parametrize(
    ("values", "better", "marks"),
    [
        ([1, 3, 2], "highest", ["", "1", "2"]),
        ([1, 3, 2], "lowest", ["1", "", "2"]),
        ([67.8, -9.1, 10.7, 0], "nearest_zero", ["", "2", "", "1"]),
        ([50.01, 49.99, 49.9, 49.92, 10], "highest", ["1", "1", "2", "2", ""]),  # as printed
        ([60, 50, None], "highest", ["1", "", ""]),  # the worst is neither best nor second best
        ([50, 50], "highest", ["", ""]),
        ([60, 50, 50], "highest", ["1", "", ""]),
        ([0, 0, 0], "highest", ["", "", ""]),  # a score of zero is no achievement
        ([0.04, -1], "highest", ["", ""]),
        ([3, 0, -2], "highest", ["1", "", ""]),
    ],
)
def test_best_and_second_best(values: list[float | None], better: Better, marks: list[str]) -> None:
    assert marks_of(*values, better=better) == marks


def test_who_competes() -> None:
    human = TableRow("Human", (cell(99),), reference=True)
    incomplete = TableRow("incomplete", (cell(97, state="incomplete"),))
    published = TableRow("published", (cell(98, state="published"),))
    imported = TableRow("imported", (cell(60, state="imported"),))
    assert marks_of(50, 40, human=human, incomplete=incomplete, imported=imported) == ["2", "", "", "", "1"]
    assert marks_of(60, 50, published=published) == ["2", "", "1"]
    words = TableRow("words", (Text("-"),))
    both = [TableRow("a", (cell(50, 9),)), TableRow("b", (cell(60, 1),)), words]
    first, second, _ = mark_best(small_table(*both), 0).rows()
    assert [[number.best for number in row.cells[0].numbers] for row in (first, second)] == [  # type: ignore[union-attr]
        [False, False],
        [True, False],
    ], "of several numbers in a cell the first"


def test_footnotes_have_letters_in_reading_order() -> None:
    rows = [TableRow(str(at), (cell(1),), notes=notes) for at, notes in enumerate([("x",), ("y", "x")])]
    found = lay_out(small_table(*rows))
    assert [row.label[1:] for row in found.sections[0].rows] == [(Marks(("a",)),), (Marks(("a", "b")),)]
    assert found.footnotes == (("a", "x"), ("b", "y"))
    assert [_letter(index) for index in (0, 25, 26, 51, 52, 701)] == ["a", "z", "aa", "az", "ba", "zz"]
