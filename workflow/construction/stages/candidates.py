"""Stage `construction_candidates`: derive candidates, and the texts to be written for them, from raw annotations."""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import FACTS, read_table
from reprise.core.tabular import listed_files
from reprise.stages.command import In, Out

from construction.filters import kept
from construction.keys import StepKey
from construction.registry import load_step, write_tables


def main(settings: StepKey, files: In[Path], facts: In[list[Path]], out: Out[list[Path]]) -> None:
    construction = settings.settings
    measured = [read_table(path, FACTS) for path in facts]
    rows = load_step(construction.kind, "candidates")(listed_files(files), construction, *measured)
    tables = write_tables(construction.kind, rows, out)
    for name in ("pool", "candidates"):
        log.info(f"{name}: {tables[name].height} rows, {kept(tables[name]).height} kept")
