"""Whether a number of ours agrees with the one that the paper prints."""

import math
from typing import Literal, NamedTuple

from reprise.tables.published import Printed

Name = Literal["agrees", "differs", "not comparable"]
NAMES: tuple[Name, ...] = ("agrees", "differs", "not comparable")


class Measured(NamedTuple):
    """A number of ours with its interval, where it has one."""

    value: float | None
    low: float | None
    high: float | None


class Verdict(NamedTuple):
    """How a number of ours stands to the paper's."""

    name: Name
    why: str = ""
    """why it cannot be compared"""
    difference: float | None = None
    tolerance: float | None = None
    """the largest difference that still agrees"""


def verdict(ours: Measured, paper: Printed, *, is_exact: bool = False, why_not: str = "") -> Verdict:
    """Compare a number with the paper's.

    Both were measured on the same questions, but the paper's answers are not at hand, so that the two cannot be paired.
    The paper's number is taken to be as uncertain as ours, that is by the half of our interval on its side, and to be
    independent of ours; on top comes what its last digit leaves out. An exact number, such as a count, has only that.
    """
    if ours.value is None:
        return Verdict("not comparable", "nothing could be scored")
    if not math.isfinite(ours.value):
        return Verdict("not comparable", "ours is no number")
    difference, rounding = ours.value - paper.value, 10.0**-paper.decimals / 2
    if why_not:
        return Verdict("not comparable", why_not, difference)
    if ours.low is None or ours.high is None:
        if _is_within(difference, rounding):
            return Verdict("agrees", "", difference, rounding)
        return (
            Verdict("differs", "", difference, rounding)
            if is_exact
            else Verdict("not comparable", "no interval of ours", difference)
        )
    half = ours.value - ours.low if difference > 0 else ours.high - ours.value
    tolerance = math.sqrt(2) * half + rounding
    return Verdict("agrees" if _is_within(difference, tolerance) else "differs", "", difference, tolerance)


def _is_within(difference: float, most: float) -> bool:
    return abs(difference) < most or math.isclose(abs(difference), most)
