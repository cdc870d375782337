"""Test rendered tables: in every format against snapshots, in terminals of any width, and as one LaTeX document.

`REPRISE_UPDATE_SNAPSHOTS=1` rewrites the snapshots.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.tables.render import FORMATS, combine_tables, render, terminal
from reprise.tables.render.latex_document import build_document, build_figure, compile_pdf, find_oversized
from reprise.tables.render.latex_text import escape
from reprise.tables.render.table import TableRow

from tests.unit.tables.render import render_examples as examples
from tests.unit.tables.render.render_examples import cell, full_table, hostile_table, other_table, small_table

SNAPSHOTS = Path(__file__).with_name("snapshots")
EXAMPLES = {"full": full_table, "other": other_table, "hostile": hostile_table, "signs": examples.signs_table}


def render_example(name: str, form: str) -> str:
    table = EXAMPLES[name]()
    return terminal.render(table, 100, terminal.TerminalStyle()) if form == "txt" else render(table, form)


@pytest.mark.parametrize("form", [*FORMATS, "txt"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_table_equals_its_snapshot(name: str, form: str) -> None:
    text, path = render_example(name, form), SNAPSHOTS / f"{name}.{form}"
    if os.environ.get("REPRISE_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8") == render_example(name, form)


def test_hostile_texts_are_escaped() -> None:
    """A text adds no HTML element, no LaTeX command and no Markdown cell."""
    page = render_example("hostile", "html")
    assert "<script" not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 8
    source = render_example("hostile", "tex")
    assert source.isascii() and all(line.startswith("%") for line in source.splitlines() if "\\input" in line)
    text = render_example("hostile", "md")
    assert set(re.findall(r"</?[a-z]*>", text)) == {
        *("<details>", "</details>", "<summary>", "</summary>", "<sup>", "</sup>")
    }
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")} == {4}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", render_example("hostile", "txt"))


def test_greek_letters_and_quotes_have_their_latex_forms() -> None:
    assert escape("κ and ρ*") == r"$\kappa$ and $\rho${*}"
    assert escape("\"a\" ('b')") == "``a'' ({`}b{'})"


@pytest.mark.parametrize("form", FORMATS)
def test_pages_of_several_tables_are_combined_into_one(form: str) -> None:
    parts = [render(table, form) for table in (full_table(), other_table())]
    joined = combine_tables("Tables <5>", parts, form)
    if form == "html":
        assert [joined.count(tag) for tag in ("<!DOCTYPE html>", "<main>", "<style>", "<table>")] == [1, 1, 1, 2]
        assert "<h1>Tables &lt;5&gt;</h1>" in joined and "://" not in joined and "@import" not in joined
        assert combine_tables("A", [joined, joined], form).count("<table>") == 4
    else:
        assert joined.endswith("\n".join(parts))
        assert joined.splitlines()[0] == {"tex": "% Tables <5>", "md": "## Tables &lt;5&gt;"}[form]


def test_a_long_latex_table_continues_in_further_floats() -> None:
    rows = [TableRow(f"m{index}", (cell(index),)) for index in range(80)]
    source = render(replace(small_table(*rows), notes=("Last.",)), "tex")
    assert source.count("\n\\reprisetable{") == source.count("Model & {Avg}") == 3 and source.count("Last.") == 1
    assert source.count("{T. C}{tab:t}") == 1 and source.count("\n\\reprisetable{}{}") == 2
    assert all(f"m{index} & " in source for index in range(80))


ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
STYLED = terminal.TerminalStyle(is_styled=True, is_coloured=True)


@pytest.mark.parametrize("width", [40, 120, 300])
@pytest.mark.parametrize("style", [terminal.TerminalStyle(), STYLED])
def test_every_width_shows_every_number(width: int, style: terminal.TerminalStyle) -> None:
    output = ESCAPE.sub("", terminal.render(full_table(), width, style))
    assert max(map(len, output.splitlines())) <= width
    for number in ("94.9", "49.1", "80.0", "78.0", "78.4", "−10.3", "79.9"):
        assert number in output
    assert output.count("OV-72B") == output.count("QVL-72B"), "labels are repeated"
    assert "Quantised to 4 bits." in " ".join(output.split()) and "Missing clips: 3 of 900." in " ".join(output.split())


def test_styles_are_escape_codes_or_characters_that_the_legend_explains() -> None:
    plain, styled = (
        terminal.render(full_table(), 200, terminal.TerminalStyle()),
        terminal.render(full_table(), 200, STYLED),
    )
    assert "[99.2]" in plain and "[Bold]: best" in plain and "\x1b" not in plain
    assert "\x1b[1m99.2\x1b[0m" in styled and "\x1b[1;36mSubset\x1b[0m" in styled
    assert "\x1b[1;31mvelociti/entail/fps1/ov looks broken" in styled
    assert "\x1b[1mSubset" in terminal.render(full_table(), 200, terminal.TerminalStyle(is_styled=True)), (
        "styled output without colour has no colour codes"
    )


# A log of pdflatex.
LOG = r"""
Reprise table: velociti/table2

Overfull \hbox (147.3215pt too wide) in paragraph at lines 12--40
[][]
 []

LaTeX Warning: Float too large for page by 58.09pt on input line 99.

Reprise table: vinoground/table8
[2]
Overfull \vbox (7.0pt too high) has occurred while \output is active []

Overfull \hbox (4.9pt too wide) in alignment at lines 200--210
"""


def test_oversized_tables_are_named_with_their_excess() -> None:
    assert list(find_oversized(LOG)) == [
        ("velociti/table2", 147.3215, "wide"),
        ("velociti/table2", 58.09, "high"),
        ("vinoground/table8", 7.0, "high"),
    ]


def test_each_table_has_its_own_pages_and_the_documented_packages() -> None:
    source = build_document({"a/table1": "one\n", "b/table2": "two\n"})
    assert source.count(r"\clearpage") == 2
    assert source.index("Reprise table: a/table1") < source.index("one") < source.index("Reprise table: b/table2")
    packages = r"\usepackage{booktabs,graphicx,siunitx}"
    assert packages in source and packages in Path("docs/reference/tables.md").read_text()
    assert rf"% Needs {packages}" in render(full_table(), "tex")
    figure = build_figure("figure0.pdf", r"50% \input{x}").strip()
    assert figure == r"\reprisefigure{figure0.pdf}{50\% \textbackslash{}input\{x\}}"


def test_the_reason_of_a_latex_failure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake pdflatex reports a missing package."""
    program = tmp_path / "bin" / "pdflatex"
    program.parent.mkdir()
    problem = "! LaTeX Error: File `booktabs.sty' not found."
    program.write_text(f"#!/bin/sh\ncat > tables.log << 'END'\n{problem}\nEND\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    with pytest.raises(UserError, match=f"failed: {problem[2:]} .* texlive-science"):
        compile_pdf(build_document({}), tmp_path)
