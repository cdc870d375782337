"""How far a job is that asks a model, as it says so in its log."""

import time

from reprise.core.job_logs import Progress
from reprise.core.log import log

PROGRESS_SECONDS = 10.0


class ProgressLine:
    """A line in the log every few seconds: how far, how fast, how long still.

    The first clip counts for nothing where others follow: its time is that of the model's loading too.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._before = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        now = time.monotonic()
        self._done += count
        if self._done == count and self._done < self._total:
            self._start, self._before = now, count
        elif now - self._last >= PROGRESS_SECONDS or self._done == self._total:
            self._last = now
            rate = (self._done - self._before) / max(now - self._start, 1e-9)
            left = (self._total - self._done) / rate if rate else 0.0
            log.info(str(Progress(self._done, self._total, rate, left)))
