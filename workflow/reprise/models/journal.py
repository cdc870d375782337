"""The journal: every answer is written as soon as it is given, so that a killed job asks nothing twice."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from reprise.core.files import canonical_json, value_digest
from reprise.core.log import log
from reprise.core.store import Store, append_line, read_lines
from reprise.models.adapters.base import Answer

# A power cut loses the answers of at most this long, a kill none. Waiting for the disk after each takes longer than a
# quick model's answer.
SYNC_SECONDS = 1.0
WAIT_SECONDS = 0.5


def journal_path(store: Store, key: str) -> Path:
    """The journal of one run key; runs whose answers are shaped alike share it."""
    return store.path("journal", key, ".jsonl")


@contextmanager
def asking_alone(store: Store, key: str) -> Iterator[None]:
    """Wait until no other job asks under this key: runs that share answers ask, and pay, for each of them once."""
    path = store.root / "locks" / f"{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    # The operating system's lock or none: it ends with its process, also by a kill.
    lock = FileLock(path, poll_interval=WAIT_SECONDS, fallback_to_soft=False)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        log.info("another run of the same key is being asked; its answers count here too, waiting for them")
        held = lock.acquire()
    with held:
        yield


def entry_id(recipe: str, prompt_sha256: str) -> str:
    """What is asked of what: the clip's recipe (with its source's digest) and the final prompt with its settings."""
    return value_digest([recipe, prompt_sha256])[:32]


class Journal:
    """Answers by entry id. Failures are never written: a later run asks again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced = float("-inf")
        self._answers = dict(_entries(path))

    def get(self, entry: str) -> Answer | None:
        return self._answers.get(entry)

    def add(self, entry: str, answer: Answer) -> None:
        """Write an answer, sync it with those of the last second, and remember it."""
        values = [answer.text, answer.scores, answer.frames_shown, answer.tokens_in, answer.tokens_out]
        is_due = time.monotonic() - self._synced >= SYNC_SECONDS
        append_line(self._path, canonical_json([entry, *values]), to_disk=is_due)
        self._answers[entry] = answer
        if is_due:
            self._synced = time.monotonic()

    def sync(self) -> None:
        """Sync all answers."""
        if self._path.is_file():
            with self._path.open("rb+") as stream:
                os.fsync(stream.fileno())

    def __len__(self) -> int:
        return len(self._answers)


def _entries(path: Path) -> Iterator[tuple[str, Answer]]:
    for row in read_lines(path):
        entry, text, scores, frames, tokens_in, tokens_out = cast(tuple[str, str, list[float], Any, Any, Any], row)
        yield entry, Answer(text, tuple(scores), frames, tokens_in, tokens_out)
