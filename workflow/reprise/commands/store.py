"""`store`: the size of the store, deleting what no clone uses, and dropping damaged lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from reprise.config.load import load
from reprise.core.clones import forget, idle_clones, readable_clones, register
from reprise.core.paths import RESULTS, Ledger, Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.core.store import Store


def open_store() -> Store:
    """The configured store, which this clone is known to use."""
    store = Store(Path(load(Path()).main.store))
    register(store, Path())
    return store


def show_store() -> None:
    """One line per kind: files and size."""
    store = open_store()
    print(f"{store.root}")
    for kind, (files, size) in store.sizes().items():
        print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")


def prune_store() -> None:
    """Delete videos and clips that no clone's ledgers name; answers and weights stay."""
    store = open_store()
    freed = store.prune(_named_objects(readable_clones(store)))
    print(f"{freed / 1e6:.1f} MB freed")


def forget_clone(clone: Path) -> None:
    """Have pruning no longer spare what a clone that is gone names."""
    forget(open_store(), clone)
    print(f"{clone} is forgotten")


def repair_store() -> None:
    """Drop the damaged lines of journals and other logs."""
    store = open_store()
    idle_clones(store)
    lines = list(store.repair())
    print("\n".join(lines) or "no damaged line")


def _named_objects(clones: Sequence[Path]) -> Iterator[str]:
    stages: tuple[tuple[Ledger, pl.Schema], ...] = (("sources", SOURCES), ("clips", CLIP_LEDGER))
    for clone in clones:
        for results in Results.of_all_suites(clone / RESULTS):
            for stage, schema in stages:
                for _, _, path in results.found_ledgers(stage):
                    yield from read_table(path, schema)["object"].to_list()
