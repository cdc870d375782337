"""`retry`: make the next run try failed videos again."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.config.load import load
from reprise.core.errors import unknown
from reprise.core.files import canonical_json, file_digest, write_text
from reprise.core.paths import Results
from reprise.core.schemas import SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.fetch.records import forget_failures
from reprise.media.errors import STATUSES


def retry_sources(statuses: Sequence[str]) -> None:
    """Forget failures of these reasons, and make the next run repeat the configured suite's shards that hold them."""
    known = PERMANENT | TRANSIENT | STATUSES
    for status in statuses:
        if status not in known:
            raise unknown("reason", status, known, "retry")
    config = load(Path())
    forgotten = forget_failures(Store(Path(config.main.store)), statuses)
    results = Results(config.name)
    for benchmark, shard, ledger in results.found_ledgers("sources"):
        failed = read_table(ledger, SOURCES).filter(pl.col("status") != "ok")
        if failed.filter(pl.col("status").is_in(list(statuses or known))).height:
            # An input of the shard; newer than the ledger, it makes the next run ask again.
            write_text(results.retry_key(benchmark, shard), canonical_json({"on_request": file_digest(ledger)}) + "\n")
    print(f"{forgotten} failures forgotten. Run snakemake now: it tries these again, and only these.")
