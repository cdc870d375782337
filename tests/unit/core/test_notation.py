"""Test the notation of numbers."""

import math

from reprise.core.notation import (
    describe_p,
    format_difference,
    format_interval,
    format_p,
    format_percentage,
    format_share,
    format_value,
    round_value,
)


def test_values_are_rounded_half_away_from_zero() -> None:
    text_by_arguments = {
        (43.16, 1): "43.2",
        (31.25, 1): "31.3",
        (-31.25, 1): "−31.3",
        (100 * (0.1 + 0.2) - 29.95, 1): "0.1",  # 0.05 but for the error of the sum
        (16.6667, 2): "16.67",
        (2.5, 0): "3",
        (-0.04, 1): "0.0",
        (None, 1): "–",
        (math.nan, 1): "NaN",
        (-math.inf, 1): "NaN",
    }
    assert {arguments: format_value(*arguments) for arguments in text_by_arguments} == text_by_arguments
    assert math.copysign(1, round_value(-0.04, 1)) == 1


def test_differences_and_intervals_have_a_minus_sign() -> None:
    assert [format_difference(value, 1) for value in (3.6, -3.6, 0.04, -0.04)] == ["+3.6", "−3.6", "0.0", "0.0"]
    assert format_interval(-1.25, 4, 1) == "[−1.3, 4.0]" and format_interval(None, 4, 1) == ""


def test_a_p_value_is_never_0() -> None:
    assert [format_p(p) for p in (1, 0.00054, 0.0001, 0.00009, 0)] == [
        *("1.0000", "0.0005", "0.0001", "< 0.0001", "< 0.0001")
    ]
    assert [describe_p(p) for p in (0.0301, 1e-9)] == ["p = 0.0301", "p < 0.0001"]


def test_shares_have_their_total() -> None:
    assert (format_share(3, 1200), format_percentage(12.5)) == ("3 of 1,200", "13 %")
