"""Add temporal profiles to the report: the profile of each model to its page, and the figure of all models."""

from collections.abc import Iterable, Mapping
from typing import Any

from reprise.core.files import verify_sealed_text
from reprise.core.paths import ALL, temporal_file
from reprise.media.ablations import REVERSED, SHUFFLED
from reprise.report.folder import ReportFolder
from reprise.report.inputs import FIGURE_KINDS, PROFILE_KINDS
from reprise.report.tables import browser_address
from reprise.temporal.conditions import CONDITION_TITLES, PLANNED
from reprise.temporal.page import CSS, render_fragment
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, read_profile


def copy_shared_files(folder: ReportFolder) -> None:
    """Copy the files that pages with profiles share: the style sheet and the figure of all models."""
    folder.write("assets/temporal.css", CSS)
    _copy(ALL, FIGURE_KINDS, folder)


def _copy(name: str, kinds: Iterable[str], folder: ReportFolder) -> None:
    for kind in kinds:
        folder.copy(verify_sealed_text(temporal_file(name, kind)), f"temporal/{name}.{kind}")


def load_profile(model: str, groups: Mapping[str, str], folder: ReportFolder) -> dict[str, Any]:
    """Return a model's profile for its page, and copy the profile's files.

    Args:
        model: Name of the model.
        groups: Benchmark -> group of items of its score.
        folder: Folder of the report.

    Returns:
        The profile as HTML without the suite's notice, because the page shows it already, and the conditions of each
        benchmark with links.
    """
    _copy(model, PROFILE_KINDS, folder)
    profile = read_profile(temporal_file(model, "json"))
    return {
        "html": render_fragment(profile.model_copy(update={"notice": ""})),
        "benchmarks": [_link_benchmark(benchmark, groups.get(benchmark.name, "")) for benchmark in profile.benchmarks],
    }


def _link_benchmark(benchmark: BenchmarkProfile, group: str) -> dict[str, Any]:
    """Return a benchmark's conditions with links to their items, regressions and improvements."""
    planned = benchmark.condition(PLANNED)
    run = planned.run if planned else ""

    # Without the planned condition, the browser shows the condition alone. Otherwise it compares the condition with it.
    def link_to(condition: ConditionResult, show: str) -> str:
        state = {"b": benchmark.name, "group": group, "run": run or condition.run, "metric": benchmark.question_metric}
        return browser_address(state | {"other": condition.run if run != condition.run else "", "show": show})

    conditions = [
        {
            "title": CONDITION_TITLES[condition.condition],
            "condition": condition,
            "link": link_to(condition, ""),
            "regressions_link": link_to(condition, "better"),
            "improvements_link": link_to(condition, "worse"),
        }
        for condition in benchmark.conditions
    ]
    shuffled, reversed_condition = benchmark.condition(SHUFFLED), benchmark.condition(REVERSED)
    return {
        "profile": benchmark,
        "conditions": conditions,
        "ordered_only_link": link_to(shuffled, "temporal") if shuffled and reversed_condition else "",
    }
