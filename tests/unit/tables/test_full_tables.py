"""Every table of the suites, full of numbers: what all formats show."""

import re

import pytest
from reprise.tables.render import render
from reprise.tables.render.latex_fit import fitting_print

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.render.latex_checker import check_fragment

SUITES = ("demo", "rehearsal")
OF_DATA = {
    "velociti/table11",
    "vinoground/table2",
    "temporalbench/table1",
    "temporalbench/table5",
    "mmbench_video/table1",
}


@pytest.mark.parametrize("suite", SUITES)
def test_the_tables_are_those_of_the_papers(suite: str) -> None:
    assert len(full_tables(suite)) == 33


def test_every_table_with_models_shows_differences_from_published_numbers() -> None:
    texts = {name: render(table, "md") for name, table in full_tables("rehearsal").items()}
    assert {name for name, text in texts.items() if "published value, and difference" not in text} <= OF_DATA


def test_a_table_of_the_data_says_nothing_of_answers() -> None:
    texts = {name: render(full_tables("rehearsal")[name], "md") for name in OF_DATA}
    assert [name for name, text in texts.items() if re.search("failed|readers|convention", text)] == []


@pytest.mark.parametrize("suite", SUITES)
def test_every_fragment_is_sound_and_fits_a_line_without_being_squeezed(suite: str) -> None:
    for table in full_tables(suite).values():
        check_fragment(render(table, "tex"))
    assert [name for name, table in full_tables(suite).items() if fitting_print(table)[0].squeezed] == []


@pytest.mark.parametrize("suite", SUITES)
def test_footnotes_come_in_order_and_are_few(suite: str) -> None:
    found = {name: footnotes(render(table, "md")) for name, table in full_tables(suite).items()}
    assert [name for name, letters in found.items() if letters != sorted(letters)] == []
    assert [name for name, letters in found.items() if len(letters) > 5] == []


def footnotes(text: str) -> list[str]:
    """The letters of footnotes by the first place where they stand."""
    marks = re.findall(r"<sup>([^<]*)</sup>", text.split("\n\n- ")[0])
    return list(dict.fromkeys(letter for mark in marks for letter in mark.split(",") if letter.isalpha()))
