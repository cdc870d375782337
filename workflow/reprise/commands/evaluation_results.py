"""Show the results of `eval` and `temporal`, and write the numbers of `eval --json`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reprise.benchmarks.headline import find_chance
from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.output import write_heading, write_lines, write_table
from reprise.commands.shared import list_suite_options
from reprise.commands.show import make_overview_builder, show_tables
from reprise.core.files import write_text
from reprise.core.paths import OVERVIEW, Run, settings_name, temporal_file
from reprise.core.version import VERSION
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings
from reprise.tables.keys import OverviewKey
from reprise.temporal.findings import summarize_profile
from reprise.temporal.page import list_sentences
from reprise.temporal.profile import TemporalProfile, read_profile
from reprise.temporal.tables import build_tables


def show_results(
    options: EvaluationOptions, plan: Plan, slug: str, runs: Sequence[Run], suite: str | None, selection: str | None
) -> None:
    """Show the model's temporal profile or the overview, and write the numbers of `--json`."""
    if options.command == "temporal":
        _show_profile(read_profile(temporal_file(slug, "json")))
        write_lines([f"Temporal profile: {temporal_file(slug, 'html')}"])
        return
    show_tables(OVERVIEW, suite, selection)
    if options.json_file is not None:
        key = all_settings(plan)[settings_name("tables", OVERVIEW)]
        assert isinstance(key, OverviewKey)
        builder, run_names = make_overview_builder(plan, key), {run.name for run in runs}
        builder.build()
        rows = [row for row in builder.tidy_rows if row.get("run") in run_names]
        numbers = [row | {"chance": _find_chance(plan, row)} for row in rows]
        json_content = {"reprise": VERSION, "numbers": numbers}
        write_text(options.json_file, json.dumps(json_content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    for run in runs:
        overview = plan.config.tables[run.benchmark].overview
        if overview is not None and overview.table is not None:
            call = ["reprise", "show", f"{run.benchmark}/{overview.table}", *list_suite_options(suite)]
            write_lines([f"With all rows of the paper: {' '.join(call)}"])


def _show_profile(profile: TemporalProfile) -> None:
    """Print the sentences and the tables of a temporal profile."""
    write_heading(f"Temporal profile of {profile.title}")
    write_lines(["", summarize_profile(profile), *(f"- {sentence}" for sentence in list_sentences(profile)), ""])
    for table in build_tables(profile):
        write_table(table)


def _find_chance(plan: Plan, row: Mapping[str, Any]) -> float | None:
    """Return the chance level of a number, or None if it depends on the data or is unknown."""
    run = Run.parse(row["run"])
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    return find_chance(run.benchmark, form, row["metric"], row["group"])
