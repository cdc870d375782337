"""How a number is printed."""

import math

from reprise.tables.render.table import Number

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def format_value(value: float | None, decimals: int, *, signed: bool = False) -> str:
    """A rounded number with a real minus sign, never a negative zero; an en dash for None, NaN for no number."""
    if value is None:
        return EN_DASH
    if not math.isfinite(value):
        return "NaN"
    rounded = round(value, decimals) + 0.0  # adding 0.0 turns -0.0 into 0.0
    return f"{rounded:{'+' if signed else ''}.{decimals}f}".replace("-", MINUS)


def format_number(number: Number) -> str:
    """A number's value as printed, without its marks."""
    return format_value(number.value, number.decimals, signed=number.signed)


def format_interval(number: Number) -> str:
    """`(low–high)`, or nothing without an interval."""
    if number.interval is None or number.value is None:
        return ""
    low, high = (format_value(bound, number.decimals, signed=number.signed) for bound in number.interval)
    return f"({low}{EN_DASH}{high})"


def compared(number: Number) -> tuple[str, str] | None:
    """The published value and the difference of the printed values; nothing without both values."""
    if number.value is None or number.published is None or number.state == "published":
        return None
    difference = round(number.value, number.decimals) - round(number.published, number.decimals)
    published = format_value(number.published, number.decimals, signed=number.signed)
    return published, format_value(difference, number.decimals, signed=True)


def format_comparison(number: Number) -> str:
    """`(published, difference)`, or nothing without both values."""
    found = compared(number)
    return f"({', '.join(found)})" if found else ""
