"""Verdicts on reproduced numbers: worked examples by hand."""

import math
from typing import Any

import pytest
from reprise.tables.published import Printed
from reprise.tables.verdict import Measured, Verdict
from reprise.tables.verdict import verdict as verdict_of


def measured(value: float | None = 60.0, low: float | None = 55.0, high: float | None = 66.0) -> Measured:
    return Measured(value, low, high)


def verdict(ours: Measured, published: float, decimals: int = 1, **known: Any) -> Verdict:
    return verdict_of(ours, Printed(published, decimals), **known)


def test_the_tolerance_is_that_of_two_numbers_measured_on_the_same_number_of_questions() -> None:
    # Published above ours: the half of the interval that lies on its side is 6, so sqrt(6² + 6²) = 8.485, and 0.05 of print.
    found = verdict(measured(), 67.9)
    assert found.tolerance == pytest.approx(math.sqrt(72) + 0.05)
    assert found.difference == pytest.approx(-7.9)
    assert found.name == "agrees"
    # Published below: that half is 5, so 7.071 and 0.05.
    assert verdict(measured(), 52.9).name == "agrees"
    assert verdict(measured(), 52.8).name == "differs"


@pytest.mark.parametrize(
    ("published", "decimals", "slack"),
    [(1.6, 1, 0.05), (1.6, 2, 0.005), (58.0, 1, 0.05), (864, 0, 0.5), (0.32, 3, 0.0005)],
)
def test_what_a_printed_number_leaves_out_is_half_of_its_last_digit(
    published: float, decimals: int, slack: float
) -> None:
    found = verdict(measured(published, published, published), published, decimals)
    assert found.tolerance == pytest.approx(slack)


def test_a_number_that_prints_like_the_papers_agrees_without_an_interval() -> None:
    assert verdict(measured(12.34, None, None), 12.3).name == "agrees"
    assert verdict(measured(12.36, None, None), 12.3).name == "not comparable"


def test_an_exact_number_differs_as_soon_as_it_prints_otherwise() -> None:
    assert verdict(measured(356.0, None, None), 356.0, is_exact=True).name == "agrees"
    assert verdict(measured(355.0, None, None), 356.0, is_exact=True).name == "differs"


@pytest.mark.parametrize(
    ("ours", "why", "named"),
    [
        (measured(None, None, None), "", "nothing could be scored"),
        (measured(float("nan"), float("nan"), float("nan")), "", "ours is no number"),
        (measured(float("inf"), None, None), "", "ours is no number"),
        (measured(10.0, None, None), "", "no interval of ours"),
        (measured(), "judged by another", "judged by another"),
    ],
)
def test_what_cannot_be_compared_says_why(ours: Measured, why: str, named: str) -> None:
    found = verdict(ours, 99.0, why_not=why)
    assert (found.name, found.why) == ("not comparable", named)


def test_an_interval_of_no_width_allows_what_print_leaves_out() -> None:
    assert verdict(measured(100.0, 100.0, 100.0), 100.0).name == "agrees"
    assert verdict(measured(100.0, 100.0, 100.0), 99.9).name == "differs"
