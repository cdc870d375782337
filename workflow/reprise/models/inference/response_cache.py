"""The response cache of a run, its failures, and the requests during which a job was killed.

Every answer is appended as soon as it arrives, so a killed job sends no request twice.
"""

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
from reprise.models.base import Answer, ClipFrames, Request
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.reasons import TRANSIENT_REASONS

NO_FRAMES = ""
"""digest of the frames for text-only requests"""
# A power cut loses at most the answers of this period; a kill loses none. A sync after every answer would take longer
# than a fast model needs for the answer.
SYNC_INTERVAL_S = 1.0
KILLED_ANSWER = Answer(error="killed", message="the job was killed while only this request was running")


@dataclass(frozen=True)
class ClipRequests:
    """A clip with all requests of a run about it, answered or not."""

    clip: ClipFrames
    frames_digest: str
    """digest of the frames of the clip: its content and its frame plan"""
    requests: tuple[Request, ...]
    verify_clip: Callable[[], object] = str
    """aborts the job if the clip's file differs from its manifest, so that no damaged frames are sent"""

    @cached_property
    def prompt_digests(self) -> list[str]:
        return [compute_prompt_digest(request) for request in self.requests]

    @cached_property
    def entry_ids(self) -> list[str]:
        """Return the entry id of each request in the response cache."""
        return [
            compute_entry_id(self.frames_digest, digest, request.expected)
            for request, digest in zip(self.requests, self.prompt_digests, strict=True)
        ]

    @property
    def requests_by_entry(self) -> dict[str, Request]:
        return dict(zip(self.entry_ids, self.requests, strict=True))


def compute_prompt_digest(request: Request) -> str:
    """Return a digest of everything but the frames that determines a request's answer."""
    names = ("system", "prompt", "lead", "ask", "options", "max_tokens")
    return value_digest({name: getattr(request, name) for name in names})


def get_response_cache_path(store: Store, key: str) -> Path:
    """Return the file of one run key's response cache, which all runs with this key share."""
    return store.path("response_cache", key, ".jsonl")


@contextmanager
def lock_response_cache(store: Store, key: str, partition: Partition = WHOLE_RUN) -> Iterator[None]:
    """Hold the lock of a key's response cache for one partition of the clips.

    Runs that share a response cache therefore send, and pay for, each request only once.
    """
    path = store.root / "locks" / f"{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        # A partition locks a range of bytes, which need not exist in the file. The operating system releases the lock
        # when the process ends, even by a kill.
        byte_range = len(partition.slots), partition.slots.start
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, *byte_range)
        except (BlockingIOError, PermissionError):
            log.info("another run with the same key is in progress; waiting for its answers, which this run shares")
            fcntl.lockf(handle, fcntl.LOCK_EX, *byte_range)
        yield


def compute_frames_digest(
    sha256: str, indices: Sequence[int], times_s: Sequence[float], grid: Sequence[int] | None
) -> str:
    """Return a digest of the frames of a request, by the content of the clip's file and the frame plan."""
    return value_digest([sha256, list(indices), list(times_s), list(grid) if grid else None])


def compute_entry_id(frames_digest: str, prompt_sha256: str, expected: str = "") -> str:
    """Return the key of one request within a response cache.

    `expected` is the label; it is empty for every adapter but the baselines that answer by it.
    """
    return value_digest([frames_digest, prompt_sha256, expected])[:32]


class CachedResponse(NamedTuple):
    """An answer and how long it took; files of an earlier version hold no time."""

    answer: Answer
    seconds: float | None
    step_seconds: Mapping[str, float] = {}
    """seconds of each step done once per clip, part of `seconds`; recorded with the first answer that needed it"""


class ResponseCache:
    """The response cache: answers by entry id, in an append-only file. Failures are never written to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced_at = float("-inf")
        self._entries: dict[str, CachedResponse] = {}
        for entry, *values in read_lines(path):
            if not values:  # A line without values withdraws its entry.
                self._entries.pop(str(entry), None)
                continue
            text, scores, frames, tokens_in, tokens_out, *times = cast(list[Any], values)
            times += [None, {}, "", 0][len(times) :]
            seconds, parts, served, cached = times
            answer = Answer(
                text, tuple(scores), frames, tokens_in, tokens_out, served_model=served, tokens_cached=cached
            )
            self._entries[str(entry)] = CachedResponse(answer, seconds, parts)

    def get(self, entry: str) -> Answer | None:
        cached = self._entries.get(entry)
        return cached.answer if cached else None

    def get_response(self, entry: str) -> CachedResponse | None:
        """Return a cached answer together with its timings."""
        return self._entries.get(entry)

    def add(
        self, entry: str, answer: Answer, seconds: float | None = None, step_seconds: Mapping[str, float] | None = None
    ) -> None:
        """Append an answer; sync the file if the last sync was more than a second ago."""
        if answer.error or not all(map(math.isfinite, answer.scores)):
            raise ValueError(f"not a valid answer to cache: {answer}")
        seconds = None if seconds is None else round(seconds, 6)
        step_seconds = {name: round(part_s, 6) for name, part_s in (step_seconds or {}).items()}
        values = [answer.text, answer.scores, answer.frames_shown, answer.tokens_in, answer.tokens_out, seconds]
        values += [step_seconds, answer.served_model] if answer.served_model else [step_seconds] if step_seconds else []
        values += [answer.tokens_cached] if answer.served_model and answer.tokens_cached else []
        should_sync = time.monotonic() - self._synced_at >= SYNC_INTERVAL_S
        append_line(self.path, canonical_json([entry, *values]), to_disk=should_sync)
        self._entries[entry] = CachedResponse(answer, seconds, step_seconds)
        if should_sync:
            self._synced_at = time.monotonic()

    def withdraw(self, entry: str) -> None:
        """Remove an answer that turned out to belong to another request."""
        if entry in self._entries:
            append_line(self.path, canonical_json([entry]))
            del self._entries[entry]

    def sync(self) -> None:
        if self.path.is_file():
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())

    def __len__(self) -> int:
        return len(self._entries)


class FailedRequest(NamedTuple):
    """The latest failure of a request and its number of failed attempts; 0 attempts if the user wants it retried."""

    answer: Answer
    attempts: int


def get_failures_path(store: Store, key: str) -> Path:
    """Return the file of one run key's failures; it does not exist if no request failed."""
    return store.path("failures", key, ".jsonl")


