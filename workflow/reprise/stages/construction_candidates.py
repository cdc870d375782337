"""Stage `construction_candidates`: from raw annotations to what is to be written, and what for."""

from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import StepKey
from reprise.construction.registry import load_step, write_tables
from reprise.core.log import log
from reprise.core.schemas import FACTS, read_table
from reprise.core.tabular import listed_files
from reprise.stages.command import In, MadeUnder, Out


def main(key: In[StepKey], files: In[Path], facts: In[list[Path]], out: Out[list[Path]], made_under: MadeUnder) -> None:
    settings = key.settings
    measured = [read_table(path, FACTS) for path in facts]
    found = load_step(settings.kind, "candidates")(listed_files(files), settings, *measured)
    tables = write_tables(settings.kind, found, out, made_under)
    for name in ("pool", "candidates"):
        log.info(f"{name}: {tables[name].height} rows, {kept(tables[name]).height} kept")
