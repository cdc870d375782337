"""Which rows belong to a published subset: a list of rows by id and caption digest, or a seeded draw."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from reprise.benchmarks.rows import grouped
from reprise.core.errors import UserError
from reprise.core.tabular import csv_rows

LIST_COLUMNS = ("test_name", "video_id", "event", "captions")


def captions_digest(first: str, second: str) -> str:
    """Short digest of two captions in either order: names a row without repeating its text."""
    both = "\n".join(sorted(" ".join(text.split()) for text in (first, second)))
    return hashlib.sha256(both.encode()).hexdigest()[:16]


def rows_in_subset(rows: pl.DataFrame, columns: Sequence[str], subset: object) -> list[bool]:
    """For each row (test, video, event, positive, negative): is it in the subset?"""
    values = list(rows.select(columns).iter_rows())
    if subset is None:
        return [False] * len(values)
    settings = cast(Mapping[str, Any], subset)
    if "file" in settings:
        return _listed(values, Path(settings["file"]))
    return _drawn(values, int(settings["per_test"]), int(settings["seed"]))


def _listed(values: Sequence[tuple[str, ...]], path: Path) -> list[bool]:
    """Match by captions first; a row whose captions were edited since, by video and event if that is unique."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; the suite names it as the list of the subset.")
    listed = [tuple(row.values()) for row in csv_rows(path, LIST_COLUMNS)]
    by_captions = Counter((test, video, digest) for test, video, _, digest in listed)
    found = []
    for test, video, _, positive, negative in values:
        identity = (test, video, captions_digest(positive, negative))
        found.append(by_captions[identity] > 0)
        by_captions[identity] -= found[-1]
    left = Counter(
        (test, video, event) for test, video, event, digest in listed if by_captions[(test, video, digest)] > 0
    )
    places = [(test, video, event) for test, video, event, _, _ in values]
    candidates = Counter(place for place, is_in in zip(places, found, strict=True) if not is_in)
    return [is_in or (left[place] == 1 and candidates[place] == 1) for place, is_in in zip(places, found, strict=True)]


def _drawn(values: Sequence[tuple[str, ...]], per_test: int, seed: int) -> list[bool]:
    """The rows of each test whose seeded digest is smallest: the same draw whatever the order of the rows."""
    digests = [hashlib.sha256("\n".join((str(seed), *value)).encode()).hexdigest() for value in values]
    by_test = grouped(range(len(values)), lambda index: values[index][0])
    chosen = {index for own in by_test.values() for index in sorted(own, key=digests.__getitem__)[:per_test]}
    return [index in chosen for index in range(len(values))]
