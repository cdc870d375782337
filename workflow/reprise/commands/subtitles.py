"""`subtitles`: copy the subtitles that came with videos to the folder that their release is read from."""

from pathlib import Path

import polars as pl

from reprise.config.load import load
from reprise.core.errors import UserError, unknown
from reprise.core.files import write_text
from reprise.core.paths import Results
from reprise.core.schemas import SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.outcome import safe_name


def copy_subtitles(benchmark: str, suite: str | None = None) -> None:
    """Copy a benchmark's subtitles into the folder that its suite names as `extras`."""
    config = load(Path(), {"suite": suite} if suite else None)
    if benchmark not in config.suite.benchmarks:
        raise unknown("benchmark", benchmark, config.suite.benchmarks, "subtitles")
    extras = config.suite.benchmarks[benchmark].extras
    if extras is None:
        raise UserError(
            f"config/suites/{config.name}.yaml: benchmarks.{benchmark}.extras: missing. Name the folder that takes the "
            "subtitles; its files then count as files of the release."
        )
    count, store = 0, Store(Path(config.main.store))
    ledgers = [path for name, _, path in Results(config.name).found_ledgers("sources") if name == benchmark]
    for ledger in ledgers:
        for row in read_table(ledger, SOURCES).filter(pl.col("status") == "ok").iter_rows(named=True):
            found = (store.root / row["object"]).with_suffix(".vtt")
            if found.is_file():
                name = safe_name("{source_id}.vtt", row["source_id"])
                write_text(Path(extras) / "subtitles" / name, found.read_text(encoding="utf-8"))
                count += 1
    print(f"{count} files in {extras}/subtitles. Run snakemake now: it reads them.")
