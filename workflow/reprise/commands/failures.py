"""How failures are listed: by reason, each with its meaning, what the next run does about it, and some examples."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from reprise.core.plain import plain
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.models.asking.reasons import REASONS

SHOWN = 3
MEANINGS = STATUSES | REASONS | TRANSIENT | PERMANENT
RETRY = "To have others tried again: python -m reprise retry <run or reason>"


def failure_lines(failed: pl.DataFrame, due: Counter[str], shown: int | None = SHOWN) -> Iterator[str]:
    """Failures (reason, name, message) by reason; `due` says how many of a reason the next run tries again."""
    for reason, number in Counter(failed["reason"]).most_common():
        again = f"; the next run tries {due[reason]} again" if due[reason] else ""
        yield f"{number} {reason} ({MEANINGS.get(reason, reason)}){again}"
        rows = failed.filter(reason=reason).select("name", "message")
        for name, message in rows.head(number if shown is None else shown).iter_rows():
            yield f"  {plain(name)}: {plain(message)}" if message else f"  {plain(name)}"
        if shown is not None and number > shown:
            yield f"  and {number - shown} more"
