"""Verdicts on reproduced numbers: worked examples by hand."""

import math
from typing import Any

import pytest
from reprise.tables.published import Printed
from reprise.tables.verdict import Verdict, verdict

ENDS = (55.0, 66.0)


def of(value: float | None, interval: tuple[float, float] | None, published: float, **known: Any) -> Verdict:
    return verdict(value, interval, Printed(published, known.pop("decimals", 1)), **known)


def test_the_tolerance_is_that_of_two_numbers_measured_on_the_same_number_of_questions() -> None:
    # Published above ours: the half of the interval that lies on its side is 6, so sqrt(6² + 6²) = 8.485, and 0.05 of print.
    found = of(60.0, ENDS, 67.9)
    assert found.tolerance == pytest.approx(math.sqrt(72) + 0.05)
    assert (found.difference, found.name) == (pytest.approx(-7.9), "agrees")
    # Published below: that half is 5, so 7.071 and 0.05.
    assert [of(60.0, ENDS, published).name for published in (52.9, 52.8)] == ["agrees", "differs"]
    assert [of(100.0, (100.0, 100.0), published).name for published in (100.0, 99.9)] == ["agrees", "differs"]


@pytest.mark.parametrize(
    ("published", "decimals", "slack"), [(1.6, 1, 0.05), (1.6, 2, 0.005), (864, 0, 0.5), (0.32, 3, 0.0005)]
)
def test_what_a_printed_number_leaves_out_is_half_of_its_last_digit(
    published: float, decimals: int, slack: float
) -> None:
    assert of(published, (published, published), published, decimals=decimals).tolerance == pytest.approx(slack)


@pytest.mark.parametrize(
    ("value", "published", "known", "name"),
    [
        (12.34, 12.3, {}, "agrees"),  # it prints like the paper's
        (12.36, 12.3, {}, "not comparable"),
        (356.0, 356.0, {"is_exact": True}, "agrees"),
        (355.0, 356.0, {"is_exact": True}, "differs"),
    ],
)
def test_a_number_without_an_interval(value: float, published: float, known: dict[str, bool], name: str) -> None:
    assert of(value, None, published, **known).name == name


@pytest.mark.parametrize(
    ("value", "interval", "why", "named"),
    [
        (None, None, "", "nothing could be scored"),
        (math.nan, (math.nan, math.nan), "", "ours is no number"),
        (math.inf, None, "", "ours is no number"),
        (10.0, None, "", "no interval of ours"),
        (60.0, ENDS, "judged by another", "judged by another"),
    ],
)
def test_what_cannot_be_compared_says_why(
    value: float | None, interval: tuple[float, float] | None, why: str, named: str
) -> None:
    assert of(value, interval, 99.0, why_not=why)[:2] == ("not comparable", named)
