"""Vinoground's categories, and the halves of its pairs."""

import polars as pl

from reprise.core.schemas import in_group_named

ALL = "all"
MAJOR = ("object", "action", "viewpoint")
MINOR = ("interaction", "cyclical", "spatial", "contextual")
GROUPS = (ALL, *MAJOR, *MINOR)
HALVES = ("pos", "neg")
LETTERS = ("A", "B")


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    return items if group == ALL else items.filter(in_group_named(group))
