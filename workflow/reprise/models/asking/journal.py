"""What is asked about a clip, and what came of it: every answer is written as soon as it is given, so that a killed job
asks nothing twice; failures with their reasons; and the questions at which a job was killed."""

import fcntl
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from reprise.core.files import canonical_json, read_record, value_digest, write_record
from reprise.core.log import log
from reprise.core.store import Store, append_line, read_lines
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.reasons import TRANSIENT
from reprise.models.base import Answer, Clip, Request

NO_FRAMES = ""
"""digest of the frames of questions about texts alone"""
# A power cut loses the answers of at most this long, a kill none. Waiting for the disk after each takes longer than a
# quick model's answer.
SYNC_SECONDS = 1.0
KILLED = Answer(error="killed", message="the job was killed while this was asked alone")


@dataclass(frozen=True)
class Work:
    clip: Clip
    frames_digest: str
    """of the frames that are shown: the clip's content and the frame plan"""
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """Stops the job where the clip's file is not what its ledger names: nobody is asked about damaged frames."""

    @cached_property
    def digests(self) -> list[str]:
        return [prompt_digest(request) for request in self.requests]

    @cached_property
    def entries(self) -> list[str]:
        """Of each question, its entry in the journal."""
        return [
            entry_id(self.frames_digest, digest, request.expected)
            for request, digest in zip(self.requests, self.digests, strict=True)
        ]

    @property
    def questions(self) -> dict[str, Request]:
        return dict(zip(self.entries, self.requests, strict=True))


def prompt_digest(request: Request) -> str:
    names = ("system", "prompt", "lead", "ask", "options", "max_tokens")
    return value_digest({name: getattr(request, name) for name in names})


def journal_path(store: Store, key: str) -> Path:
    """The journal of one run key; runs whose answers are shaped alike share it."""
    return store.path("journal", key, ".jsonl")


@contextmanager
def asking_alone(store: Store, key: str, piece: Piece = WHOLE) -> Iterator[None]:
    """Wait until no other job asks under this key about a clip of this piece: runs that share answers ask, and pay, for
    each of them once."""
    path = store.root / "locks" / f"{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        # The piece's places in the file, as bytes that need not be there. The operating system's lock ends with its
        # process, also by a kill.
        place = len(piece.places), piece.places.start
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, *place)
        except (BlockingIOError, PermissionError):
            log.info("another run of the same key is being asked; its answers count here too, waiting for them")
            fcntl.lockf(handle, fcntl.LOCK_EX, *place)
        yield


def frames_digest(sha256: str, indices: Sequence[int], times_s: Sequence[float], grid: Sequence[int] | None) -> str:
    """Return a digest of the frames that a model is shown: the content of the clip's file and its frame plan."""
    return value_digest([sha256, list(indices), list(times_s), list(grid) if grid else None])


def entry_id(frames: str, prompt_sha256: str, expected: str = "") -> str:
    """Return the response cache's key of one request within a run.

    `expected` is the label, which only the baselines that answer by it are given.
    """
    return value_digest([frames, prompt_sha256, expected])[:32]


class Entry(NamedTuple):
    """An answer, and how long it took when it was asked; None in a journal of an earlier version."""

    answer: Answer
    seconds: float | None
    parts: Mapping[str, float] = {}
    """of the seconds, what was done once for the clip; stands at the first of the answers that it was done for"""


class Journal:
    """Answers by entry id. A failure is never written here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = float("-inf")
        self._entries: dict[str, Entry] = {}
        for entry, *values in read_lines(path):
            if not values:  # it was withdrawn
                self._entries.pop(str(entry), None)
                continue
            text, scores, frames, tokens_in, tokens_out, *times = cast(list[Any], values)
            times += [None, {}, "", 0][len(times) :]
            seconds, parts, served, cached = times
            answer = Answer(text, tuple(scores), frames, tokens_in, tokens_out, served=served, tokens_cached=cached)
            self._entries[str(entry)] = Entry(answer, seconds, parts)

    def get(self, entry: str) -> Answer | None:
        found = self._entries.get(entry)
        return found.answer if found else None

    def known(self, entry: str) -> Entry | None:
        """An answer with the times that it took."""
        return self._entries.get(entry)

    def add(
        self, entry: str, answer: Answer, seconds: float | None = None, parts: Mapping[str, float] | None = None
    ) -> None:
        """Write an answer, sync it with those of the last second, and remember it."""
        if answer.error or not all(map(math.isfinite, answer.scores)):
            raise ValueError(f"no answer to keep: {answer}")
        seconds = None if seconds is None else round(seconds, 6)
        parts = {name: round(value, 6) for name, value in (parts or {}).items()}
        values = [answer.text, answer.scores, answer.frames_shown, answer.tokens_in, answer.tokens_out, seconds]
        values += [parts, answer.served] if answer.served else [parts] if parts else []
        values += [answer.tokens_cached] if answer.served and answer.tokens_cached else []
        is_due = time.monotonic() - self._synced >= SYNC_SECONDS
        append_line(self.path, canonical_json([entry, *values]), to_disk=is_due)
        self._entries[entry] = Entry(answer, seconds, parts)
        if is_due:
            self._synced = time.monotonic()

    def withdraw(self, entry: str) -> None:
        """Take back an answer that turned out to be of another question."""
        if entry in self._entries:
            append_line(self.path, canonical_json([entry]))
            del self._entries[entry]

    def sync(self) -> None:
        if self.path.is_file():
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())

    def __len__(self) -> int:
        return len(self._entries)


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
        self.path, self._attempts = path, attempts
        self._unwritten: list[list[object]] = []
        latest = {
            str(entry): Failed(Answer(error=str(error), message=str(message)), cast(int, tried))
            for entry, error, message, tried in read_lines(path)
        }
        self._failed = {entry: found for entry, found in latest.items() if found.answer.error}

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
        if self._failed.pop(entry, None) is not None:
            self._unwritten.append([entry, "", "", 0])

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
        self._failed[entry] = Failed(answer, attempts)


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
