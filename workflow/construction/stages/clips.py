"""Stage `construction_clips`: list the annotated clips to fetch and measure before anything is written."""

from pathlib import Path

import polars as pl
from reprise.core.log import log
from reprise.core.schemas import CLIPS, write_table
from reprise.core.tabular import read_file_list
from reprise.stages.command import In, Out

from construction.keys import StepKey
from construction.registry import load_step


def main(settings: StepKey, files: In[Path], out: Out[Path]) -> None:
    construction = settings.settings
    clips = load_step(construction.kind, "clips")(read_file_list(files), construction)
    write_table(pl.DataFrame([clip._asdict() for clip in clips], schema=CLIPS), out, CLIPS)
    log.info(f"{len(clips)} clips")
