"""Stage `data_statistics`: compute statistics of a benchmark's data, such as the number of videos of each task."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import build_flaw_metric_rows
from reprise.benchmarks.keys import BenchmarkKey
from reprise.benchmarks.registry import load_statistics
from reprise.core.schemas import CLIP_METADATA, CLIPS, ITEMS, METRICS, read_table, write_table
from reprise.stages.command import In, Out


def main(
    settings: BenchmarkKey,
    item_table: In[Path],
    clips: In[Path],
    clip_metadata: In[list[Path]],
    out: Out[Path],
) -> None:
    benchmark = settings.benchmark
    items, clip_table = read_table(item_table, ITEMS), read_table(clips, CLIPS)
    data_statistics = load_statistics(benchmark)
    statistics = data_statistics.compute_from_items(items, clip_table)
    if data_statistics.compute_from_metadata is not None:
        statistics += [
            statistic
            for path in clip_metadata
            for statistic in data_statistics.compute_from_metadata(items, read_table(path, CLIP_METADATA))
        ]
    labels = {"run": f"{benchmark}/data", "convention": "fixed", "extractor": "robust", "key": ""}
    counts = {"requested": items.height, "scored": items.height, "failed": 0, "unparsed": 0, "missing": 0}
    rows = [labels | statistic._asdict() | counts for statistic in statistics]
    rows += [labels | statistic for statistic in build_flaw_metric_rows(items)]
    write_table(pl.DataFrame(rows, schema=METRICS), out, METRICS)
