"""The legend of a table: every print and symbol that occurs in it, and no other."""

from collections.abc import Iterator
from typing import NamedTuple

from reprise.tables.render.numbers import EN_DASH, MINUS, format_comparison
from reprise.tables.render.pieces import Line, Marks, Span
from reprise.tables.render.table import Number, State, Table, numbers_of

MARKS: dict[State, str] = {"published": "†", "imported": "‡", "incomplete": "§", "not run": "¶", "lost": "‖"}

MEANING: dict[State, str] = {
    "published": "Published value in italics, not reproduced here.",
    "imported": "Scored here from answers made elsewhere.",
    "incomplete": "Incomplete: some of its items were not asked.",
    "not run": "Not run.",
    "lost": "Not run; the paper's number is lost in its extracted text.",
}

NO_BREAK = "\N{NO-BREAK SPACE}"  # a symbol alone at the end of a line would explain nothing


class Entry(NamedTuple):
    """One line of the legend and whether the table needs it."""

    needed: bool
    line: Line


def legend(table: Table) -> tuple[Line, ...]:
    """The lines that explain what occurs in this table."""
    numbers = [number for row in table.rows() for number in numbers_of(row)]
    return tuple(entry.line for entry in entries(table, numbers) if entry.needed)


def entries(table: Table, numbers: list[Number]) -> Iterator[Entry]:
    """All lines that a legend can have, in order."""
    shown = [number for number in numbers if number.value is not None]
    best, second = any(number.best for number in shown), any(number.second for number in shown)
    significant = any(number.significant for number in shown)
    by_best = table.bold == "best"
    references = ["references"] if any(row.reference for row in table.rows()) else []
    gaps = ["incomplete numbers"] if any(number.state == "incomplete" for number in shown) else []
    aside = " and ".join(references + gaps)
    of_rows = f"best of its group of rows{f' ({aside} aside)' if aside else ''}."
    yield Entry(by_best and best, (Span("Bold", bold=True), Span(f": {of_rows}")))
    yield Entry(by_best and second, (Span("Underlined", underlined=True), Span(f": second {of_rows}")))
    yield Entry(by_best and significant, (Marks(("*",)), Span(f"{NO_BREAK}{table.significance}.")))
    yield Entry(not by_best and significant, (Span("Bold", bold=True), Span(f": {table.significance}.")))
    yield Entry(not by_best and best, (Span("Underlined", underlined=True), Span(f": {of_rows}")))
    for state, symbol in MARKS.items():
        yield Entry(
            any(number.state == state for number in numbers), (Marks((symbol,)), Span(f"{NO_BREAK}{MEANING[state]}"))
        )
    yield Entry(len(shown) < len(numbers), (Span(f"{EN_DASH}: no value."),))
    compared = table.comparison and any(format_comparison(number) for number in numbers)
    yield Entry(compared, (Span(f"In parentheses: published value, and difference (here {MINUS} published)."),))
