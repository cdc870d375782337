"""Immediate retries, with back-off, of failures that may pass in a moment."""

import time
from collections.abc import Callable
from typing import TypeVar

from reprise.fetch.outcome import FetchError
from reprise.fetch.settings import Remote

T = TypeVar("T")
# A bot check or a captcha is not here: asking again makes it worse.
RETRY_NOW = {"server_error", "network", "empty_download", "rate_limited", "forbidden_media"}
LONGEST_PAUSE_S = 120.0


def with_retries(call: Callable[[], T], settings: Remote, give_up: frozenset[str] = frozenset()) -> T:
    """Call until it works, fails for good, or has failed `retries` times more; statuses in `give_up` end it at once."""
    for attempt in range(settings.retries):
        try:
            return call()
        except FetchError as error:
            if error.status not in RETRY_NOW - give_up:
                raise
            time.sleep(min(settings.backoff_s * 2**attempt, LONGEST_PAUSE_S))
    return call()


def status_of_http(code: int) -> str:
    """The named reason behind an HTTP status."""
    if code in (404, 410):
        return "not_found"
    if code in (401, 403):
        return "forbidden"
    if code == 429:
        return "rate_limited"
    return "server_error" if code >= 500 or code == 408 else "failed"
