"""Select the rows of a subset, by a published list of ids and caption digests or by seeded sampling."""

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
    """Return a short digest of two captions, which identifies a row without its text and in either order."""
    normalized = "\n".join(sorted(" ".join(text.split()) for text in (first, second)))
    return hashlib.sha256(normalized.encode()).hexdigest()[:16]


def match_subset(rows: pl.DataFrame, columns: Sequence[str], subset: object) -> list[bool]:
    """Return for each row (test, video, event, positive, negative) whether it is in the subset."""
    row_values = list(rows.select(columns).iter_rows())
    if subset is None:
        return [False] * len(row_values)
    settings = cast(Mapping[str, Any], subset)
    if "file" in settings:
        return _match_list(row_values, Path(settings["file"]))
    return _sample_rows(row_values, int(settings["per_test"]), int(settings["seed"]))


def _match_list(rows: Sequence[tuple[str, ...]], path: Path) -> list[bool]:
    """Return for each row whether the list has it, by its captions.

    A row whose captions were edited after publication is matched by its video and event, if that match is unique.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file. The suite's `subset` names it; correct the path or create the list.")
    entries = [tuple(row.values()) for row in read_csv_rows(path, LIST_COLUMNS)]
    # Match by captions. A digest may occur several times, so each match uses up one entry of the list.
    unmatched_by_captions = Counter((test, video, digest) for test, video, _, digest in entries)
    is_matched_flags = []
    for test, video, _, positive, negative in rows:
        caption_key = (test, video, captions_digest(positive, negative))
        is_matched = unmatched_by_captions[caption_key] > 0
        is_matched_flags.append(is_matched)
        if is_matched:
            unmatched_by_captions[caption_key] -= 1
    # Match the remaining rows and entries by event.
    unmatched_entry_counts = Counter(
        (test, video, event)
        for test, video, event, digest in entries
        if unmatched_by_captions[(test, video, digest)] > 0
    )
    event_keys = [(test, video, event) for test, video, event, _, _ in rows]
    unmatched_row_counts = Counter(
        event_key for event_key, is_matched in zip(event_keys, is_matched_flags, strict=True) if not is_matched
    )
    return [
        is_matched or (unmatched_entry_counts[event_key] == 1 and unmatched_row_counts[event_key] == 1)
        for event_key, is_matched in zip(event_keys, is_matched_flags, strict=True)
    ]


def _sample_rows(rows: Sequence[tuple[str, ...]], per_test: int, seed: int) -> list[bool]:
    """Return for each row whether it is sampled: in each test, the rows with the smallest seeded digests."""
    digests = [hashlib.sha256("\n".join((str(seed), *row)).encode()).hexdigest() for row in rows]
    tests = [row[0] for row in rows]
    indices_by_test = group_by_key(range(len(rows)), tests.__getitem__)
    sampled_indices = {
        index for indices in indices_by_test.values() for index in sorted(indices, key=digests.__getitem__)[:per_test]
    }
    return [index in sampled_indices for index in range(len(rows))]
