"""Immediate retries, with back-off, of failures that may pass in a moment, and the bounds of what may take long."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from reprise.core.retry_after import retry_after_s
from reprise.fetch.outcome import FetchError
from reprise.fetch.settings import Remote

T = TypeVar("T")
# A bot check or a captcha is not here: asking again makes it worse.
RETRY_NOW = {"server_error", "network", "empty_download", "rate_limited", "forbidden_media"}


class _TimeIsUp(BaseException):
    """No Exception: libraries go on after those."""


def with_retries(call: Callable[[], T], settings: Remote, give_up: frozenset[str] = frozenset()) -> T:
    """Call until it works, fails for good, or has failed `retries` times more; statuses in `give_up` end it at once."""
    for attempt in range(settings.retries):
        try:
            return call()
        except FetchError as error:
            if error.status not in RETRY_NOW - give_up:
                raise
            if error.wait_s > settings.max_wait_s:
                asked = f"the server asks to wait {error.wait_s:.0f} s, more than max_wait_s ({settings.max_wait_s:g})"
                raise FetchError(error.status, f"{error.message}; {asked}") from error
            time.sleep(max(error.wait_s, min(settings.backoff_s * 2**attempt, 120.0)))
    return call()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End the block by a FetchError when it has taken too long, whatever it waits for."""

    def stop(*_: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # and again: a library may swallow what a signal raises
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp:
        raise FetchError("too_slow", f"not done after {seconds:g} s (max_s)") from None
    finally:
        signal.signal(signal.SIGALRM, before)


def check_bounds(count: int, elapsed_s: float, settings: Remote) -> None:
    """Refuse a download that is too large, or, once it has had `timeout_s`, too slow."""
    if count > settings.max_mb * 1e6:
        raise too_large(count, settings.max_mb)
    if elapsed_s > settings.timeout_s and count < settings.min_kb_s * 1e3 * elapsed_s:
        raise FetchError(
            "too_slow", f"{count} bytes in {elapsed_s:.0f} s, less than min_kb_s ({settings.min_kb_s:g} KB a second)"
        )


def too_large(count: int, max_mb: float) -> FetchError:
    return FetchError("too_large", f"{count / 1e6:.1f} MB or more, allowed are {max_mb:g} (max_mb)")


def status_of_http(code: int) -> str:
    if code in (404, 410):
        return "not_found"
    if code in (401, 403):
        return "forbidden"
    if code == 429:
        return "rate_limited"
    if 300 <= code < 400:
        return "bad_redirect"
    if code < 200:  # a hint that a file follows, which the client does not wait for
        return "network"
    return "server_error" if code >= 500 or code in (408, 409, 421, 423, 425) else "failed"


def wait_asked(header: str | None, sent: str | None = None) -> float:
    """Seconds that a server asks us to wait by `Retry-After`, with its `Date` if there is one; 0 where it does not."""
    return retry_after_s(header, sent) or 0.0
