"""Format values, differences, intervals, p-values and shares in one notation for tables, pages and the terminal."""

import math
from decimal import ROUND_HALF_UP, Decimal

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps a symbol on the same line as its explanation
MIN_PRINTED_P = 0.0001
NOISE_DECIMALS = 9  # Sums of shares have errors in later decimals, which must not decide how a half is rounded.


def round_value(value: float, decimals: int) -> float:
    """Round a finite value half away from zero, such as 31.25 to 31.3; never return a negative zero."""
    exact = Decimal(repr(round(value, NOISE_DECIMALS)))
    return float(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)) + 0.0  # adding 0.0 turns -0.0 into 0.0


def format_value(value: float | None, decimals: int, *, signed: bool = False) -> str:
    """Return a rounded value; 0 has no sign. None becomes an en dash; NaN and infinity become `NaN`."""
    if value is None:
        return EN_DASH
    if not math.isfinite(value):
        return "NaN"
    rounded = round_value(value, decimals)
    return f"{rounded:{'+' if signed and rounded else ''}.{decimals}f}".replace("-", MINUS)


def format_difference(value: float | None, decimals: int) -> str:
    """Return a difference with its sign."""
    return format_value(value, decimals, signed=True)


def format_interval(low: float | None, high: float | None, decimals: int) -> str:
    """Return an interval such as `[25.0, 37.5]`, or an empty text if it is unknown."""
    if low is None or high is None:
        return ""
    return f"[{format_value(low, decimals)}, {format_value(high, decimals)}]"


def format_chance(chance: float) -> str:
    """Return a chance level with three digits, such as `25`, `6.25` or `16.7`."""
    return f"{chance:.3g}"


def format_p(p: float) -> str:
    """Return a p-value with four decimals, such as `0.0005`; a smaller one is `< 0.0001`, never 0."""
    return f"< {MIN_PRINTED_P}" if p < MIN_PRINTED_P else format_value(p, 4)


def describe_p(p: float) -> str:
    """Return a p-value for a sentence: `p = 0.0005` or `p < 0.0001`."""
    return f"p {'' if p < MIN_PRINTED_P else '= '}{format_p(p)}"


def describe_difference(
    value: float, low: float | None, high: float | None, p: float | None, decimals: int, level: float
) -> str:
    """Return a difference in points of its metric, such as `+1.5 points, 95 % interval [0.2, 2.8], p = 0.0301`."""
    interval = format_interval(low, high, decimals)
    parts = (
        f"{format_difference(value, decimals)} points",
        f"{100 * level:g} % interval {interval}" if interval else "",
        "" if p is None else describe_p(p),
    )
    return ", ".join(filter(None, parts))


def format_share(count: int, total: int) -> str:
    """Return how many of all have a property, such as `3 of 80`."""
    return f"{count:,} of {total:,}"


def format_percentage(percentage: float, decimals: int = 0) -> str:
    """Return a percentage such as `12 %`."""
    return f"{format_value(percentage, decimals)} %"
