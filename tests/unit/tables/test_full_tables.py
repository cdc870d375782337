"""Every table of the papers, full of numbers."""

import re

from reprise.tables.render import render

from tests.unit.tables.full_tables import full_tables

OF_DATA = set(
    ["velociti/table11", "vinoground/table2", "temporalbench/table1", "temporalbench/table5", "mmbench_video/table1"]
)


def test_what_tables_of_models_and_of_data_show() -> None:
    texts = {name: render(table, "md") for name, table in full_tables("rehearsal").items()}
    assert len(texts) == 33, "the tables are those of the papers"
    assert {name for name, text in texts.items() if "published value, and difference" not in text} <= OF_DATA
    assert [name for name in OF_DATA if re.search("failed|readers|convention", texts[name])] == []
    for name, text in texts.items():
        marks = re.findall(r"<sup>([^<]*)</sup>", text.split("\n\n- ")[0])
        letters = list(dict.fromkeys(letter for mark in marks for letter in mark.split(",") if letter.isalpha()))
        assert letters == sorted(letters) and len(letters) <= 5, f"{name}: footnotes come in order and are few"
