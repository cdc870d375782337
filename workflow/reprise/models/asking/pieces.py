"""Pieces of a run: jobs that each ask about a share of its clips, the same share in every run of as many pieces."""

import re
from typing import NamedTuple

from reprise.core.files import text_digest

# Clips are spread over so many places, and a piece has neighbouring ones: shares of different numbers of pieces can be
# compared, so that two jobs never ask about the same clip at a time.
PLACES = 2**16
MOST_PIECES = 256
NAME = re.compile(r"([1-9][0-9]*)of([1-9][0-9]*)")


class Piece(NamedTuple):
    """One of so many jobs of a run."""

    number: int
    of: int

    @classmethod
    def parse(cls, name: str) -> "Piece":
        """The piece of a name such as `2of4`; ValueError for any other text."""
        found = NAME.fullmatch(name)
        if found is None or int(found[1]) > int(found[2]):
            raise ValueError(f"'{name}' names no piece; such as: 2of4")
        return cls(int(found[1]), int(found[2]))

    @property
    def name(self) -> str:
        return f"{self.number}of{self.of}"

    @property
    def places(self) -> range:
        """Those that are its own; those of all pieces of a run are all that there are."""
        return range((self.number - 1) * PLACES // self.of, self.number * PLACES // self.of)

    def has(self, recipe: str) -> bool:
        """Whether it asks about the clip of this recipe: by what the clip is, so that what is alike stays together."""
        return int(text_digest(recipe)[:4], 16) in self.places


WHOLE = Piece(1, 1)


def pieces_of(count: int) -> list[Piece]:
    return [Piece(number, count) for number in range(1, count + 1)]
