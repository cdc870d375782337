"""Stage `construction_clips`: the clips of raw annotations that are fetched and measured before anything is written."""

from pathlib import Path

import polars as pl

from reprise.construction.keys import PoolClipsKey
from reprise.construction.registry import load_step
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import CLIPS, write_table
from reprise.core.tabular import listed_files
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("List the clips that a construction measures.", key=Path, files=Path, out=Path)
    settings = read_key(args.key, PoolClipsKey).settings
    found = load_step(settings.kind, "clips")(listed_files(args.files), settings)
    write_table(pl.DataFrame([clip._asdict() for clip in found], schema=CLIPS), args.out, CLIPS, args.made_under)
    log.info(f"{len(found)} clips")


if __name__ == "__main__":
    run_command(main)
