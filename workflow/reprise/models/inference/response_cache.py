"""Store a run's responses, its failures, and the requests that were running when a job was killed.

Every answer is appended as soon as it arrives, so a job that continues a killed one sends no answered request again.
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
from reprise.core.store import Store, append_lines, read_lines
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.models.base import Answer, ClipFrames, Request, skip_verification
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.reasons import TRANSIENT_REASONS

NO_FRAMES_DIGEST = ""
"""the frames digest of a text-only request, which has no frames"""
# A power cut loses at most the answers of this period; a kill loses none. For a fast model, a sync after every answer
# would take longer than the answer.
SYNC_INTERVAL_S = 1.0
# Defaults of the values that a line of the response cache may omit at its end: duration, durations of the clip's steps,
# served model and number of cached tokens.
OPTIONAL_DEFAULTS: tuple[Any, ...] = (None, {}, "", 0)
KILLED_ANSWER = Answer(error="killed", message="the job was killed while only this request was running")


@dataclass(frozen=True)
class ClipRequests:
    """A clip with all requests of a run about it, answered or not."""

    clip: ClipFrames
    frames_digest: str
    """digest of the clip's content and its frame plan"""
    requests: tuple[Request, ...]
    verify_clip: Callable[[], object] = skip_verification
    """aborts the job if the clip's file differs from its manifest, before damaged frames are sent"""

    @cached_property
    def prompt_digests(self) -> list[str]:
        """Return the prompt digest of each request."""
        return [compute_prompt_digest(request) for request in self.requests]

    @cached_property
    def entry_ids(self) -> list[str]:
        """Return the entry id of each request in the response cache."""
        return [
            compute_entry_id(self.frames_digest, digest, request.expected)
            for request, digest in zip(self.requests, self.prompt_digests, strict=True)
        ]

    @property
    def request_by_entry_id(self) -> dict[str, Request]:
        """Return the requests by their entry ids in the response cache."""
        return dict(zip(self.entry_ids, self.requests, strict=True))


def compute_prompt_digest(request: Request) -> str:
    """Return a digest of all fields of a request that affect its answer, apart from the frames."""
    field_names = ("system", "prompt", "lead", "options", "max_tokens")
    # Digests call the request type `ask`: another name would change the entry of every cached response.
    return value_digest({"ask": request.request_type, **{name: getattr(request, name) for name in field_names}})


def get_response_cache_path(store: Store, key: str) -> Path:
    """Return the path of the response cache that all runs with this key share."""
    return store.path("response_cache", key, ".jsonl")


@contextmanager
def lock_response_cache(store: Store, key: str, partition: Partition = WHOLE_RUN) -> Iterator[None]:
    """Lock one partition of a key's response cache while the context is open.

    The lock ensures that runs with the same key send, and pay for, each request only once.
    """
    path = store.root / "locks" / f"{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        # A partition locks a range of bytes, which need not exist in the file. The operating system releases the lock
        # when the process ends, even by a kill.
        byte_range = len(partition.slots), partition.slots.start  # length and start, as `lockf` expects them
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, *byte_range)
        except (BlockingIOError, PermissionError):
            log.info("another run with the same key is in progress; waiting for its answers, which this run shares")
            fcntl.lockf(handle, fcntl.LOCK_EX, *byte_range)
        yield


def compute_frames_digest(
    clip_sha256: str, indices: Sequence[int], times_s: Sequence[float], grid: Sequence[int] | None
) -> str:
    """Return a digest of a request's frames, from the digest of the clip's file and the frame plan."""
    return value_digest([clip_sha256, list(indices), list(times_s), list(grid) if grid else None])


def compute_entry_id(frames_digest: str, prompt_digest: str, expected: str = "") -> str:
    """Return the id of one request in a response cache.

    `expected` is the correct option; it is empty unless the adapter is a baseline that needs it.
    """
    return value_digest([frames_digest, prompt_digest, expected])[:32]


class CachedResponse(NamedTuple):
    """An answer with its durations; lines that earlier versions of Reprise wrote have none."""

    answer: Answer
    seconds: float | None
    """time of the request"""
    step_seconds: Mapping[str, float] = {}
    """seconds of each step that is done once per clip, included in `seconds` of the clip's first answer"""


