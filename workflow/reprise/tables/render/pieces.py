"""The pieces that a line of a table is made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of plain text in one print."""

    text: str
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    small: bool = False


@dataclass(frozen=True)
class Marks:
    """Superscript symbols and footnote letters."""

    symbols: tuple[str, ...]


Line = tuple[Span | Marks, ...]


def plain_text(line: Line) -> str:
    """The line without any print, for measuring."""
    return "".join(piece.text if isinstance(piece, Span) else ",".join(piece.symbols) for piece in line)
