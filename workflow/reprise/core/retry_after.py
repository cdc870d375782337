"""Parse the `Retry-After` header, by which a server delays the next request."""

import math
import time
from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after_s(value: str | None, sent: str | None = None) -> float | None:
    """Return the seconds to wait by a `Retry-After` header, which is a number or a date in any format of HTTP.

    Args:
        value: The header's value.
        sent: The reply's `Date` header. A date is counted from it, because the clock of this machine may be wrong.

    Returns:
        The seconds, 0 for a date that has passed; None if the header is missing or is neither.
    """
    stated = (value or "").strip()
    try:
        seconds = float(stated)
    except ValueError:
        moment = _timestamp(stated)
        if moment is None:
            return None
        now = _timestamp((sent or "").strip())
        seconds = moment - (time.time() if now is None else now)
    return None if math.isnan(seconds) else max(0.0, seconds)


def _timestamp(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()  # HTTP dates are in GMT.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
