"""Every table of the suites, full of numbers: what all formats show."""

import re

import pytest
from reprise.tables.render import render
from reprise.tables.render.latex_fit import fitting_print

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.render.latex_checker import check_fragment

SUITES = ("demo", "rehearsal")
NAMES = sorted(full_tables("rehearsal"))
OF_DATA = {
    "velociti/table11",
    "vinoground/table2",
    "temporalbench/table1",
    "temporalbench/table5",
    "mmbench_video/table1",
}


def test_the_tables_are_those_of_the_papers() -> None:
    assert len(NAMES) == 33


def test_every_table_with_models_shows_differences_from_published_numbers() -> None:
    texts = {name: render(table, "md") for name, table in full_tables("rehearsal").items()}
    assert {name for name, text in texts.items() if "published value, and difference" not in text} <= OF_DATA


@pytest.mark.parametrize("name", sorted(OF_DATA))
def test_a_table_of_the_data_says_nothing_of_answers(name: str) -> None:
    text = render(full_tables("rehearsal")[name], "md")
    assert not re.search("failed|readers|convention", text)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", NAMES)
def test_a_fragment_is_sound_and_fits_a_line_without_being_squeezed(suite: str, name: str) -> None:
    table = full_tables(suite)[name]
    check_fragment(render(table, "tex"))
    assert not fitting_print(table)[0].squeezed


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", NAMES)
def test_footnotes_come_in_order_and_are_at_most_one_a_row(suite: str, name: str) -> None:
    text = render(full_tables(suite)[name], "md")
    used = [
        letter for marks in re.findall(r"<sup>([^<]*)</sup>", text.split("\n\n- ")[0]) for letter in marks.split(",")
    ]
    letters = list(dict.fromkeys(letter for letter in used if letter.isalpha()))
    assert letters == sorted(letters, key=lambda letter: (len(letter), letter))
    assert len(letters) <= 12
