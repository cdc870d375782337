"""Tables in a terminal: whatever the width, every number, mark and footnote is there and no line is too long."""

import re

import pytest
from reprise.tables.render.terminal import Print, render

from tests.unit.tables.render.render_examples import full_table

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
STYLED = Print(styled=True, coloured=True)


@pytest.mark.parametrize("width", [40, 120, 300])
@pytest.mark.parametrize("look", [Print(), STYLED])
def test_every_width_shows_every_number(width: int, look: Print) -> None:
    shown = ESCAPE.sub("", render(full_table(), width, look))
    assert max(map(len, shown.splitlines())) <= width
    for number in ("94.9", "49.1", "80.0", "78.0", "78.4", "−10.3", "79.9"):
        assert number in shown
    assert shown.count("OV-72B") == shown.count("QVL-72B"), "labels are repeated"
    assert "Quantised to 4 bits." in " ".join(shown.split()) and "Missing clips: 3 of 900." in " ".join(shown.split())


def test_print_is_the_terminals_own_or_a_sign_that_the_legend_explains() -> None:
    plain, styled = render(full_table(), 200, Print()), render(full_table(), 200, STYLED)
    assert "[99.2]" in plain and "[Bold]: best" in plain and "\x1b" not in plain
    assert "\x1b[1m99.2\x1b[0m" in styled and "\x1b[1;36mSubset\x1b[0m" in styled
    assert "\x1b[1;31mvelociti/entail/fps1/ov looks broken" in styled
    assert "\x1b[1mSubset" in render(full_table(), 200, Print(styled=True)), "no colour where none is wanted"
