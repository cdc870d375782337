"""The pieces that a line of a table is made of."""

import re
from dataclasses import dataclass

# What a format that prints one line shows as a blank.
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
INDEXED = re.compile(r"([A-Za-z]+)([_^])([A-Za-z0-9])")


@dataclass(frozen=True)
class Span:
    """A stretch of plain text in one print."""

    text: str
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    small: bool = False
    grey: bool = False
    link: str = ""
    """The address that HTML leads to."""


@dataclass(frozen=True)
class Marks:
    """Superscript symbols and footnote letters."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Indexed:
    """A name with an index below or an exponent, as the header `s_t` means."""

    name: str
    index: str
    raised: bool = False

    @property
    def is_variable(self) -> bool:
        """Whether the name is a variable, as s, and no word or model, as BLEU."""
        return len(self.name) == 1 and self.name.islower()


Piece = Span | Marks | Indexed
Line = tuple[Piece, ...]


def heading(text: str) -> Span | Indexed:
    """A header or a row's label: text, or a name with an index where it is written as one, such as `s_t` or `M^3`."""
    found = INDEXED.fullmatch(text)
    return Indexed(found[1], found[3], raised=found[2] == "^") if found else Span(text)
