"""What a provider allows: requests and tokens a minute, and requests at a time, kept by all jobs of a machine together;
and how many tokens some vendors count for an image."""

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

from reprise.core.locks import locked
from reprise.core.settings import Settings

MINUTE_S = 60.0
# As many seconds of a limit may be used at once: a vendor counts in windows that are shorter than its minute.
BURST_S = 5.0


class ProviderLimits(Settings):
    """What a provider allows. Jobs that name the same `shared` keep within it together."""

    shared: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the account or of the group of models that has these limits; by default the provider's host."""
    concurrency: int | None = Field(None, ge=1)
    """Most requests on their way at a time, of all jobs together."""
    requests_per_minute: int | None = Field(None, ge=1)
    """Most requests a minute."""
    tokens_per_minute: int | None = Field(None, ge=1)
    """Most tokens a minute, of prompts and answers; counted is what a request may take at most, then what it took."""


class Gate:
    """The limits as one job passes them; the state of all is a small file, whose lock ends with its process."""

    def __init__(self, folder: Path, limits: ProviderLimits, host: str) -> None:
        self._concurrency = limits.concurrency or 0
        wanted = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        self._buckets = {name: limit for name, limit in wanted.items() if limit is not None}
        self._folder = folder / re.sub(r"[^A-Za-z0-9._-]", "_", limits.shared or host)

    def wait_for(self, tokens: int) -> float:
        """Take a request of so many tokens; or how many seconds to wait before the next try."""
        with self._state() as state:
            now, taken = time.time(), {"requests": 1, "tokens": tokens}
            since, levels = max(0.0, now - state.get("time", 0.0)), dict[str, float]()
            for name, limit in self._buckets.items():  # it fills up steadily
                most = max(0.0, limit * BURST_S / MINUTE_S - 1)
                levels[name] = min(most, state.get(name, most) + since * limit / MINUTE_S)
            # Below zero, somebody took more than was there.
            waits = [-level * MINUTE_S / self._buckets[name] for name, level in levels.items()]
            wait = max(0.0, state.get("held_until", 0.0) - now, *waits)
            if wait == 0:
                state.update({name: level - taken[name] for name, level in levels.items()}, time=now)
            return wait

    def correct(self, tokens: int) -> None:
        """Give back tokens that a request did not take."""
        if "tokens" in self._buckets and tokens:
            with self._state() as state:
                state["tokens"] = state.get("tokens", 0.0) + tokens

    def hold(self, seconds: float) -> None:
        """Nobody sends for so long: the server asks to wait."""
        with self._state() as state:
            state["held_until"] = max(state.get("held_until", 0.0), time.time() + seconds)

    def slot(self) -> FileLock | None:
        """One of the places for requests on their way; none where all are taken. Its lock ends with its process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(self._concurrency):
            lock = FileLock(self._folder / f"{number}.lock", fallback_to_soft=False, thread_local=False)
            with suppress(Timeout):
                lock.acquire(blocking=False)
                return lock
        return None

    @contextmanager
    def _state(self) -> Iterator[dict[str, float]]:
        """What all jobs know together, for one of them alone to change. One that a kill has cut short counts as none:
        the limits are full again."""
        path = self._folder / "state.json"
        with locked(path.with_suffix(".lock")):
            state: dict[str, float] = {}
            with suppress(FileNotFoundError, ValueError):
                state = {str(name): float(value) for name, value in json.loads(path.read_text()).items()}
            yield state
            path.write_text(json.dumps(state))


# --- images -----------------------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """The frames of a clip as they are sent."""

    frames: int
    width: int
    height: int


TokensOfImage = Callable[[int, int], int]
"""what an image of this width and height counts at most"""


def by_patches(width: int, height: int) -> int:
    """Anthropic's, of an image that is not made smaller first: that would only lower them."""
    # platform.claude.com/docs/en/build-with-claude/vision, read 2026-11
    return ceil(width / 28) * ceil(height / 28)


def by_aspect(width: int, height: int) -> int:
    """Gemini 3 takes a fixed number, earlier ones 258 for each tile of two thirds of the shorter side."""
    # docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding, read 2026-11
    unit = max(1, int(min(width, height) / 1.5))
    return max(1120, 258 * ceil(width / unit) * ceil(height / unit))
