"""Tables in a terminal: whatever the width, every number, mark and footnote is there and no line is too long."""

import re
from dataclasses import replace

import pytest
from reprise.tables.render.table import Cell, Column, ColumnGroup, Number, Section, Table, TableRow
from reprise.tables.render.terminal import Print, render

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
STYLED = Print(styled=True, coloured=True)


def table(columns: int = 4, comparison: bool = False, label: str = "A model") -> Table:
    def row(name: str, first: float) -> TableRow:
        numbers = [Number(first + at, published=50.0 if comparison else None) for at in range(columns - 1)]
        best = Number(first + columns - 1, best=True, notes=("Of up to 9 samples: 1 failed.",))
        return TableRow(name, tuple(Cell((number,)) for number in (*numbers, best)))

    headers = tuple(Column(f"Test {at}") for at in range(columns))
    return Table(
        title="Scores",
        origin="VELOCITI, Table 2",
        caption="A caption of some length, so that it has to be broken into more than one line on a narrow screen.",
        label="tab:x",
        stub="Model",
        groups=(ColumnGroup(headers[:2], "First group"), ColumnGroup(headers[2:])),
        sections=(Section((row(label, 10.25),)), Section((row("Another", 90.0),), "Open models")),
        notes=("A remark.",),
        comparison=comparison,
    )


@pytest.mark.parametrize("width", [40, 120, 300])
@pytest.mark.parametrize("columns", [1, 20])
@pytest.mark.parametrize("comparison", [False, True])
@pytest.mark.parametrize("look", [Print(), STYLED])
def test_every_width_shows_every_number(width: int, columns: int, comparison: bool, look: Print) -> None:
    shown = ESCAPE.sub("", render(table(columns, comparison), width, look))
    assert max(map(len, shown.splitlines())) <= width
    for number in (10.25 + at for at in range(columns)):
        assert shown.count(f"{number:.1f}") >= 1
    assert shown.count("Another") == shown.count("A model") == shown.count("Open models"), "labels are repeated"
    assert "Of up to 9 samples: 1 failed." in " ".join(shown.split()) and "A remark." in shown
    assert (comparison and columns > 1) == ("published value" in " ".join(shown.split()))


def test_print_is_the_terminals_own_or_a_sign_that_the_legend_explains() -> None:
    warned = replace(table(2), warnings=("A run looks broken.",))
    plain, styled = render(warned, 80, Print()), render(warned, 80, STYLED)
    assert "[91.0]ᵃ" in plain and "[Bold]: best" in plain and "\nA run looks broken.\n" in plain and "\x1b" not in plain
    assert "\x1b[1m91.0\x1b[0mᵃ" in styled and "\x1b[1;36mOpen models\x1b[0m" in styled
    assert "\x1b[1;31mA run looks broken.\x1b[0m" in styled
    assert "\x1b[1mOpen models" in render(warned, 80, Print(styled=True)), "no colour where none is wanted"
