"""Stage `construction_clips`: the clips of raw annotations that are fetched and measured before anything is written."""

from pathlib import Path

import polars as pl

from reprise.construction.keys import StepKey
from reprise.construction.registry import load_step
from reprise.core.log import log
from reprise.core.schemas import CLIPS, write_table
from reprise.core.tabular import listed_files
from reprise.stages.command import In, MadeUnder, Out


def main(key: In[StepKey], files: In[Path], out: Out[Path], made_under: MadeUnder) -> None:
    settings = key.settings
    found = load_step(settings.kind, "clips")(listed_files(files), settings)
    write_table(pl.DataFrame([clip._asdict() for clip in found], schema=CLIPS), out, CLIPS, made_under)
    log.info(f"{len(found)} clips")
