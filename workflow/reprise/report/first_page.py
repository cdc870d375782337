"""What the report opens on: who is best, how our numbers stand to the papers', and the most telling items."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.core.paths import OVERVIEW, Run
from reprise.media.views import FIRST, REVERSED, SHUFFLED
from reprise.report.folder import finite
from reprise.report.keys import Headline, ReportedBenchmark, ReportedRun, model_page
from reprise.report.runs import NONE, RATING
from reprise.stats.paired import PairedComparison
from reprise.tables.build import Link
from reprise.tables.measured import subject
from reprise.tables.reproduction import NAMES, SCHEMA

LEAST_P = 0.001
NO_BREAK = "\N{NO-BREAK SPACE}"
MOST = 6  # models that a picture shows; the table of all models has the others
BESIDE = (SHUFFLED, REVERSED, FIRST)  # what a run is held against, the first of these that it was shown
Columns = Mapping[str, Any]
Leads = Mapping[tuple[str, str], PairedComparison]
"""Two runs -> by how much the first is above the second by the number that their benchmark leads with, of 1"""
State = dict[str, str]  # What the address of the item browser says


class Place(NamedTuple):
    """A model's number in the picture of a benchmark."""

    run: str  # and its judge; none where the number is the paper's
    label: str
    page: str  # of the model; none where the number is the paper's
    link: str  # to the items behind the number
    value: float
    low: float | None
    high: float | None
    published: float | None
    is_reference: bool
    is_best: bool


class Ranking(NamedTuple):
    """The picture of a benchmark: its best models, the best first."""

    benchmark: ReportedBenchmark
    headline: Headline
    places: list[Place]
    others: int
    chance: float | None
    words: str  # who leads, and by how much

    def across(self, value: float) -> float:
        """Where a value stands, in percent of the picture's width."""
        return round(100 * min(1.0, max(0.0, value / self.benchmark.scale)), 2)


class Compared(NamedTuple):
    """Numbers of ours beside a paper's."""

    title: str
    points: list[tuple[float, float, str]]
    """the paper's and ours, each in percent of the picture, and the verdict as a class of style"""
    counts: dict[str, int]  # verdict -> how many numbers


def ranking(
    benchmark: ReportedBenchmark,
    tidy: Iterable[Mapping[str, Any]],
    chance: float | None,
    references: Container[str],
    link: Link,
    leads: Leads,
) -> Ranking | None:
    """The picture of a benchmark from the overview's rows; none where it has no number."""
    main = benchmark.headline
    if main is None:
        return None
    of_main = {"table": f"{benchmark.name}/{OVERVIEW}", "metric": main.metric, "group": main.group}
    rows = [
        row
        for row in tidy
        if all(row.get(name) == value for name, value in of_main.items())
        and row.get("convention") != "authors"
        and finite(row.get("value")) is not None
    ]
    models = [Run.parse(row["run"]).model if row.get("run") else "" for row in rows]
    real = [row["value"] for row, model in zip(rows, models, strict=True) if model and model not in references]
    places = [
        Place(
            run=subject(row) if model else "",
            label=row["row"],
            page=model_page(model) if model else "",
            link=link(subject(row), main.metric, main.group) if model else "",
            value=row["value"],
            low=finite(row.get("low")),
            high=finite(row.get("high")),
            published=finite(row.get("published")),
            is_reference=model in references,
            is_best=bool(real) and model != "" and model not in references and row["value"] == max(real),
        )
        for row, model in zip(rows, models, strict=True)
    ]
    places.sort(key=lambda one: -one.value)
    words = _words(places, benchmark, leads)
    return Ranking(benchmark, main, places[:MOST], len(places[MOST:]), chance, words) if places else None


def _words(places: Sequence[Place], benchmark: ReportedBenchmark, leads: Leads) -> str:
    ours = [one for one in places if one.run and not one.is_reference]
    if not ours:
        return "No model of this suite was asked here; the numbers are the paper's or a baseline's."
    first, *others = ours
    if not others:
        return f"Only {first.label} was asked."
    decimals = benchmark.headline.decimals if benchmark.headline else 1
    ahead = f"{first.label} is {first.value - others[0].value:.{decimals}f} above {others[0].label}"
    if first.run.split("/")[:3] != others[0].run.split("/")[:3]:
        return f"{ahead}, which was asked other questions or shown other frames."
    lead = leads.get((first.run, others[0].run))
    if lead is None:
        return f"{ahead}."
    ends = [benchmark.scale * end for end in (lead.low, lead.high) if end is not None]
    interval = f" [{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f}]" if ends else ""
    p = f"p = {lead.p:.3f}" if lead.p >= LEAST_P else f"p < {LEAST_P}"
    return f"{ahead}{interval}, {p.replace(' ', NO_BREAK)}."


def compared(path: Path, benchmarks: Sequence[ReportedBenchmark]) -> Iterator[Compared]:
    """Every number that was made here and that a paper prints too, on the scale of its benchmark."""
    cells = pl.read_csv(path, schema=SCHEMA).filter(pl.col("ours").is_finite() & pl.col("published").is_finite())
    for one in benchmarks:
        mine = cells.filter(pl.col("table").str.starts_with(f"{one.name}/"))
        if mine.is_empty():
            continue
        scale = pl.when(metric=one.headline.metric if one.headline else "").then(one.scale).otherwise(100.0)
        # Counts and differences, which are on no such scale, stand in the list alone.
        shares = mine.select("verdict", *(pl.col(name) * 100 / scale for name in ("published", "ours")))
        shown = shares.filter(pl.all_horizontal(pl.col("published", "ours").is_between(0, 100)))
        points = [(round(paper, 2), round(ours, 2), how.replace(" ", "-")) for how, paper, ours in shown.iter_rows()]
        counts = Counter(mine["verdict"])
        yield Compared(one.title, points, {name: counts[name] for name in NAMES if counts[name]})


