"""The temporal profiles in the report: one on each model's page with links to items, and the figure of all models."""

from collections.abc import Iterable, Mapping
from typing import Any

from reprise.core.files import sealed_text
from reprise.core.paths import ALL, time_file
from reprise.report.folder import Folder
from reprise.report.inputs import CARD_KINDS, FIGURE_KINDS
from reprise.report.tables import browser_at
from reprise.timecard.card import NONE, PLANNED, VIEW_TITLES, CardBenchmark, View, read_card
from reprise.timecard.page import CSS, fragment


def copy_picture(folder: Folder) -> None:
    """Copy what the pages with profiles share: their style sheet, and the figure of all models."""
    folder.write("assets/time.css", CSS)
    _copy(ALL, FIGURE_KINDS, folder)


def _copy(name: str, kinds: Iterable[str], folder: Folder) -> None:
    for kind in kinds:
        folder.copy(sealed_text(time_file(name, kind)), f"time/{name}.{kind}")


def card_of(model: str, groups: Mapping[str, str], folder: Folder) -> dict[str, Any]:
    """Return a model's profile for its page, and copy the profile's files.

    `groups` holds the group of items for each benchmark's score. The profile omits the suite's notice, because the page
    has it.
    """
    _copy(model, CARD_KINDS, folder)
    card = read_card(time_file(model, "json"))
    return {
        "html": fragment(card.model_copy(update={"notice": ""})),
        "benchmarks": [of_benchmark(benchmark, groups.get(benchmark.name, "")) for benchmark in card.benchmarks],
    }


def of_benchmark(benchmark: CardBenchmark, group: str) -> dict[str, Any]:
    """Return a benchmark's part of a profile: each score with links to its items and to the answers that change."""
    planned = benchmark.view(PLANNED)
    run = planned.run if planned else ""

    def link_to(view: View, show: str) -> str:
        state = {"b": benchmark.name, "group": group, "run": run or view.run, "metric": benchmark.score}
        return browser_at(state | {"other": view.run if run != view.run else "", "show": show})

    views = [
        {
            "title": VIEW_TITLES[view.view],
            "view": view,
            "behind": link_to(view, ""),
            "lost": link_to(view, "better"),
            "gained": link_to(view, "worse"),
        }
        for view in benchmark.views
    ]
    comparison = next((view for view in benchmark.views if view.view not in (PLANNED, NONE)), planned)
    return {"card": benchmark, "seen": views, "only_with_time": link_to(comparison, "time") if comparison else ""}
