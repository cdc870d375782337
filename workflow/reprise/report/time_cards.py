"""The cards of time in the report: each on its model's page with links to the items, and the picture of all models."""

from typing import NamedTuple

from reprise.core.files import sealed_text
from reprise.report.folder import Folder
from reprise.report.inputs import ALL_MODELS, CARD_KINDS, FIGURE_KINDS, TIME
from reprise.report.keys import ReportKey
from reprise.report.links import browser_at
from reprise.timecard.card import NONE, PLANNED, VIEW_TITLES, Card, CardBenchmark, View, read_card
from reprise.timecard.page import CSS, fragment


class Seen(NamedTuple):
    """The score under a view, with the items behind it and those whose answer it changes."""

    title: str
    view: View
    items: str
    lost: str
    gained: str


class OfBenchmark(NamedTuple):
    """What a card shows of a benchmark, with links."""

    card: CardBenchmark
    seen: list[Seen]
    only_with_time: str


class ModelCard(NamedTuple):
    """A card, as its model's page shows it."""

    html: str
    """the page has the suite's notice"""
    benchmarks: list[OfBenchmark]


class TimeCards:
    """The cards of a report's models; their files are beside the pages."""

    def __init__(self, key: ReportKey, folder: Folder) -> None:
        self._key, self._folder = key, folder
        if key.time:
            folder.write("assets/time.css", CSS)
            self._copy(ALL_MODELS, FIGURE_KINDS)

    def _copy(self, name: str, kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            path = TIME / f"{name}.{kind}"
            self._folder.copy(sealed_text(path) if kind.endswith("csv") else path, f"time/{name}.{kind}")

    def of(self, model: str) -> ModelCard | None:
        """The card of a model, if it has one."""
        if model not in self._key.time:
            return None
        self._copy(model, CARD_KINDS)
        card = read_card(TIME / f"{model}.json")
        return ModelCard(fragment(without_notice(card)), [of_benchmark(one) for one in card.benchmarks])


def without_notice(card: Card) -> Card:
    """The card for a page that has the notice."""
    return card.model_copy(update={"notice": ""})


def of_benchmark(one: CardBenchmark) -> OfBenchmark:
    """Every number of a benchmark's part of a card with the items behind it."""
    planned = one.view(PLANNED)
    run = planned.run if planned else ""

    def at(view: View, show: str) -> str:
        of_run = {"b": one.name, "run": run or view.run, "metric": one.score}
        return browser_at(of_run | {"other": view.run if run != view.run else "", "show": show})

    seen = [
        Seen(VIEW_TITLES[view.view], view, at(view, ""), at(view, "better"), at(view, "worse")) for view in one.views
    ]
    beside = next((view for view in one.views if view.view not in (PLANNED, NONE)), planned)
    return OfBenchmark(one, seen, at(beside, "time") if beside else "")
