"""The cards of time in the report: each on its model's page with links to the items, and the picture of all models."""

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
    """What pages with cards share: their style, and the picture of all models."""
    folder.write("assets/time.css", CSS)
    _copy(ALL, FIGURE_KINDS, folder)


def _copy(name: str, kinds: Iterable[str], folder: Folder) -> None:
    for kind in kinds:
        folder.copy(sealed_text(time_file(name, kind)), f"time/{name}.{kind}")


def card_of(model: str, groups: Mapping[str, str], folder: Folder) -> dict[str, Any]:
    """A model's card for its page, which has the suite's notice; the card's files are beside it.

    `groups` has the items that each benchmark's score is of.
    """
    _copy(model, CARD_KINDS, folder)
    card = read_card(time_file(model, "json"))
    return {
        "html": fragment(card.model_copy(update={"notice": ""})),
        "benchmarks": [of_benchmark(one, groups.get(one.name, "")) for one in card.benchmarks],
    }


def of_benchmark(one: CardBenchmark, group: str) -> dict[str, Any]:
    """A benchmark's part of a card: each score with the items behind it and those whose answer its view changes."""
    planned = one.view(PLANNED)
    run = planned.run if planned else ""

    def at(view: View, show: str) -> str:
        of_run = {"b": one.name, "group": group, "run": run or view.run, "metric": one.score}
        return browser_at(of_run | {"other": view.run if run != view.run else "", "show": show})

    seen = [
        {
            "title": VIEW_TITLES[view.view],
            "view": view,
            "behind": at(view, ""),
            "lost": at(view, "better"),
            "gained": at(view, "worse"),
        }
        for view in one.views
    ]
    beside = next((view for view in one.views if view.view not in (PLANNED, NONE)), planned)
    return {"card": one, "seen": seen, "only_with_time": at(beside, "time") if beside else ""}
