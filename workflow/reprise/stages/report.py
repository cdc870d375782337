"""Stage `report`: write the report, a static site with tables, figures, runs and items."""

from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.core.log import log
from reprise.core.paths import Results
from reprise.core.store import Store
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings
from reprise.report.build import build
from reprise.report.inputs import list_inputs
from reprise.report.keys import ReportKey
from reprise.stages.command import Out, Site, record_inputs


def main(settings: ReportKey, config: Site[dict[str, Any]], store: Site[Store], page: Out[Path]) -> None:
    settings_of_jobs = all_settings(Plan(load(Path(), config)))
    results = Results(settings.suite)
    record_inputs(list_inputs(settings, results))
    build(settings, results, store, page.parent, settings_of_jobs)
    log.info(f"{len(settings.runs())} runs; open {page}")
