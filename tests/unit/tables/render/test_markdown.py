"""Markdown: exact strings of the parts, hostile texts."""

import re
from dataclasses import replace

import pytest
from reprise.tables.render import Column, Number, Section, TableRow, markdown
from reprise.tables.render.pieces import Indexed, Marks, Piece, Span

from tests.unit.tables.render.render_examples import HOSTILE, cell, full_table, one_cell, small_table


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a|b", r"a\|b"),
        ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
        ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
        ("[a](b) $x$ \\", r"\[a\](b) \$x\$ \\"),
        ("a\n# b", "a # b"),
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("1. a", r"1\. a"),
        ("2) a", r"2\) a"),
        ("===", r"\==="),
        ("QVL-7B + 1.5", "QVL-7B + 1.5"),
        ("", ""),
    ],
)
def test_escape(text: str, source: str) -> None:
    assert markdown.escape(text) == source


@pytest.mark.parametrize(
    ("piece", "source"),
    [
        (Span("−4.1"), "−4.1"),
        (Span("4.1", bold=True), "**4.1**"),
        (Span("4.1", underlined=True), "<ins>4.1</ins>"),
        (Span("4.1", italic=True), "*4.1*"),
        (Span("4.1", bold=True, underlined=True), "**<ins>4.1</ins>**"),
        (Span("(4.1)", small=True), "(4.1)"),
        (Marks(("†", "a")), "<sup>†,a</sup>"),
        (Marks(("*",)), r"<sup>\*</sup>"),
        (Indexed("s", "t"), "*s*<sub>t</sub>"),
        (Indexed("BLEU", "1"), "BLEU<sub>1</sub>"),
        (Indexed("M", "3", raised=True), "M<sup>3</sup>"),
    ],
)
def test_pieces(piece: Piece, source: str) -> None:
    assert markdown.spell((piece,)) == source


def test_alignments() -> None:
    assert [markdown.alignment_rule(align, 4) for align in ("left", "center", "right")] == [":---", ":--:", "---:"]


def test_a_small_table() -> None:
    assert markdown.render(one_cell(Number(5, best=True), "A|1")) == (
        "### T\n\nC\n\n"
        "| Model |     Avg |\n"
        "| :---- | ------: |\n"
        "| A\\|1  | **5.0** |\n\n"
        "- **Bold**: best of its group of rows.\n"
    )


def test_every_row_has_the_same_number_of_cells() -> None:
    row = TableRow(HOSTILE, (cell(1),), notes=(HOSTILE,))
    hostile = replace(small_table(row, columns=(Column(HOSTILE),)), sections=(Section((row,), HOSTILE),), stub=HOSTILE)
    for table, columns in ((full_table(), 7), (hostile, 2)):
        lines = [line for line in markdown.render(table).splitlines() if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {columns + 1}


def test_hostile_texts_hold_no_tag() -> None:
    table = replace(
        one_cell(Number(1), HOSTILE),
        title=HOSTILE,
        caption=HOSTILE,
        notes=(HOSTILE,),
        notice=HOSTILE,
        provenance=(HOSTILE,),
    )
    tags = set(re.findall(r"<[^>]*>", markdown.render(table)))
    assert tags == {"<details>", "<summary>", "</summary>", "</details>"}
