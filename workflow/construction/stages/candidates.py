"""Stage `construction_candidates`: from raw annotations to what is to be written, and what for."""

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
    found = load_step(construction.kind, "candidates")(listed_files(files), construction, *measured)
    tables = write_tables(construction.kind, found, out)
    for name in ("pool", "candidates"):
        log.info(f"{name}: {tables[name].height} rows, {kept(tables[name]).height} kept")