class Telling(NamedTuple):
    """Items of one kind, and where the browser shows them."""

    words: str
    state: State
    items: Sequence[int]


def with_time(entry: ReportedBenchmark, columns: Mapping[str, dict[str, Any]]) -> None:
    """Mark in each run's columns the items that it has right only with time: as planned, and in no view of time."""
    for run in entry.runs:
        views = [columns[name] for name in run.views.values()]
        own = columns[run.scored.name]
        known = own["fixed"] if RATING not in own else {RATING: own[RATING]}
        for metric, signs in known.items() if views else ():
            best = str(own["highest"]) if metric == RATING else "1"
            others = [one["fixed"][metric] if metric != RATING else one[RATING] for one in views]
            marks = (sign == best and best not in seen for sign, *seen in zip(signs, *others, strict=True))
            own.setdefault("time", {})[metric] = "".join("1" if mark else "0" for mark in marks)


class Seen(NamedTuple):
    """A run with a number for each item, larger for the better answer; none where the item does not count."""

    run: ReportedRun
    columns: Columns
    metric: str
    values: list[int | None]

    def ahead_of(self, other: "Seen") -> list[int]:
        """The items that count more for this run."""
        pairs = enumerate(zip(self.values, other.values, strict=True))
        return [item for item, (one, two) in pairs if one is not None and two is not None and one > two]


def best_two(entry: ReportedBenchmark, columns: Mapping[str, Columns], inside: Sequence[bool]) -> list[Seen]:
    """The best run of each of the two best models, by the items of the group that the benchmark leads with."""
    ordered = sorted(_seen(entry, columns, inside), key=lambda one: sum(filter(None, one.values)), reverse=True)
    by_model = {one.run.scored.run.model: one for one in reversed(ordered)}
    return [one for one in ordered if by_model[one.run.scored.run.model] is one][:2]


def telling(entry: ReportedBenchmark, best: Sequence[Seen], group: str, inside: Sequence[bool]) -> Iterator[Telling]:
    """The kinds of items that there are in a group, the most telling kind first."""
    for first in best[:1]:
        label, columns = first.run.label, first.columns
        state = {"b": entry.name, "group": group, "run": first.run.scored.name, "metric": first.metric}
        marks = columns.get("time", {}).get(first.metric, "")
        other = next((first.run.views[view] for view in BESIDE if view in first.run.views), "")
        yield Telling(
            f"{label} right only with time", state | {"other": other, "show": "time"}, _places(marks, "1", inside)
        )
        for second in best[1:]:
            beside, second_label = state | {"other": second.run.scored.name}, second.run.label
            better, worse = beside | {"show": "better"}, beside | {"show": "worse"}
            yield Telling(f"{label} right where {second_label} is wrong", better, first.ahead_of(second))
            yield Telling(f"{second_label} right where {label} is wrong", worse, second.ahead_of(first))
        unread = _places(columns["state"], "u", inside)
        yield Telling(f"answers of {label} that could not be read", state | {"show": "unread"}, unread)


def _places(signs: str, sign: str, inside: Sequence[bool]) -> list[int]:
    return [place for place, one in enumerate(signs) if one == sign and inside[place]]


def opened(name: str, found: Sequence[Telling], ids: Sequence[str], plays: Sequence[bool]) -> State:
    """What the browser opens on: the first telling item, else the first of all; one whose clip plays if any does."""
    every = [(one.state, item) for one in found for item in one.items] or [
        ({"b": name}, item) for item in range(len(ids))
    ]
    for state, item in [one for one in every if plays[one[1]]] or every:
        return state | {"item": ids[item]}
    return {}


def _seen(entry: ReportedBenchmark, columns: Mapping[str, Columns], inside: Sequence[bool]) -> Iterator[Seen]:
    """The real models that were asked what the benchmark leads with, or else alike; where it can be, several."""
    by_run = {run.run: run for run in reversed(entry.runs) if not run.reference}
    real = [run for run in entry.runs if by_run.get(run.run) is run]  # of several judges the first
    main = entry.headline
    kinds = [(main.protocol, main.sampling)] if main else []
    kinds += [(run.scored.run.protocol, run.scored.run.sampling) for run in real]
    alike = [[run for run in real if (run.scored.run.protocol, run.scored.run.sampling) == kind] for kind in kinds]
    several = (runs for runs in alike if len({run.scored.run.model for run in runs}) > 1)
    for run in next(several, next(filter(None, alike), [])):
        of_run = columns[run.scored.name]
        names = [RATING] if RATING in of_run else sorted(of_run["fixed"])
        metric = main.metric if main and main.metric in names else next(iter(names), "")
        if metric:
            signs = of_run[RATING] if metric == RATING else of_run["fixed"][metric]
            values = [int(sign) if sign != NONE and one else None for sign, one in zip(signs, inside, strict=True)]
            yield Seen(run, of_run, metric, values)
