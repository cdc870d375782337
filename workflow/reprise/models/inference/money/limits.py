"""Apply a provider's rate limits to all jobs of a store together, and estimate the tokens of images.

A provider may limit requests per minute, tokens per minute and concurrent requests.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout
from pydantic import Field

from reprise.core.locks import file_lock
from reprise.core.settings import Settings

MINUTE_S = 60.0
# A burst may use the quota of this many seconds, because vendors count in windows shorter than a minute.
BURST_S = 5.0


class ProviderLimits(Settings):
    """Rate limits of a provider. Jobs with the same `shared` stay within them together."""

    shared: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the account or group of models that shares these limits; by default the provider's host."""
    concurrency: int | None = Field(None, ge=1)
    """Maximum number of concurrent requests of all jobs together."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Maximum number of requests per minute."""
    tokens_per_minute: int | None = Field(None, ge=1)
    """Maximum number of prompt and answer tokens per minute. Until its reply arrives, a request counts with the
    largest number that it may use."""


class RateLimiter:
    """A token-bucket rate limiter, whose state is a small file that all jobs share.

    The state maps "requests" and "tokens" to the levels of their buckets, "time" to the last update, and "held_until"
    to the end of a pause. The operating system releases the lock on the file when its process ends.
    """

    def __init__(self, folder: Path, limits: ProviderLimits, host: str) -> None:
        self._concurrency = limits.concurrency or 0
        per_minute = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        self._limit_by_bucket = {name: limit for name, limit in per_minute.items() if limit is not None}
        self._folder = folder / re.sub(r"[^A-Za-z0-9._-]", "_", limits.shared or host)

    def try_acquire(self, tokens: int) -> float:
        """Take a request with this many tokens from the quota; return 0, or the seconds to wait before the next try."""
        with self._state() as state:
            now, amounts = time.time(), {"requests": 1, "tokens": tokens}
            elapsed_s = max(0.0, now - state.get("time", 0.0))
            levels: dict[str, float] = {}
            for name, limit in self._limit_by_bucket.items():  # Each bucket refills at the rate of its limit.
                # A level of 0 still permits a request, so the capacity is one less than the quota of a burst.
                capacity = max(0.0, limit * BURST_S / MINUTE_S - 1)
                levels[name] = min(capacity, state.get(name, capacity) + elapsed_s * limit / MINUTE_S)
            # A request that exceeds the level of its bucket makes the level negative.
            waits = [-level * MINUTE_S / self._limit_by_bucket[name] for name, level in levels.items()]
            wait = max(0.0, state.get("held_until", 0.0) - now, *waits)
            if wait == 0:
                state.update({name: level - amounts[name] for name, level in levels.items()}, time=now)
            return wait

    def refund(self, tokens: int) -> None:
        """Add tokens that a request did not use to the quota again."""
        if "tokens" in self._limit_by_bucket and tokens:
            with self._state() as state:
                state["tokens"] = state.get("tokens", 0.0) + tokens

    def pause(self, seconds: float) -> None:
        """Stop all jobs from sending for some seconds, because the server told a client to wait."""
        with self._state() as state:
            state["held_until"] = max(state.get("held_until", 0.0), time.time() + seconds)

    def acquire_slot(self) -> FileLock | None:
        """Return the lock of a free slot for a concurrent request, or None if all are in use.

        The operating system releases the lock when its process ends.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for slot_number in range(self._concurrency):
            lock = FileLock(self._folder / f"{slot_number}.lock", fallback_to_soft=False, thread_local=False)
            with suppress(Timeout):
                lock.acquire(blocking=False)
                return lock
        return None

    @contextmanager
    def _state(self) -> Iterator[dict[str, float]]:
        """Yield the shared state for changes, while other jobs are locked out.

        If a kill truncated the file, start from an empty state, which is the full quota.
        """
        path = self._folder / "state.json"
        with file_lock(path.with_suffix(".lock")):
            state: dict[str, float] = {}
            with suppress(FileNotFoundError, ValueError):
                state = {str(name): float(level) for name, level in json.loads(path.read_text()).items()}
            yield state
            path.write_text(json.dumps(state))


# --- images -----------------------------------------------------------------------------------------------------------


class FrameShape(NamedTuple):
    """The number of a clip's frames and their size in pixels, as they are sent."""

    frame_count: int
    width: int
    height: int


ImageTokenFormula = Callable[[int, int], int]
"""maximum number of tokens for an image, by its width and height"""


def count_anthropic_tokens(width: int, height: int) -> int:
    """Return an upper bound of the tokens that Anthropic counts for an image, because it may downscale the image."""
    # Source: platform.claude.com/docs/en/build-with-claude/vision, read 2026-11
    return ceil(width / 28) * ceil(height / 28)


def estimate_max_gemini_tokens(width: int, height: int) -> int:
    """Return the maximum number of tokens that a Gemini model counts for an image.

    Gemini 3 counts a fixed number. Earlier models count 258 for each square tile, whose side is two thirds of the
    image's shorter side.
    """
    # Source: docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding, read 2026-11
    tile = max(1, int(min(width, height) / 1.5))
    return max(1120, 258 * ceil(width / tile) * ceil(height / tile))
