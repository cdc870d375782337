"""Stage `construction_guidelines`: what annotators are told, and the file that they fill in."""

from pathlib import Path

from reprise.construction.keys import StepKey
from reprise.construction.mmbench_video.making import guidelines as guidelines_of
from reprise.construction.registry import read_tables
from reprise.construction.settings import MmbenchVideoSettings
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.stages.command import In, Out


def main(key: In[StepKey], tables: In[list[Path]], guidelines: Out[Path], tasks: Out[Path]) -> None:
    settings = key.settings
    assert isinstance(settings, MmbenchVideoSettings), "for no other benchmark questions are written by hand"
    page, rows = guidelines_of(settings, read_tables(settings.kind, tables)["pool"])
    write_text(guidelines, page)
    write_text(tasks, rows)
    log.info(f"{tasks}: for annotators to fill in, with {guidelines} beside it")
