"""The document of all tables, and what the log of LaTeX says of it."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.tables.render.latex_document import document, figure, print_document, too_large

# As pdflatex wrote it.
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


def test_what_is_too_large_is_named_by_table_and_size() -> None:
    assert list(too_large(LOG)) == [
        ("velociti/table2", 147.3215, "wide"),
        ("velociti/table2", 58.09, "high"),
        ("vinoground/table8", 7.0, "high"),
    ]


def test_each_table_has_pages_of_its_own_and_the_packages_that_the_manual_names() -> None:
    source = document({"a/table1": "one\n", "b/table2": "two\n"})
    assert source.count(r"\clearpage") == 2
    assert source.index("Reprise table: a/table1") < source.index("one") < source.index("Reprise table: b/table2")
    packages = r"\usepackage{booktabs,graphicx,pdflscape}"
    assert packages in source and packages in Path("docs/reference/tables.md").read_text()
    shown = figure("figure0.pdf", r"50% \input{x}").strip()
    assert shown == r"\reprisefigure{figure0.pdf}{50\% \textbackslash{}input\{x\}}"


def test_what_stops_latex_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for an installation that lacks a package."""
    program = tmp_path / "bin" / "pdflatex"
    program.parent.mkdir()
    problem = "! LaTeX Error: File `booktabs.sty' not found."
    program.write_text(f"#!/bin/sh\ncat > tables.log << 'END'\n{problem}\nEND\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    with pytest.raises(UserError, match=f"stopped: {problem[2:]} Needed packages: booktabs,"):
        print_document(document({}), tmp_path)
