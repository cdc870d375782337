"""`store`, `retry`, `subtitles`: the store's size, pruning it, asking again for what failed, subtitles that came."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from reprise.config import load
from reprise.core.errors import UserError, unknown
from reprise.core.files import canonical_json, file_digest, write_text
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.outcome import PERMANENT, TRANSIENT, safe_name
from reprise.fetch.records import forget_failures
from reprise.media.errors import STATUSES


def open_store() -> Store:
    """The configured store."""
    return Store(Path(load(Path()).main.store))


def show_store() -> None:
    """One line a kind: files and size."""
    store = open_store()
    print(f"{store.root}")
    for kind, (files, size) in store.sizes().items():
        print(f"  {kind:<10} {files:>8} files {size / 1e6:>12.1f} MB")


def prune_store() -> None:
    """Delete videos and clips that no suite's ledgers name; answers and weights stay."""
    freed = open_store().prune(_named_objects(Path("results")))
    print(f"{freed / 1e6:.1f} MB freed")


def retry_sources(statuses: Sequence[str]) -> None:
    """Forget failures of these reasons, and have the configured suite's shards that hold them made again."""
    known = PERMANENT | TRANSIENT | STATUSES
    for status in statuses:
        if status not in known:
            raise unknown("reason", status, known, "retry")
    forgotten = forget_failures(open_store(), statuses)
    results = Path("results") / load(Path()).name
    for ledger in results.glob("sources/*/*.parquet"):
        failed = read_table(ledger, SOURCES).filter(pl.col("status") != "ok")
        if failed.filter(pl.col("status").is_in(list(statuses or known))).height:
            # An input of the shard; newer than the ledger, it makes the next run ask again.
            retry = results / "keys/retries" / ledger.parent.name / f"{ledger.stem}.json"
            write_text(retry, canonical_json({"on_request": file_digest(ledger)}) + "\n")
    print(f"{forgotten} failures forgotten. Run snakemake now: it asks again for these, and only for these.")


def lay_out_subtitles(benchmark: str) -> None:
    """Copy the subtitles that came with a benchmark's videos to where its release is read from."""
    config = load(Path())
    if benchmark not in config.suite.benchmarks:
        raise unknown("benchmark", benchmark, config.suite.benchmarks, "subtitles")
    extras = config.suite.benchmarks[benchmark].extras
    if extras is None:
        raise UserError(
            f"config/suites/{config.name}.yaml: benchmarks.{benchmark}.extras: missing. Name the folder that takes the "
            "subtitles; its files then count as files of the release."
        )
    count, store = 0, Store(Path(config.main.store))
    for ledger in Path("results").glob(f"{config.name}/sources/{benchmark}/*.parquet"):
        for row in read_table(ledger, SOURCES).filter(pl.col("status") == "ok").iter_rows(named=True):
            found = (store.root / row["object"]).with_suffix(".vtt")
            if found.is_file():
                name = safe_name("{source_id}.vtt", row["source_id"])
                write_text(Path(extras) / "subtitles" / name, found.read_text(encoding="utf-8"))
                count += 1
    print(f"{count} files in {extras}/subtitles. Run snakemake now: it reads them.")


def _named_objects(results: Path) -> Iterator[str]:
    for stage, schema in (("sources", SOURCES), ("clips", CLIP_LEDGER)):
        for path in results.glob(f"*/{stage}/*/*.parquet"):
            yield from read_table(path, schema)["object"].to_list()
