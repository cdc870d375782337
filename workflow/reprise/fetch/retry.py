"""Retry transient failures with exponential back-off, and limit time, size and speed of downloads."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from reprise.core.retry_after import parse_retry_after_s
from reprise.fetch.outcome import FetchError
from reprise.fetch.settings import NetworkRoute

T = TypeVar("T")
# Statuses after which a call is repeated. Bot checks and captchas are not among them: another request makes them worse.
TRANSIENT_STATUSES = {"server_error", "network", "empty_download", "rate_limited", "forbidden_media"}
MAX_BACKOFF_S = 120.0  # Maximum wait before a retry, if the server does not request a longer one.


class _TimeIsUp(BaseException):
    """The time limit has expired; a BaseException, because libraries catch and ignore other exceptions."""


def call_with_retries(call: Callable[[], T], settings: NetworkRoute, never_retry: frozenset[str] = frozenset()) -> T:
    """Return the result of a call; repeat the call up to `retries` times after transient failures.

    Raises:
        FetchError: The last failure. There is no retry after a permanent failure, after a status in `never_retry`, or
            if the server requests a wait above `max_wait_s`.
    """
    for attempt in range(settings.retries):
        try:
            return call()
        except FetchError as error:
            if error.status not in TRANSIENT_STATUSES - never_retry:
                raise
            if error.wait_s > settings.max_wait_s:
                wait = f"the server requests a wait of {error.wait_s:.0f} s, above max_wait_s ({settings.max_wait_s:g})"
                raise FetchError(error.status, f"{error.message}; {wait}") from error
            time.sleep(max(error.wait_s, min(settings.backoff_s * 2**attempt, MAX_BACKOFF_S)))
    return call()  # the last attempt, whose failure is raised


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block with a FetchError after this time, even inside a library or a system call."""

    def raise_time_is_up(*_: object) -> None:
        raise _TimeIsUp

    previous_handler = signal.signal(signal.SIGALRM, raise_time_is_up)
    try:
        try:
            # The timer repeats, because a library may swallow what a signal raises.
            signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp:
        raise FetchError("too_slow", f"not finished after {seconds:g} s (max_s)") from None
    finally:
        signal.signal(signal.SIGALRM, previous_handler)


def check_limits(received_bytes: int, elapsed_s: float, settings: NetworkRoute) -> None:
    """Raise an error if a download is too large, or is too slow after its first `timeout_s` seconds."""
    if received_bytes > settings.max_mb * 1e6:
        raise size_error(received_bytes, settings.max_mb)
    if elapsed_s > settings.timeout_s and received_bytes < settings.min_kb_s * 1e3 * elapsed_s:
        raise FetchError(
            "too_slow",
            f"{received_bytes} bytes in {elapsed_s:.0f} s, less than min_kb_s ({settings.min_kb_s:g} KB a second)",
        )


def size_error(byte_count: int, max_mb: float) -> FetchError:
    """Return the error for a file of more than `max_mb` MB."""
    return FetchError("too_large", f"{byte_count / 1e6:.1f} MB or more, at most {max_mb:g} MB are allowed (max_mb)")


def classify_http_code(code: int) -> str:
    """Return the named status of an HTTP status code."""
    if code in (404, 410):
        return "not_found"
    if code in (401, 403):
        return "forbidden"
    if code == 429:
        return "rate_limited"
    if 300 <= code < 400:
        return "bad_redirect"
    if code < 200:  # The client does not wait for the file after an informational response.
        return "network"
    return "server_error" if code >= 500 or code in (408, 409, 421, 423, 425) else "failed"


def parse_wait_s(header: str | None, sent: str | None = None) -> float:
    """Return the seconds to wait that a server requests by `Retry-After`, or 0.

    If it names a time, the wait is from the server's `Date` (`sent`) to this time.
    """
    return parse_retry_after_s(header, sent) or 0.0
