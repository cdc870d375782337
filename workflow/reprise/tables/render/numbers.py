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


def compared(number: Number) -> tuple[str, str] | None:
    """The published value and the difference of the printed values; nothing without both values."""
    if number.value is None or number.published is None or number.state == "published":
        return None
    difference = round(number.value, number.decimals) - round(number.published, number.decimals)
    published = format_value(number.published, number.decimals, signed=number.signed)
    return published, format_value(difference, number.decimals, signed=True)
