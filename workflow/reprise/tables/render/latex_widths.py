"""How wide text is in LaTeX: TeX alone knows it exactly; this is Computer Modern to a few percent, rounded up."""

from functools import lru_cache
from typing import NamedTuple

from reprise.tables.render.latex_escape import KNOWN, accented, code_point
from reprise.tables.render.pieces import Line, Marks, Piece, Span, plain_piece

BOLD, ITALIC = 1.16, 1.11
SUPERSCRIPT = 0.8
# Signs by their width in digits; capitals, other letters and all the rest have one width each.
SIGNS = {
    **dict.fromkeys(".,:;'!|[]ijl", 0.58),
    **dict.fromkeys("()-frstI ", 0.79),
    **dict.fromkeys("0123456789acegovxyz/*–†‡§", 1.0),
    **dict.fromkeys("mw%#+−=<>∧×", 1.62),
    **dict.fromkeys("MW", 2.0),
}
CAPITAL, SMALL_LETTER, OTHER = 1.5, 1.1, 1.7


class Font(NamedTuple):
    """A font size with what it takes."""

    command: str
    digit_pt: float
    line_pt: float


class Size(NamedTuple):
    """Fonts of our numbers and of what they are compared with, and the blank on both sides of a column."""

    numbers: Font
    compared: Font
    separation_pt: float


@lru_cache(maxsize=4096)
def width_in_digits(text: str) -> float:
    """About how many digits are as wide as the text."""
    return sum(map(width_of_sign, text))


def width_of_sign(sign: str) -> float:
    """The width of one sign in digits; one without a LaTeX form is printed as its code point."""
    if sign in SIGNS:
        return SIGNS[sign]
    if sign.isascii():
        return CAPITAL if sign.isupper() else SMALL_LETTER
    return OTHER if sign in KNOWN or accented(sign) else width_in_digits(f"[{code_point(sign)}]")


def line_width(line: Line, size: Size) -> float:
    """The width of a line in points."""
    return sum(piece_width(piece, size) for piece in line)


def piece_width(piece: Piece, size: Size) -> float:
    """The width of a piece in points."""
    digits = width_in_digits(plain_piece(piece))
    if isinstance(piece, Marks):
        return digits * size.numbers.digit_pt * SUPERSCRIPT
    if not isinstance(piece, Span):
        return digits * size.numbers.digit_pt
    font = size.compared if piece.small else size.numbers
    return digits * font.digit_pt * (BOLD if piece.bold else ITALIC if piece.italic else 1)
