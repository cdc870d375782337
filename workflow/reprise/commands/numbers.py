"""Format counts, durations and sizes for the terminal."""

UNKNOWN = "?"
GB, MB = 1e9, 1e6
TIME_UNITS = ((3600, "h"), (60, "min"), (1, "s"))  # A unit is used from 1.5 of it on: 80 min stay minutes.


def format_duration(seconds: float) -> str:
    """Return a time in its most suitable unit, such as `45 s`, `80 min` or `2.5 h`."""
    if 0 < seconds < 1:
        return "<1 s"
    unit_seconds, unit = next(
        (unit_seconds, unit) for unit_seconds, unit in TIME_UNITS if unit_seconds == 1 or seconds >= 1.5 * unit_seconds
    )
    count = seconds / unit_seconds
    return f"{count:.1f} {unit}" if count < 10 and unit_seconds > 1 else f"{count:,.0f} {unit}"


def format_count(count: float | None) -> str:
    """Return a count with a suffix, such as `1.5k` or `150k`; `?` if it is unknown."""
    if count is None:
        return UNKNOWN
    for unit_size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit_size:
            return f"{count / unit_size:.{1 if count < 100 * unit_size else 0}f}{suffix}"
    return f"{count:.0f}"


def format_known_sum(text: str, n_known: int, total: int) -> str:
    """Return the text of a sum over `n_known` of `total` runs, and how many runs have an unknown value, if any."""
    if n_known == total:
        return text
    return f"at least {text} (unknown of {total - n_known} of {total} runs)" if n_known else UNKNOWN


def format_bytes(size: float) -> str:
    """Return a size in GB or, below 0.1 GB, in MB."""
    return f"{size / GB:,.1f} GB" if size >= GB / 10 else f"{size / MB:,.1f} MB"


def format_size(size: float | None, prefix: str = "") -> str:
    """Return a size after a prefix such as `about `; `of unknown size` if it is None."""
    return "of unknown size" if size is None else f"{prefix}{format_bytes(size)}"


def format_rate(per_second: float) -> str:
    return f"{per_second:.0f}/s" if per_second >= 10 else f"{per_second:.2f}/s"
