"""Stage `health`: how healthy every run of the suite is, as one csv file."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.health import PREFIX
from reprise.core.log import log
from reprise.core.schemas import METRICS, read_table
from reprise.core.settings import Key
from reprise.core.tabular import write_csv
from reprise.stages.command import In, Out

COLUMNS = ("run", "judge", "metric", "group", "value", "asked", "note")


def main(settings: Key, metrics: In[list[Path]], csv: Out[Path]) -> None:
    read = [read_table(path, METRICS).filter(pl.col("metric").str.starts_with(PREFIX)) for path in metrics]
    found = pl.concat([pl.DataFrame(schema=METRICS), *read]).select(COLUMNS).unique(maintain_order=True)
    write_csv(found, csv)
    log.info(f"{found.height} numbers of {found['run'].n_unique()} runs")
