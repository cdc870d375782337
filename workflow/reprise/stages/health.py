"""Stage `health`: how healthy every run of the suite is, as one csv file."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.health import PREFIX
from reprise.core.files import whole_file
from reprise.core.log import log
from reprise.core.plain import as_cell
from reprise.core.schemas import METRICS, read_table
from reprise.core.settings import Key
from reprise.stages.command import In, Out

COLUMNS = ("run", "judge", "metric", "group", "value", "asked", "note")


def main(key: In[Key], metrics: In[list[Path]], csv: Out[Path]) -> None:
    read = [read_table(path, METRICS).filter(pl.col("metric").str.starts_with(PREFIX)) for path in metrics]
    found = pl.concat([pl.DataFrame(schema=METRICS), *read]).select(COLUMNS).unique(maintain_order=True)
    with whole_file(csv) as temporary:
        found.with_columns(pl.col(pl.String).map_elements(as_cell, return_dtype=pl.String)).write_csv(temporary)
    log.info(f"{found.height} numbers of {found['run'].n_unique()} runs")
