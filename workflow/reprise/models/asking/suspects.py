"""Questions at which a job was killed: each is asked again last of all and alone, so that it keeps no other waiting."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from reprise.core.files import read_record, write_record
from reprise.models.asking.failures import Failures
from reprise.models.asking.journal import Journal
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.base import Answer

KILLED = Answer(error="killed", message="the job was killed while this was asked alone")


class Suspects:
    """What was asked when a job was killed, by the operating system, a crash of a library or a person.

    The record that names it is written before each clip's questions are asked, and outlasts kills alone.
    """

    def __init__(self, journal: Journal, piece: Piece = WHOLE) -> None:
        self._path = journal.path.with_suffix(".asking" if piece == WHOLE else f".{piece.name}.asking")
        record = read_record(self._path) or {"suspects": [], "asking": []}
        known, asked = set(record["suspects"]), set(record["asking"])
        self.entries = frozenset(entry for entry in known | asked if journal.get(entry) is None)
        """as they were when this job began"""
        # While a model has answered nothing, it may be its loading that kills.
        self._proven = self.entries & known & asked if len(journal) else frozenset()
        self._left = set(self.entries)
        self._asking: dict[int, tuple[str, ...]] = {}
        self._killed: tuple[str, ...] = ()

    def count(self, failures: Failures) -> None:
        """Count a try in vain for the question that was asked alone when the last job was killed."""
        if self._proven:
            for entry in self._proven:
                failures.add(entry, KILLED)
            failures.write()
            self._write([])

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Leave in the record, when the job ends by itself, the questions that it did not come to."""
        try:
            yield
        finally:
            if self._left or self._killed:
                self._write(self._killed)
            else:
                self._path.unlink(missing_ok=True)

    def asking(self, entries: Collection[str], by: int = 0) -> None:
        """Note what is asked now, by which of the model's copies."""
        self._asking[by] = tuple(entries)
        self._write([entry for asked in self._asking.values() for entry in asked])
        self._left.difference_update(entries)

    def asked(self, by: int) -> None:
        """A copy has come to the end of what it is asked."""
        self._asking.pop(by, None)

    def killed(self, by: int) -> None:
        """A copy was killed at what it was asked, as a job of its own might have been."""
        self._killed = self._asking[by]
        self._left |= self.entries & set(self._killed)

    def _write(self, asking: Collection[str]) -> None:
        write_record(self._path, {"asking": sorted(asking), "suspects": sorted(self._left)})
