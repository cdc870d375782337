"""Select the rows of a published subset, from a list of rows by id and caption digest or by seeded sampling."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from reprise.benchmarks.annotations import group_by_key
from reprise.core.errors import UserError
from reprise.core.tabular import read_csv_rows

LIST_COLUMNS = ("test_name", "video_id", "event", "captions")


def captions_digest(first: str, second: str) -> str:
    """Return a short digest of two captions in any order, which identifies a row without its text."""
    normalized = "\n".join(sorted(" ".join(text.split()) for text in (first, second)))
    return hashlib.sha256(normalized.encode()).hexdigest()[:16]


def match_subset(rows: pl.DataFrame, columns: Sequence[str], subset: object) -> list[bool]:
    """Return for each row (test, video, event, positive, negative) whether it is in the subset."""
    values = list(rows.select(columns).iter_rows())
    if subset is None:
        return [False] * len(values)
    settings = cast(Mapping[str, Any], subset)
    if "file" in settings:
        return _match_list(values, Path(settings["file"]))
    return _sample_rows(values, int(settings["per_test"]), int(settings["seed"]))


def _match_list(values: Sequence[tuple[str, ...]], path: Path) -> list[bool]:
    """Match rows to a list by captions.

    A row whose captions were edited since is matched by video and event, if that match is unique.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file. The suite's `subset` names it; correct the path or create the list.")
    entries = [tuple(row.values()) for row in read_csv_rows(path, LIST_COLUMNS)]
    by_captions = Counter((test, video, digest) for test, video, _, digest in entries)
    matches = []
    for test, video, _, positive, negative in values:
        identity = (test, video, captions_digest(positive, negative))
        matches.append(by_captions[identity] > 0)
        by_captions[identity] -= matches[-1]
    open_entries = Counter(
        (test, video, event) for test, video, event, digest in entries if by_captions[(test, video, digest)] > 0
    )
    events = [(test, video, event) for test, video, event, _, _ in values]
    open_rows = Counter(event_key for event_key, is_matched in zip(events, matches, strict=True) if not is_matched)
    return [
        is_matched or (open_entries[event_key] == 1 and open_rows[event_key] == 1)
        for event_key, is_matched in zip(events, matches, strict=True)
    ]


def _sample_rows(values: Sequence[tuple[str, ...]], per_test: int, seed: int) -> list[bool]:
    """Select the rows of each test with the smallest seeded digests, independent of the order of the rows."""
    digests = [hashlib.sha256("\n".join((str(seed), *value)).encode()).hexdigest() for value in values]
    by_test = group_by_key(range(len(values)), lambda index: values[index][0])
    sampled = {index for indices in by_test.values() for index in sorted(indices, key=digests.__getitem__)[:per_test]}
    return [index in sampled for index in range(len(values))]
