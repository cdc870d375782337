"""Stage `construction_draw`: questions of another set of videos, drawn by a seed, as a manifest."""

from pathlib import Path

from reprise.construction.keys import DrawKey
from reprise.construction.mmbench_video.other_sets import drawn
from reprise.core.checksums import write_sealed
from reprise.core.log import log
from reprise.stages.command import In, Out, Wildcard


def main(key: In[DrawKey], set: Wildcard[str], file: In[Path], out: Out[Path]) -> None:
    found = drawn(file, key.count, key.scoring[set], key.seed)
    write_sealed(out, found.write_csv())
    if found.height < key.count:
        log.warning(f"{file}: {found.height} questions, fewer than the {key.count} that are to be drawn: all are.")
    log.info(f"{out}: {found.height} questions of {set}, scored by {key.scoring[set]}")