class ResponseCache:
    """Answers by entry id, in an append-only file that contains no failures.

    Each line is a JSON array: the entry id, then the values of the answer in the order of `add`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_sync = float("-inf")
        self._response_by_entry_id: dict[str, CachedResponse] = {}
        for entry_id, *values in read_lines(path):
            if not values:  # A line without values withdraws its entry.
                self._response_by_entry_id.pop(str(entry_id), None)
                continue
            text, scores, frames_shown, tokens_in, tokens_out, *optional_values = cast(list[Any], values)
            optional_values += OPTIONAL_DEFAULTS[len(optional_values) :]
            seconds, step_seconds, served_model, tokens_cached = optional_values
            answer = Answer(
                text,
                tuple(scores),
                frames_shown,
                tokens_in,
                tokens_out,
                served_model=served_model,
                tokens_cached=tokens_cached,
            )
            self._response_by_entry_id[str(entry_id)] = CachedResponse(answer, seconds, step_seconds)

    def get(self, entry_id: str) -> Answer | None:
        """Return a cached answer; None if there is none."""
        cached = self._response_by_entry_id.get(entry_id)
        return cached.answer if cached else None

    def get_response(self, entry_id: str) -> CachedResponse | None:
        """Return a cached answer together with its timings."""
        return self._response_by_entry_id.get(entry_id)

    def add(
        self,
        entry_id: str,
        answer: Answer,
        seconds: float | None = None,
        step_seconds: Mapping[str, float] | None = None,
    ) -> None:
        """Append an answer; sync the file if the last sync was more than a second ago."""
        if answer.error or not all(map(math.isfinite, answer.scores)):
            raise ValueError(f"not a valid answer to cache: {answer}")
        seconds = None if seconds is None else round(seconds, 6)
        step_seconds = {name: round(step_s, 6) for name, step_s in (step_seconds or {}).items()}
        # Values are recognised by position: an optional value can be omitted only together with all later ones.
        values = [answer.text, answer.scores, answer.frames_shown, answer.tokens_in, answer.tokens_out, seconds]
        if answer.served_model:
            values += [step_seconds, answer.served_model]
            values += [answer.tokens_cached] if answer.tokens_cached else []
        elif step_seconds:
            values.append(step_seconds)
        should_sync = time.monotonic() - self._last_sync >= SYNC_INTERVAL_S
        append_lines(self.path, canonical_json([entry_id, *values]), should_sync=should_sync)
        self._response_by_entry_id[entry_id] = CachedResponse(answer, seconds, step_seconds)
        if should_sync:
            self._last_sync = time.monotonic()

    def withdraw(self, entry_id: str) -> None:
        """Remove a cached answer that may belong to another request, as a later error of the model shows."""
        if entry_id in self._response_by_entry_id:
            append_lines(self.path, canonical_json([entry_id]))
            del self._response_by_entry_id[entry_id]

    def sync(self) -> None:
        """Write all answers to the disk."""
        if self.path.is_file():
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())

    def __len__(self) -> int:
        return len(self._response_by_entry_id)


class FailedRequest(NamedTuple):
    """The latest failure of a request."""

    answer: Answer
    """answer without text, which has the reason and the message of the failure"""
    attempts: int
    """number of failed attempts; 0 if the user ordered a retry"""


def get_failures_path(store: Store, key: str) -> Path:
    """Return the path of the failures of all runs with a key; no file exists if no request failed."""
    return store.path("failures", key, ".jsonl")


class Failures:
    """Failures by entry id, in an append-only file with lines of entry id, reason, message and attempts.

    The last line of an entry is valid; a line without a reason means that a later job answered the request.
    """

    def __init__(self, path: Path, max_attempts: int) -> None:
        self.path, self._max_attempts = path, max_attempts
        self._unwritten: list[list[object]] = []
        latest = {
            str(entry_id): FailedRequest(Answer(error=str(error), message=str(message)), cast(int, attempts_so_far))
            for entry_id, error, message, attempts_so_far in read_lines(path)
        }
        self._failure_by_entry_id = {entry_id: failure for entry_id, failure in latest.items() if failure.answer.error}

    def get(self, entry_id: str) -> Answer | None:
        """Return the latest failure of a request; None if there is none."""
        return self._failure_by_entry_id[entry_id].answer if entry_id in self._failure_by_entry_id else None

    def should_send(self, entry_id: str) -> bool:
        """Return whether to send this request: if it never failed, its clip was damaged, or a retry may help."""
        failure = self._failure_by_entry_id.get(entry_id)
        return failure is None or failure.answer.error in MEDIA_STATUSES or self._is_retryable(failure)

    def count_retryable(self) -> Counter[str]:
        """Return the number of failures by reason that the next run of the workflow retries."""
        return Counter(
            failure.answer.error for failure in self._failure_by_entry_id.values() if self._is_retryable(failure)
        )

    def _is_retryable(self, failure: FailedRequest) -> bool:
        return failure.attempts == 0 or (
            failure.answer.error in TRANSIENT_REASONS and failure.attempts < self._max_attempts
        )

    def add(self, entry_id: str, answer: Answer) -> None:
        """Count one more failed attempt; `write` saves it."""
        previous = self._failure_by_entry_id.get(entry_id)
        self._set(entry_id, answer, previous.attempts + 1 if previous else 1)

    def resolve(self, entry_id: str) -> None:
        """Forget the failures of a request that has been answered."""
        if self._failure_by_entry_id.pop(entry_id, None) is not None:
            self._unwritten.append([entry_id, "", "", 0])

    def retry(self, reasons: Iterable[str] = ()) -> int:
        """Mark the failures with these reasons, by default all, to be retried, and return their number."""
        selected_reasons = set(reasons)
        selected = [
            (entry_id, failure.answer)
            for entry_id, failure in self._failure_by_entry_id.items()
            if not selected_reasons or failure.answer.error in selected_reasons
        ]
        for entry_id, answer in selected:
            self._set(entry_id, answer, 0)
        self.write()
        return len(selected)

    def write(self) -> None:
        """Append the changes to the file, without a sync, because a line lost in a power cut costs one attempt only."""
        for line in self._unwritten:
            append_lines(self.path, canonical_json(line), should_sync=False)
        self._unwritten.clear()

    def _set(self, entry_id: str, answer: Answer, attempts: int) -> None:
        self._unwritten.append([entry_id, answer.error, answer.message, attempts])
        self._failure_by_entry_id[entry_id] = FailedRequest(answer, attempts)


class Suspects:
    """The suspects: requests that were running when a job was killed, and that may have caused the kill.

    Before a job sends the requests about a clip, it records them in a file. If the job is killed, the next job treats
    them as suspects. A job that ends by itself keeps only the suspects that it has not sent.
    """

    def __init__(self, cache: ResponseCache, partition: Partition = WHOLE_RUN) -> None:
        self._path = cache.path.with_suffix(".suspects" if partition == WHOLE_RUN else f".{partition.name}.suspects")
        record = read_record(self._path) or {"suspects": [], "running": []}
        earlier_suspects, running_at_kill = set(record["suspects"]), set(record["running"])
        self.entry_ids = frozenset(
            entry_id for entry_id in earlier_suspects | running_at_kill if cache.get(entry_id) is None
        )
        """entry ids of the suspects when this job began"""
        # Suspects are sent one by one, so a suspect that was running at another kill was running alone. Before the
        # model's first answer, the kill may be due to the loading of the model instead of a request.
        self._confirmed_suspects = self.entry_ids & earlier_suspects & running_at_kill if len(cache) else frozenset()
        self._unsent_suspects = set(self.entry_ids)
        self._running_by_copy: dict[int, tuple[str, ...]] = {}
        self._killed_entry_ids: tuple[str, ...] = ()

    def record_killed(self, failures: Failures) -> None:
        """Count a failed attempt for a suspect that was running alone when the last job was killed."""
        if self._confirmed_suspects:
            for entry_id in self._confirmed_suspects:
                failures.add(entry_id, KILLED_ANSWER)
            failures.write()
            self._write([])

    @contextmanager
    def save_on_exit(self) -> Iterator[None]:
        """Record the unsent suspects when the job ends by itself."""
        try:
            yield
        finally:
            if self._unsent_suspects or self._killed_entry_ids:
                self._write(self._killed_entry_ids)
            else:
                self._path.unlink(missing_ok=True)

    def record_running(self, entry_ids: Collection[str], copy_index: int = 0) -> None:
        """Record the requests that one of the model's copies is about to answer."""
        self._running_by_copy[copy_index] = tuple(entry_ids)
        self._write([entry_id for batch in self._running_by_copy.values() for entry_id in batch])
        self._unsent_suspects.difference_update(entry_ids)

    def clear_running(self, copy_index: int) -> None:
        """Remove the requests of a copy that has answered its whole share."""
        self._running_by_copy.pop(copy_index, None)

    def mark_killed(self, copy_index: int) -> None:
        """Make suspects of the requests that a copy was answering when its process was killed."""
        self._killed_entry_ids = self._running_by_copy[copy_index]
        self._unsent_suspects |= self.entry_ids & set(self._killed_entry_ids)

    def _write(self, running: Collection[str]) -> None:
        write_record(self._path, {"running": sorted(running), "suspects": sorted(self._unsent_suspects)})
