"""Whether a number of ours agrees with the one that the paper prints."""

import math
from typing import Literal, NamedTuple

from reprise.tables.published import Printed

Name = Literal["agrees", "differs", "not comparable"]
NAMES: tuple[Name, ...] = ("agrees", "differs", "not comparable")


class Verdict(NamedTuple):
    """How a number of ours stands to the paper's."""

    name: Name
    why: str = ""
    """why it cannot be compared"""
    difference: float | None = None
    tolerance: float | None = None
    """the largest difference that still agrees"""


def verdict(
    value: float | None,
    interval: tuple[float, float] | None,
    paper: Printed,
    *,
    is_exact: bool = False,
    why_not: str = "",
) -> Verdict:
    """Compare a number of ours with the paper's.

    Both were measured on the same questions, but the paper's answers are not at hand, so that the two cannot be paired.
    The paper's number is taken to be as uncertain as ours, that is by the half of our interval on its side, and to be
    independent of ours; on top comes what its last digit leaves out. An exact number, such as a count, has only that.
    """
    if value is None:
        return Verdict("not comparable", "nothing could be scored")
    if not math.isfinite(value):
        return Verdict("not comparable", "ours is no number")
    difference, tolerance = value - paper.value, 10.0**-paper.decimals / 2
    if why_not:
        return Verdict("not comparable", why_not, difference)
    if interval is not None:
        low, high = interval
        tolerance += math.sqrt(2) * (value - low if difference > 0 else high - value)
    if abs(difference) < tolerance or math.isclose(abs(difference), tolerance):
        return Verdict("agrees", "", difference, tolerance)
    if interval is None and not is_exact:
        return Verdict("not comparable", "no interval of ours", difference)
    return Verdict("differs", "", difference, tolerance)
