"""`store`: the size of the store, and deleting what is no longer used."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from reprise.config.load import load
from reprise.core.paths import Ledger, Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.core.store import Store


def open_store() -> Store:
    """The configured store."""
    return Store(Path(load(Path()).main.store))


def show_store() -> None:
    """One line per kind: files and size."""
    store = open_store()
    print(f"{store.root}")
    for kind, (files, size) in store.sizes().items():
        print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")


def prune_store() -> None:
    """Delete videos and clips that no suite's ledgers name; answers and weights stay."""
    freed = open_store().prune(_named_objects())
    print(f"{freed / 1e6:.1f} MB freed")


def _named_objects() -> Iterator[str]:
    stages: tuple[tuple[Ledger, pl.Schema], ...] = (("sources", SOURCES), ("clips", CLIP_LEDGER))
    for results in Results.of_all_suites():
        for stage, schema in stages:
            for _, _, path in results.found_ledgers(stage):
                yield from read_table(path, schema)["object"].to_list()
