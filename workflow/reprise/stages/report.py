"""Stage `report`: write the static site with tables, figures, runs and items."""

from pathlib import Path

from reprise.core.log import log
from reprise.core.paths import Results
from reprise.core.store import Store
from reprise.report.build import build
from reprise.report.keys import ReportKey
from reprise.stages.command import In, Out, Site


def main(key: In[ReportKey], store: Site[Store], page: Out[Path]) -> None:
    build(key, Results(key.suite), store, page.parent)
    log.info(f"{len(key.runs())} runs; open {page}")
