"""What a provider allows, kept by all jobs of a machine together: requests and tokens a minute, requests at a time.

The state is one small file under a lock of the operating system, so that a killed job holds nobody up.
"""

import json
import re
import time
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import Field

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

    @property
    def are_set(self) -> bool:
        return any((self.concurrency, self.requests_per_minute, self.tokens_per_minute))


class Gate:
    """The limits as one job passes them."""

    def __init__(self, folder: Path, limits: ProviderLimits, host: str) -> None:
        self._limits = limits
        self._folder = folder / re.sub(r"[^A-Za-z0-9._-]", "_", limits.shared or host)
        self._state = self._folder / "state.json"

    def wait_for(self, tokens: int) -> float:
        """Take a request of so many tokens; or how many seconds to wait before the next try."""
        with self._alone():
            now, state = time.time(), self._read()
            levels = self._levels(state, now)
            waits = [state.get("held_until", 0.0) - now]
            waits += [(-level * MINUTE_S / limit) for (_, limit), level in zip(self._buckets(), levels, strict=True)]
            if max(waits) > 0:
                return max(waits)
            taken = {"requests": 1, "tokens": tokens}
            new = {name: level - taken[name] for (name, _), level in zip(self._buckets(), levels, strict=True)}
            self._write({**state, **new, "time": now})
            return 0.0

    def correct(self, tokens: int) -> None:
        """Give back tokens that a request did not take."""
        if self._limits.tokens_per_minute is not None and tokens:
            with self._alone():
                state = self._read()
                self._write({**state, "tokens": state.get("tokens", 0.0) + tokens})

    def hold(self, seconds: float) -> None:
        """Nobody sends for so long: the server asks to wait."""
        with self._alone():
            state = self._read()
            self._write({**state, "held_until": max(state.get("held_until", 0.0), time.time() + seconds)})

    def slot(self) -> FileLock | None:
        """One of the places for requests on their way; none where all are taken. Its lock ends with its process."""
        for number in range(self._limits.concurrency or 0):
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / f"{number}.lock", fallback_to_soft=False, thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            return lock
        return None

    def _buckets(self) -> list[tuple[str, int]]:
        limits = {"requests": self._limits.requests_per_minute, "tokens": self._limits.tokens_per_minute}
        return [(name, limit) for name, limit in limits.items() if limit is not None]

    def _levels(self, state: dict[str, float], now: float) -> list[float]:
        """What is left of each limit: it fills up steadily. Below zero, somebody took more than was there."""
        since = max(0.0, now - state.get("time", 0.0))
        found = []
        for name, limit in self._buckets():
            most = max(0.0, limit * BURST_S / MINUTE_S - 1)
            found.append(min(most, state.get(name, most) + since * limit / MINUTE_S))
        return found

    def _alone(self) -> FileLock:
        self._folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._folder / "state.lock", poll_interval=0.002, fallback_to_soft=False, thread_local=False)

    def _read(self) -> dict[str, float]:
        """A state that a kill has cut short counts as none: the limits are full again."""
        try:
            return {str(name): float(value) for name, value in json.loads(self._state.read_text()).items()}
        except (FileNotFoundError, ValueError):
            return {}

    def _write(self, state: dict[str, float]) -> None:
        self._state.write_text(json.dumps(state))
