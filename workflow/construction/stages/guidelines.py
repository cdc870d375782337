"""Stage `construction_guidelines`: write the annotators' guidelines and the file that they fill in."""

from pathlib import Path

from reprise.core.files import write_text
from reprise.core.log import log
from reprise.stages.command import In, Out

from construction.keys import StepKey
from construction.mmbench_video.making import guidelines as guidelines_of
from construction.registry import read_tables
from construction.settings import MmbenchVideoSettings


def main(settings: StepKey, tables: In[list[Path]], guidelines: Out[Path], tasks: Out[Path]) -> None:
    construction = settings.settings
    assert isinstance(construction, MmbenchVideoSettings), "only MMBench-Video has questions written by annotators"
    page, sheet = guidelines_of(construction, read_tables(construction.kind, tables)["pool"])
    write_text(guidelines, page)
    write_text(tasks, sheet)
    log.info(f"{tasks}: annotators fill in this file as {guidelines} describes")
