"""The checker itself finds what it is for."""

import pytest

from tests.unit.tables.render.latex_checker import check_fragment

SOUND = "% a comment\n\\begin{tabular}{lr}\n\\toprule\nA\\& & $-$1 \\\\\n\\multicolumn{2}{l}{x} \\\\\n\\end{tabular}\n"


def test_a_sound_fragment_passes() -> None:
    check_fragment(SOUND)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("A", "é", "ASCII"),
        ("A", r"\input{x}", "unknown command"),
        ("A", "{", "left open"),
        ("A", "}", "not open"),
        ("A", "50%", "comment"),
        ("A", "a_b", "special sign"),
        ("A", "$", "math"),
        ("A", "[1ex] A", "option"),
        ("A", "A & B", "cells"),
        ("1 \\\\", "1", "no end of row"),
        ("\\end{tabular}", "", "left open"),
        ("\\end{tabular}", "\\end{table}", "out of order"),
    ],
)
def test_what_is_wrong_is_found(old: str, new: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        check_fragment(SOUND.replace(old, new, 1))
