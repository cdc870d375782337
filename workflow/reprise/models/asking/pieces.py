"""Partitions of a run: jobs that each have a fixed share of its clips, which depends only on the number of jobs."""

import re
from typing import NamedTuple

from reprise.core.files import text_digest

# Clips are hashed to this many slots, and each partition has a contiguous range of them. The ranges of jobs that divide
# a run differently can therefore be compared, so that two jobs never query the same clip at the same time.
PLACES = 2**16
MOST_PIECES = 256
NAME = re.compile(r"([1-9][0-9]*)of([1-9][0-9]*)")


class Piece(NamedTuple):
    """A partition of a run: number `number` of `of` jobs."""

    number: int
    of: int

    @classmethod
    def parse(cls, name: str) -> "Piece":
        """Return the partition with a name such as `2of4`; raise a ValueError for any other text."""
        match = NAME.fullmatch(name)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(f"'{name}' names no piece; such as: 2of4")
        return cls(int(match[1]), int(match[2]))

    @property
    def name(self) -> str:
        return f"{self.number}of{self.of}"

    @property
    def places(self) -> range:
        """Return the slots of this partition; together, the partitions of a run cover all slots once."""
        return range((self.number - 1) * PLACES // self.of, self.number * PLACES // self.of)

    def has(self, recipe: str) -> bool:
        """Return whether the clip with this recipe belongs to this partition; equal clips are in the same one."""
        return int(text_digest(recipe)[:4], 16) in self.places


WHOLE = Piece(1, 1)


def pieces_of(count: int) -> list[Piece]:
    """Return all partitions of a run that is divided into `count` jobs."""
    return [Piece(number, count) for number in range(1, count + 1)]
