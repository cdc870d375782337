"""What became of a run's items and answers, in numbers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from reprise.models.asking.reasons import REASONS
from reprise.report.runs import metrics_of
from reprise.report.scripts import shown

LONGEST = 300


class Failure(NamedTuple):
    """A reason of failed answers."""

    reason: str
    answers: int
    message: str
    """of the first of them"""


class Summary(NamedTuple):
    """A run's items by what became of them; an item counts as failed or unread if any answer to it is."""

    asked: int
    failed: int
    unread: int
    missing: int
    differ: int
    """items with an answer that the two readers read differently"""
    answers: int
    failures: tuple[Failure, ...]
    metrics: frozenset[str]
    """those that tell single items apart"""
    groups: frozenset[str]
    """tests and groups of items of its benchmark"""


def summary(columns: dict[str, Any], responses: pl.DataFrame, groups: Iterable[str]) -> Summary:
    """The numbers of one run."""
    state = columns["state"]
    counts = {sign: state.count(sign) for sign in "afum"}
    return Summary(
        asked=counts["a"] + counts["f"] + counts["u"],
        failed=counts["f"],
        unread=counts["u"],
        missing=counts["m"],
        differ=columns["differ"].count("1"),
        answers=responses.height,
        failures=tuple(_failures(responses)),
        metrics=frozenset(metrics_of(columns)),
        groups=frozenset(groups),
    )


def _failures(responses: pl.DataFrame) -> list[Failure]:
    """Why answers failed, the most frequent reason first."""
    failed = responses.filter(pl.col("error").is_in(list(REASONS)))
    found = failed.group_by("error", maintain_order=True).agg(pl.len(), pl.col("message").first())
    rows = found.sort(["len", "error"], descending=[True, False]).iter_rows()
    return [Failure(reason, count, shown(message)[:LONGEST]) for reason, count, message in rows]
