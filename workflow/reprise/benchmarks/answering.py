"""The answer to each item, for protocols whose answers a judge rates or maps to an option."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import polars as pl

UNREADABLE = "unreadable"


class FreeAnswer(NamedTuple):
    """The answer to one item; `error` is the model's, or `unreadable` where a reader finds no answer in its reply."""

    item_id: str
    role: str
    text: str
    error: str


FreeAnswers: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame, str], list[FreeAnswer]]
"""Items, responses (with their clip ids) and a reader -> one answer per item."""


def answers_as_given(items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
    """The responses as they are, for forms that ask about every item separately."""
    return list(map(FreeAnswer._make, responses.select(FreeAnswer._fields).iter_rows()))
