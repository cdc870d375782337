"""Times in names: with all of their digits, so that two spans of a video never share a name."""

from decimal import Decimal


def seconds(time: float) -> str:
    """`10`, `12.5`, `12345.678`: what reads as the same number, never in powers of ten."""
    return f"{Decimal(repr(float(time))):f}".removesuffix(".0")
