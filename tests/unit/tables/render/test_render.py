"""Whole tables in every format against stored ones; `REPRISE_UPDATE_SNAPSHOTS=1` writes them anew."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from reprise.tables.render import FORMATS, collect, render, terminal
from reprise.tables.render.table import TableRow

from tests.unit.tables.render import render_examples as examples
from tests.unit.tables.render.render_examples import cell, full_table, hostile_table, other_table, small_table

SNAPSHOTS = Path(__file__).with_name("snapshots")
EXAMPLES = {"full": full_table, "other": other_table, "hostile": hostile_table, "signs": examples.signs_table}


def rendered(name: str, form: str) -> str:
    table = EXAMPLES[name]()
    return terminal.render(table, 100, terminal.Print()) if form == "txt" else render(table, form)


@pytest.mark.parametrize("form", [*FORMATS, "txt"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_table_is_as_it_was(name: str, form: str) -> None:
    text, path = rendered(name, form), SNAPSHOTS / f"{name}.{form}"
    if os.environ.get("REPRISE_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8") == rendered(name, form)


def test_hostile_texts_stay_texts() -> None:
    """No element of HTML, no command of LaTeX, no cell of Markdown that a text adds."""
    page = rendered("hostile", "html")
    assert "<script" not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 8
    source = rendered("hostile", "tex")
    assert source.isascii() and all(line.startswith("%") for line in source.splitlines() if "\\input" in line)
    text = rendered("hostile", "md")
    assert set(re.findall(r"</?[a-z]*>", text)) == {
        *("<details>", "</details>", "<summary>", "</summary>", "<sup>", "</sup>")
    }
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")} == {4}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", rendered("hostile", "txt"))


@pytest.mark.parametrize("form", FORMATS)
def test_pages_of_several_tables_are_one(form: str) -> None:
    parts = [render(table, form) for table in (full_table(), other_table())]
    joined = collect("Tables <5>", parts, form)
    if form == "html":
        assert [joined.count(tag) for tag in ("<!DOCTYPE html>", "<main>", "<style>", "<table>")] == [1, 1, 1, 2]
        assert "<h1>Tables &lt;5&gt;</h1>" in joined and "://" not in joined and "@import" not in joined
        assert collect("A", [joined, joined], form).count("<table>") == 4
    else:
        assert joined.endswith("\n".join(parts))
        assert joined.splitlines()[0] == {"tex": "% Tables <5>", "md": "## Tables &lt;5&gt;"}[form]


def test_a_long_table_of_latex_goes_on_in_further_floats() -> None:
    rows = [TableRow(f"m{index}", (cell(index),)) for index in range(80)]
    source = render(replace(small_table(*rows), notes=("Last.",)), "tex")
    assert source.count(r"\begin{table}") == source.count("Model & Avg") == 3 and source.count("Last.") == 1
    assert source.count(r"\caption{") == source.count(r"\label{") == 1 and source.count(", continued") == 2
    assert all(f"m{index} & " in source for index in range(80))
