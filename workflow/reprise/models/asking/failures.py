"""Questions that got no answer: why, whether another try may help, and how often each was tried."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, cast

from reprise.core.files import canonical_json
from reprise.core.store import Store, append_line, read_lines
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.models.asking.reasons import TRANSIENT
from reprise.models.base import Answer


class Failed(NamedTuple):
    """The latest failure of a question, and how many runs tried it in vain; 0 if it is to be retried."""

    answer: Answer
    attempts: int


def failures_path(store: Store, key: str) -> Path:
    """The failures of one run key; a key whose questions were all answered has none."""
    return store.path("failures", key, ".jsonl")


class Failures:
    """Failures by entry of the journal: the last line of an entry counts, one without an error means answered."""

    def __init__(self, path: Path, attempts: int) -> None:
        self.path = path
        self._attempts = attempts
        self._failed: dict[str, Failed] = {}
        self._unwritten: list[list[object]] = []
        for entry, error, message, tried in read_lines(path):
            self._take(str(entry), Answer(error=str(error), message=str(message)), cast(int, tried))

    def get(self, entry: str) -> Answer | None:
        return self._failed[entry].answer if entry in self._failed else None

    def is_due(self, entry: str) -> bool:
        """Whether a job asks this question: it never failed, its clip was damaged, or another try is worth it."""
        found = self._failed.get(entry)
        return found is None or found.answer.error in MEDIA_STATUSES or self._is_worth_a_try(found)

    def due(self) -> Counter[str]:
        """How many failures by reason make the next run of the workflow repeat their job."""
        return Counter(found.answer.error for found in self._failed.values() if self._is_worth_a_try(found))

    def _is_worth_a_try(self, found: Failed) -> bool:
        return found.attempts == 0 or (found.answer.error in TRANSIENT and found.attempts < self._attempts)

    def add(self, entry: str, answer: Answer) -> None:
        """One more attempt in vain; `write` makes it last."""
        before = self._failed.get(entry)
        self._change(entry, answer, before.attempts + 1 if before else 1)

    def answered(self, entry: str) -> None:
        """Count nothing against this question any more."""
        if entry in self._failed:
            self._change(entry, Answer(), 0)

    def retry(self, reasons: Iterable[str] = ()) -> int:
        """Have the failures of these reasons, or all, asked again; returns their number."""
        chosen = set(reasons)
        found = [(entry, one.answer) for entry, one in self._failed.items() if not chosen or one.answer.error in chosen]
        for entry, answer in found:
            self._change(entry, answer, 0)
        self.write()
        return len(found)

    def write(self) -> None:
        """Append what changed. A line that a power cut loses costs one more attempt."""
        for line in self._unwritten:
            append_line(self.path, canonical_json(line), to_disk=False)
        self._unwritten.clear()

    def _change(self, entry: str, answer: Answer, attempts: int) -> None:
        self._unwritten.append([entry, answer.error, answer.message, attempts])
        self._take(entry, answer, attempts)

    def _take(self, entry: str, answer: Answer, attempts: int) -> None:
        if answer.error:
            self._failed[entry] = Failed(answer, attempts)
        else:
            self._failed.pop(entry, None)
