"""What the first page opens on: who is best on which benchmark, and how our numbers stand to the papers'."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.core.paths import OVERVIEW, Run
from reprise.report.data import Lead
from reprise.report.keys import Headline, ReportedBenchmark, model_page
from reprise.report.scripts import finite
from reprise.tables.build import Link
from reprise.tables.measured import subject
from reprise.tables.reproduction import NAMES, SCHEMA

LEAST_P = 0.001
NO_BREAK = "\N{NO-BREAK SPACE}"
MOST = 6  # models that a picture shows; the table of all models has the others


class Place(NamedTuple):
    """A model's number in the picture of a benchmark."""

    run: str
    """and its judge; none where the number is the paper's"""
    label: str
    page: str
    """of the model; none where the number is the paper's"""
    link: str
    """to the items behind the number"""
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
    """models that are not shown"""
    chance: float | None
    words: str
    """who leads, and by how much"""

    def across(self, value: float) -> float:
        """Where a value stands, in percent of the picture's width."""
        return round(100 * min(1.0, max(0.0, value / self.benchmark.scale)), 2)


class Compared(NamedTuple):
    """Numbers of ours beside a paper's."""

    title: str
    points: list[tuple[float, float, str]]
    """the paper's and ours, each in percent of the picture, and the verdict as a class of style"""
    counts: dict[str, int]
    """verdict -> how many numbers"""


def ranking(
    benchmark: ReportedBenchmark,
    tidy: Iterable[Mapping[str, Any]],
    chance: float | None,
    references: Container[str],
    link: Link,
    lead: Lead | None,
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
    return (
        Ranking(benchmark, main, places[:MOST], len(places[MOST:]), chance, _words(places, benchmark, lead))
        if places
        else None
    )


def _words(places: Sequence[Place], benchmark: ReportedBenchmark, lead: Lead | None) -> str:
    """Who leads, by how much, and how sure that is."""
    ours = [one for one in places if one.run and not one.is_reference]
    if not ours:
        return "No model of this suite was asked here; the numbers are the paper's or a baseline's."
    first, *others = ours
    if not others:
        return f"Only {first.label} was asked."
    decimals = benchmark.headline.decimals if benchmark.headline else 1
    ahead = f"{first.label} is {first.value - others[0].value:.{decimals}f} above {others[0].label}"
    if lead is None or (lead.first, lead.second) != (first.run, others[0].run):
        return f"{ahead}."
    ends = [benchmark.scale * end for end in (lead.found.low, lead.found.high) if end is not None]
    interval = f" [{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f}]" if ends else ""
    p = f"p = {lead.found.p:.3f}" if lead.found.p >= LEAST_P else f"p < {LEAST_P}"
    return f"{ahead}{interval}, {p.replace(' ', NO_BREAK)}."


def compared(path: Path, benchmarks: Sequence[ReportedBenchmark]) -> Iterator[Compared]:
    """Every number that was made here and that a paper prints too, on the scale of its benchmark."""
    cells = pl.read_csv(path, schema=SCHEMA).filter(pl.col("ours").is_finite() & pl.col("published").is_finite())
    for one in benchmarks:
        mine = cells.filter(pl.col("table").str.starts_with(f"{one.name}/"))
        if mine.is_empty():
            continue
        main = one.headline.metric if one.headline else ""
        scale = pl.when(metric=main).then(one.scale).otherwise(100.0)
        # Counts and differences, which are on no such scale, stand in the list alone.
        shares = mine.select("verdict", *(pl.col(name) * 100 / scale for name in ("published", "ours")))
        shown = shares.filter(pl.all_horizontal(pl.col("published", "ours").is_between(0, 100)))
        points = [(round(paper, 2), round(ours, 2), how.replace(" ", "-")) for how, paper, ours in shown.iter_rows()]
        counts = Counter(mine["verdict"])
        yield Compared(one.title, points, {name: counts[name] for name in NAMES if counts[name]})
