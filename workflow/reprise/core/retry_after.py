"""Parse the `Retry-After` header, by which a server delays the next request."""

import math
import time
from datetime import UTC
from email.utils import parsedate_to_datetime


def parse_retry_after_s(header: str | None, reply_date: str | None = None) -> float | None:
    """Return the seconds to wait according to a `Retry-After` header: a number, or a date in any format of HTTP.

    Args:
        header: The value of `Retry-After`.
        reply_date: The reply's `Date` header. A date in `header` is compared with it, because the clock of this machine
            may be wrong.

    Returns:
        The seconds, 0 for a date in the past; None if the header is missing or invalid.
    """
    text = (header or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        retry_time = _timestamp(text)
        if retry_time is None:
            return None
        now = _timestamp((reply_date or "").strip())
        seconds = retry_time - (time.time() if now is None else now)
    return None if math.isnan(seconds) else max(0.0, seconds)


def _timestamp(date: str) -> float | None:
    """Return the Unix time of an HTTP date; None if it is invalid."""
    try:
        parsed_date = parsedate_to_datetime(date)
        if parsed_date.tzinfo is None:  # HTTP dates are in GMT.
            parsed_date = parsed_date.replace(tzinfo=UTC)
        return parsed_date.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
