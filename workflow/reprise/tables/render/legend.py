"""The legend of a table: every print and symbol that occurs in it, and no other."""

import re
from itertools import chain

from reprise.tables.render.pieces import Line, Marks, Span, heading
from reprise.tables.render.table import EN_DASH, MINUS, State, Table, Text, compared, numbers_of

MARKS: dict[State, str] = {"published": "†", "imported": "‡", "incomplete": "§", "not run": "¶", "lost": "‖"}

MEANING: dict[State, str] = {
    "published": "Published value in italics, not reproduced here.",
    "imported": "Scored here from answers made elsewhere.",
    "incomplete": "Incomplete: some of its items were not asked.",
    "not run": "Not run.",
    "lost": "Not run; the paper's number is lost in its extracted text.",
}

GREYED = "°"
NO_BREAK = "\N{NO-BREAK SPACE}"  # a symbol alone at the end of a line would explain nothing


def legend(table: Table, *, stacked: bool = False) -> tuple[Line, ...]:
    """The lines that explain what occurs in this table."""
    numbers = [number for row in table.rows() for number in numbers_of(row)]
    shown = [number for number in numbers if number.value is not None]
    states = {number.state for number in numbers}
    best, second = any(number.best for number in shown), any(number.second for number in shown)
    significant = any(number.significant for number in shown)
    by_best = table.bold == "best"
    references = ["references"] if any(row.reference for row in table.rows()) else []
    aside = " and ".join(references + (["incomplete numbers"] if "incomplete" in states else []))
    of_rows = f"best of its group of rows{f' ({aside} aside)' if aside else ''}."
    place = "Below the numbers" if stacked else "In parentheses"
    lines: list[tuple[bool, Line]] = [
        (by_best and best, (Span("Bold", bold=True), Span(f": {of_rows}"))),
        (by_best and second, (Span("Underlined", underlined=True), Span(f": second {of_rows}"))),
        (by_best and significant, (Marks(("*",)), Span(f"{NO_BREAK}{table.significance}."))),
        (not by_best and significant, (Span("Bold", bold=True), Span(f": {table.significance}."))),
        (not by_best and best, (Span("Underlined", underlined=True), Span(f": {of_rows}"))),
        *((state in states, (Marks((MARKS[state],)), Span(f"{NO_BREAK}{MEANING[state]}"))) for state in MARKS),
        (
            any(number.greyed for number in shown),
            (Marks((GREYED,)), Span(f"{NO_BREAK}Grey: of too few frames to show what is asked; competes with none.")),
        ),
        (len(shown) < len(numbers), (Span(f"{EN_DASH}: no value."),)),
        (
            table.comparison and any(map(compared, numbers)),
            (Span(f"{place}: published value, and difference (here {MINUS} published)."),),
        ),
        (any(number.interval for number in shown), (Span("A range in parentheses: the interval of a number."),)),
    ]
    if found := _abbreviations(table):
        ends = ["; "] * (len(found) - 1) + ["."]
        named = ((heading(short), Span(f": {long}{end}")) for (short, long), end in zip(found, ends, strict=True))
        lines.append((True, tuple(chain.from_iterable(named))))
    return tuple(line for is_needed, line in lines if is_needed)


def _abbreviations(table: Table) -> list[tuple[str, str]]:
    """The abbreviations that occur in a table, in reading order, with their meaning; of several the longest counts."""
    if not table.abbreviations:
        return []
    texts = [table.stub]
    for group in table.groups:
        texts += [group.header, *(column.header for column in group.columns)]
    for section in table.sections:
        texts.append(section.title)
        for row in section.rows:
            texts += [row.label, *(cell.text for cell in row.cells if isinstance(cell, Text))]
    longest_first = "|".join(map(re.escape, sorted(table.abbreviations, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W\d])(?:{longest_first})(?!\w)")  # also after a number, as in 8f
    used = dict.fromkeys(short for text in texts for short in pattern.findall(text))
    return [(short, table.abbreviations[short]) for short in used]
