"""The journal: every answer is written as soon as it is given, so that a killed job asks nothing twice."""

import fcntl
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from reprise.core.files import canonical_json, value_digest
from reprise.core.log import log
from reprise.core.store import Store, append_line, read_lines
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.base import Answer

# A power cut loses the answers of at most this long, a kill none. Waiting for the disk after each takes longer than a
# quick model's answer.
SYNC_SECONDS = 1.0
WAIT_SECONDS = 0.5


def journal_path(store: Store, key: str) -> Path:
    """The journal of one run key; runs whose answers are shaped alike share it."""
    return store.path("journal", key, ".jsonl")


@contextmanager
def asking_alone(store: Store, key: str, piece: Piece = WHOLE) -> Iterator[None]:
    """Wait until no other job asks under this key about a clip of this piece: runs that share answers ask, and pay, for
    each of them once."""
    path = store.root / "locks" / f"{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        # The piece's places in the file, as bytes that need not be there. The operating system's lock ends with its
        # process, also by a kill.
        is_told = False
        while True:
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, len(piece.places), piece.places.start)
                break
            except (BlockingIOError, PermissionError):
                if not is_told:
                    log.info("another run of the same key is being asked; its answers count here too, waiting for them")
                is_told = True
                time.sleep(WAIT_SECONDS)
        yield
    finally:
        os.close(handle)


def entry_id(recipe: str, prompt_sha256: str) -> str:
    """What is asked of what: the clip's recipe (with its source's digest) and the final prompt with its settings."""
    return value_digest([recipe, prompt_sha256])[:32]


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
        """Sync all answers."""
        if self.path.is_file():
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())

    def __len__(self) -> int:
        return len(self._entries)
