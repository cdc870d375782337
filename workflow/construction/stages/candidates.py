"""Stage `construction_candidates`: derive candidates, and the texts to be written for them, from raw annotations."""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import CLIP_METADATA, read_table
from reprise.core.tabular import read_file_list
from reprise.stages.command import In, Out

from construction.filters import kept_rows
from construction.keys import StepKey
from construction.registry import load_step, write_tables


def main(settings: StepKey, files: In[Path], clip_metadata: In[list[Path]], out: Out[list[Path]]) -> None:
    construction = settings.settings
    clip_metadata_tables = [read_table(path, CLIP_METADATA) for path in clip_metadata]
    rows = load_step(construction.kind, "candidates")(read_file_list(files), construction, *clip_metadata_tables)
    tables = write_tables(construction.kind, rows, out)
    for name in ("pool", "candidates"):
        log.info(f"{name}: {tables[name].height} rows, {kept_rows(tables[name]).height} kept")
