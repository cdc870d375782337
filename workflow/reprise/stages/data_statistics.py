"""Stage `data_statistics`: compute statistics of the data itself, such as videos and samples of each test."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.keys import BenchmarkKey
from reprise.benchmarks.registry import load_statistics
from reprise.benchmarks.rows import flaw_numbers
from reprise.core.schemas import CLIPS, FACTS, ITEMS, METRICS, read_table, write_table
from reprise.stages.command import In, Out


def main(
    settings: BenchmarkKey,
    item_table: In[Path],
    clips: In[Path],
    facts: In[list[Path]],
    out: Out[Path],
) -> None:
    benchmark = settings.benchmark
    items, clip_table = read_table(item_table, ITEMS), read_table(clips, CLIPS)
    statistics = load_statistics(benchmark)
    numbers = statistics.of_data(items, clip_table)
    if statistics.of_videos is not None:
        numbers += [number for path in facts for number in statistics.of_videos(items, read_table(path, FACTS))]
    labels = {"run": f"{benchmark}/data", "convention": "fixed", "reader": "robust", "key": ""}
    counts = {"asked": items.height, "scored": items.height, "failed": 0, "unparsed": 0, "missing": 0}
    rows = [labels | number._asdict() | counts for number in numbers]
    rows += [labels | number for number in flaw_numbers(items)]
    write_table(pl.DataFrame(rows, schema=METRICS), out, METRICS)
