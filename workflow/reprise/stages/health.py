"""Stage `health`: write the health metrics of all runs of the suite to one CSV file."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.health import HEALTH_PREFIX
from reprise.core.log import log
from reprise.core.schemas import METRICS, read_table
from reprise.core.settings import Key
from reprise.core.tabular import write_csv
from reprise.stages.command import In, Out

COLUMNS = ("run", "judge", "metric", "group", "value", "requested", "note")


def main(settings: Key, metrics: In[list[Path]], csv: Out[Path]) -> None:
    health_rows = [
        read_table(path, METRICS).filter(pl.col("metric").str.starts_with(HEALTH_PREFIX)) for path in metrics
    ]
    table = pl.concat([pl.DataFrame(schema=METRICS), *health_rows]).select(COLUMNS).unique(maintain_order=True)
    write_csv(table, csv)
    log.info(f"{table.height} numbers of {table['run'].n_unique()} runs")
