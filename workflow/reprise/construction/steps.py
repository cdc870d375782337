"""What the steps of every construction hand on: rows of its tables, by the tables' names."""

from typing import NamedTuple

from reprise.construction.filters import Row


class Candidates(NamedTuple):
    """What there is to make samples of, and the texts to be written."""

    pool: list[Row]
    texts: list[Row]
    """none where people write"""
    candidates: list[Row]
    """none where nothing can be made before the writer is asked"""


class Made(NamedTuple):
    """What was written, each text with all of its replies; and every sample that was made of it."""

    written: list[Row]
    samples: list[Row]
