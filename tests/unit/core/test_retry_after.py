"""Test the wait that a server requests, as a number or as a date in the formats of HTTP."""

import time
from email.utils import formatdate

import pytest
from reprise.core.retry_after import parse_retry_after_s

SERVER_DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("17", 17),
        (" 0.5 ", 0.5),
        ("-3", 0),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
        ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
        ("Sun Nov  6 08:50:07 1994", 30),
        ("Sun, 06 Nov 1994 09:50:07 +0100", 30),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
        ("soon", None),
        ("nan", None),
        ("", None),
        (None, None),
        ("Sun, 99 Nov 1994 08:50:07 GMT", None),
    ],
)
def test_a_wait_is_a_number_or_a_date_by_the_servers_clock(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after_s(value, SERVER_DATE) == seconds


def test_the_local_clock_is_used_without_a_date_of_the_server() -> None:
    for server_date in (None, "", "today"):
        assert parse_retry_after_s(formatdate(time.time() + 100, usegmt=True), server_date) == pytest.approx(100, abs=2)