class Failures:
    """Failures by entry id, in an append-only file.

    The last line of an entry counts; a line without an error means that the request was answered since.
    """

    def __init__(self, path: Path, attempts: int) -> None:
        self.path, self._max_attempts = path, attempts
        self._unwritten: list[list[object]] = []
        latest = {
            str(entry): FailedRequest(Answer(error=str(error), message=str(message)), cast(int, attempts_so_far))
            for entry, error, message, attempts_so_far in read_lines(path)
        }
        self._failed = {entry: failure for entry, failure in latest.items() if failure.answer.error}

    def get(self, entry: str) -> Answer | None:
        return self._failed[entry].answer if entry in self._failed else None

    def should_send(self, entry: str) -> bool:
        """Return whether a job should send this request: it never failed, its clip was damaged, or a retry may help."""
        failure = self._failed.get(entry)
        return failure is None or failure.answer.error in MEDIA_STATUSES or self._is_retryable(failure)

    def count_retryable(self) -> Counter[str]:
        """Return, by reason, the number of failures that make the next run of the workflow repeat their job."""
        return Counter(failure.answer.error for failure in self._failed.values() if self._is_retryable(failure))

    def _is_retryable(self, failure: FailedRequest) -> bool:
        return failure.attempts == 0 or (
            failure.answer.error in TRANSIENT_REASONS and failure.attempts < self._max_attempts
        )

    def add(self, entry: str, answer: Answer) -> None:
        """Count one more failed attempt; `write` saves it."""
        previous = self._failed.get(entry)
        self._set(entry, answer, previous.attempts + 1 if previous else 1)

    def resolve(self, entry: str) -> None:
        """Forget the failures of a request that has been answered."""
        if self._failed.pop(entry, None) is not None:
            self._unwritten.append([entry, "", "", 0])

    def retry(self, reasons: Iterable[str] = ()) -> int:
        """Mark the failures with these reasons, by default all, to be retried, and return their number."""
        selected_reasons = set(reasons)
        selected = [
            (entry, failure.answer)
            for entry, failure in self._failed.items()
            if not selected_reasons or failure.answer.error in selected_reasons
        ]
        for entry, answer in selected:
            self._set(entry, answer, 0)
        self.write()
        return len(selected)

    def write(self) -> None:
        """Append the changes to the file without a sync; a line lost in a power cut only costs one more attempt."""
        for line in self._unwritten:
            append_line(self.path, canonical_json(line), to_disk=False)
        self._unwritten.clear()

    def _set(self, entry: str, answer: Answer, attempts: int) -> None:
        self._unwritten.append([entry, answer.error, answer.message, attempts])
        self._failed[entry] = FailedRequest(answer, attempts)


class Suspects:
    """The requests that were running when a job was killed by the operating system, a crash of a library or a person.

    They are written to a record before the requests of each clip are sent. A job that ends by itself keeps only those
    that it has not sent.
    """

    def __init__(self, cache: ResponseCache, partition: Partition = WHOLE_RUN) -> None:
        self._path = cache.path.with_suffix(".suspects" if partition == WHOLE_RUN else f".{partition.name}.suspects")
        record = read_record(self._path) or {"suspects": [], "running": []}
        previous, running = set(record["suspects"]), set(record["running"])
        self.entries = frozenset(entry for entry in previous | running if cache.get(entry) is None)
        """the suspects when this job began"""
        # Until the model has given an answer, loading it may be what kills the job.
        self._confirmed = self.entries & previous & running if len(cache) else frozenset()
        self._remaining = set(self.entries)
        self._running: dict[int, tuple[str, ...]] = {}
        self._killed: tuple[str, ...] = ()

    def record_killed(self, failures: Failures) -> None:
        """Count a failed attempt for the request that was running alone when the last job was killed."""
        if self._confirmed:
            for entry in self._confirmed:
                failures.add(entry, KILLED_ANSWER)
            failures.write()
            self._write([])

    @contextmanager
    def save_on_exit(self) -> Iterator[None]:
        """Keep in the record, when the job ends by itself, the suspects that it did not send."""
        try:
            yield
        finally:
            if self._remaining or self._killed:
                self._write(self._killed)
            else:
                self._path.unlink(missing_ok=True)

    def begin(self, entries: Collection[str], copy_index: int = 0) -> None:
        """Record the requests that one of the model's copies is about to answer."""
        self._running[copy_index] = tuple(entries)
        self._write([entry for batch in self._running.values() for entry in batch])
        self._remaining.difference_update(entries)

    def finish(self, copy_index: int) -> None:
        """Forget the requests of a copy that has answered all of its share."""
        self._running.pop(copy_index, None)

    def mark_killed(self, copy_index: int) -> None:
        """Make suspects of the requests that a copy was answering when its process was killed."""
        self._killed = self._running[copy_index]
        self._remaining |= self.entries & set(self._killed)

    def _write(self, running: Collection[str]) -> None:
        write_record(self._path, {"running": sorted(running), "suspects": sorted(self._remaining)})
