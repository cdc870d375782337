"""Compute the content of the first page: rankings, our numbers against the published ones, and highlights."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.core.paths import OVERVIEW, Run
from reprise.media.ablations import FIRST, REVERSED, SHUFFLED
from reprise.report.folder import finite_or_none
from reprise.report.keys import Headline, ReportedBenchmark, ReportedRun, model_page
from reprise.report.runs import NONE, RATING
from reprise.stats.paired import PairedComparison
from reprise.tables.builder import NumberLink
from reprise.tables.measurements import subject_name
from reprise.tables.reproduction import REPRODUCTION_SCHEMA, VERDICT_NAMES

MIN_PRINTED_P = 0.001
NO_BREAK = "\N{NO-BREAK SPACE}"
MAX_MODELS = 6  # models in a chart; the table of all models has the rest
ABLATIONS = (SHUFFLED, REVERSED, FIRST)  # ablations to compare a run with, by preference
Columns = Mapping[str, Any]
Leads = Mapping[tuple[str, str], PairedComparison]
"""two runs -> the first minus the second by their benchmark's headline metric, as a share of 1"""
BrowserState = dict[str, str]  # the state of the item browser in its address


class RankingEntry(NamedTuple):
    """A model's number in the chart of a benchmark."""

    run: str  # the run and its judge; empty for a published number
    label: str
    page: str  # the page of the model; empty for a published number
    link: str  # the address of the number's items; empty for a published number
    value: float
    low: float | None
    high: float | None
    published: float | None
    is_reference: bool
    is_best: bool


class Ranking(NamedTuple):
    """The chart of a benchmark's models, the best first."""

    benchmark: ReportedBenchmark
    headline: Headline
    entries: list[RankingEntry]
    omitted: int  # number of models that are not in the chart
    chance: float | None
    summary: str  # a sentence on the best model and its lead

    def percent(self, value: float) -> float:
        """Return the position of a value in percent of the chart's width."""
        return round(100 * min(1.0, max(0.0, value / self.benchmark.scale)), 2)


class PaperComparison(NamedTuple):
    """Our numbers of a benchmark against the published ones."""

    title: str
    points: list[tuple[float, float, str]]
    """the published number and ours, each in percent of the chart, and the verdict as a CSS class"""
    counts: dict[str, int]  # verdict -> number of numbers


def build_ranking(
    benchmark: ReportedBenchmark,
    tidy: Iterable[Mapping[str, Any]],
    chance: float | None,
    references: Container[str],
    link: NumberLink,
    leads: Leads,
) -> Ranking | None:
    """Return the chart of a benchmark from the rows of the overview; None if it has no number."""
    main = benchmark.headline
    if main is None:
        return None
    headline_columns = {"table": f"{benchmark.name}/{OVERVIEW}", "metric": main.metric, "group": main.group}
    rows = [
        row
        for row in tidy
        if all(row.get(name) == value for name, value in headline_columns.items())
        and row.get("convention") != "authors"
        and finite_or_none(row.get("value")) is not None
    ]
    models = [Run.parse(row["run"]).model if row.get("run") else "" for row in rows]
    candidates = [row["value"] for row, model in zip(rows, models, strict=True) if model and model not in references]
    places = [
        RankingEntry(
            run=subject_name(row) if model else "",
            label=row["row"],
            page=model_page(model) if model else "",
            link=link(subject_name(row), main.metric, main.group) if model else "",
            value=row["value"],
            low=finite_or_none(row.get("low")),
            high=finite_or_none(row.get("high")),
            published=finite_or_none(row.get("published")),
            is_reference=model in references,
            is_best=bool(candidates) and model != "" and model not in references and row["value"] == max(candidates),
        )
        for row, model in zip(rows, models, strict=True)
    ]
    places.sort(key=lambda place: -place.value)
    words = _summarize(places, benchmark, leads)
    return Ranking(benchmark, main, places[:MAX_MODELS], len(places[MAX_MODELS:]), chance, words) if places else None


def _summarize(places: Sequence[RankingEntry], benchmark: ReportedBenchmark, leads: Leads) -> str:
    ours = [place for place in places if place.run and not place.is_reference]
    if not ours:
        return "No model of this suite has been evaluated; the numbers are published ones or those of baselines."
    first, *rest = ours
    if not rest:
        return f"Only {first.label} was evaluated."
    decimals = benchmark.headline.decimals if benchmark.headline else 1
    text = f"{first.label} is {first.value - rest[0].value:.{decimals}f} above {rest[0].label}"
    if first.run.split("/")[:3] != rest[0].run.split("/")[:3]:
        return f"{text}, which was evaluated with another protocol or sampling."
    lead = leads.get((first.run, rest[0].run))
    if lead is None:
        return f"{text}."
    bounds = [benchmark.scale * end for end in (lead.low, lead.high) if end is not None]
    interval = f" [{bounds[0]:.{decimals}f}, {bounds[1]:.{decimals}f}]" if bounds else ""
    p = f"p = {lead.p:.3f}" if lead.p >= MIN_PRINTED_P else f"p < {MIN_PRINTED_P}"
    return f"{text}{interval}, {p.replace(' ', NO_BREAK)}."


def compare_with_papers(path: Path, benchmarks: Sequence[ReportedBenchmark]) -> Iterator[PaperComparison]:
    """Yield for each benchmark the numbers that a paper also prints, on the benchmark's scale."""
    cells = pl.read_csv(path, schema=REPRODUCTION_SCHEMA).filter(
        pl.col("ours").is_finite() & pl.col("published").is_finite()
    )
    for benchmark in benchmarks:
        numbers = cells.filter(pl.col("table").str.starts_with(f"{benchmark.name}/"))
        if numbers.is_empty():
            continue
        scale = (
            pl.when(metric=benchmark.headline.metric if benchmark.headline else "")
            .then(benchmark.scale)
            .otherwise(100.0)
        )
        # Counts and differences do not fit the scale, so only the page of the reproduction lists them.
        shares = numbers.select("verdict", *(pl.col(name) * 100 / scale for name in ("published", "ours")))
        in_range = shares.filter(pl.all_horizontal(pl.col("published", "ours").is_between(0, 100)))
        points = [
            (round(paper, 2), round(ours, 2), verdict.replace(" ", "-"))
            for verdict, paper, ours in in_range.iter_rows()
        ]
        counts = Counter(numbers["verdict"])
        yield PaperComparison(benchmark.title, points, {name: counts[name] for name in VERDICT_NAMES if counts[name]})


class Highlight(NamedTuple):
    """A kind of notable items, with the state of the item browser that shows them."""

    description: str
    state: BrowserState
    items: Sequence[int]


def mark_time_dependent(entry: ReportedBenchmark, columns: Mapping[str, dict[str, Any]]) -> None:
    """Mark in each run's columns the items that are right as planned and wrong under every temporal ablation."""
    for run in entry.runs:
        ablations = [columns[name] for name in run.ablations.values()]
        run_columns = columns[run.scored.name]
        metrics = run_columns["fixed"] if RATING not in run_columns else {RATING: run_columns[RATING]}
        for metric, signs in metrics.items() if ablations else ():
            best = str(run_columns["max_rating"]) if metric == RATING else "1"
            ablation_signs = [
                ablation["fixed"][metric] if metric != RATING else ablation[RATING] for ablation in ablations
            ]
            marks = (
                sign == best and best not in ablated for sign, *ablated in zip(signs, *ablation_signs, strict=True)
            )
            run_columns.setdefault("temporal", {})[metric] = "".join("1" if mark else "0" for mark in marks)


class ItemScores(NamedTuple):
    """A run with a value for each item, larger for a better answer; None if the item does not count."""

    run: ReportedRun
    columns: Columns
    metric: str
    values: list[int | None]

    def ahead_of(self, other: "ItemScores") -> list[int]:
        """Return the items on which this run has a higher value."""
        pairs = enumerate(zip(self.values, other.values, strict=True))
        return [item for item, (left, right) in pairs if left is not None and right is not None and left > right]


def select_best_two(
    entry: ReportedBenchmark, columns: Mapping[str, Columns], is_member: Sequence[bool]
) -> list[ItemScores]:
    """Return the best run of each of the two best models, by the items of the headline's group."""
    ordered = sorted(
        _item_scores(entry, columns, is_member), key=lambda scores: sum(filter(None, scores.values)), reverse=True
    )
    by_model = {scores.run.scored.run.model: scores for scores in reversed(ordered)}
    return [scores for scores in ordered if by_model[scores.run.scored.run.model] is scores][:2]


def find_highlights(
    entry: ReportedBenchmark, best: Sequence[ItemScores], group: str, is_member: Sequence[bool]
) -> Iterator[Highlight]:
    """Yield highlights of a group of items, the strongest evidence first."""
    for first in best[:1]:
        label, columns = first.run.label, first.columns
        state = {"b": entry.name, "group": group, "run": first.run.scored.name, "metric": first.metric}
        marks = columns.get("temporal", {}).get(first.metric, "")
        ablation = next((first.run.ablations[name] for name in ABLATIONS if name in first.run.ablations), "")
        yield Highlight(
            f"{label} right only with time",
            state | {"other": ablation, "show": "temporal"},
            _positions(marks, "1", is_member),
        )
        for second in best[1:]:
            comparison, second_label = state | {"other": second.run.scored.name}, second.run.label
            better, worse = comparison | {"show": "better"}, comparison | {"show": "worse"}
            yield Highlight(f"{label} right where {second_label} is wrong", better, first.ahead_of(second))
            yield Highlight(f"{second_label} right where {label} is wrong", worse, second.ahead_of(first))
        unparsed = _positions(columns["state"], "u", is_member)
        yield Highlight(f"answers of {label} that could not be parsed", state | {"show": "unparsed"}, unparsed)


def _positions(signs: str, sign: str, is_member: Sequence[bool]) -> list[int]:
    return [position for position, character in enumerate(signs) if character == sign and is_member[position]]


def choose_initial_state(
    name: str, highlights: Sequence[Highlight], ids: Sequence[str], has_media: Sequence[bool]
) -> BrowserState:
    """Return the state in which the item browser opens: at the first highlight, else at the first item.

    Items whose clip has a file are preferred.
    """
    candidates = [(highlight.state, item) for highlight in highlights for item in highlight.items] or [
        ({"b": name}, item) for item in range(len(ids))
    ]
    for state, item in [candidate for candidate in candidates if has_media[candidate[1]]] or candidates:
        return state | {"item": ids[item]}
    return {}


def _item_scores(
    entry: ReportedBenchmark, columns: Mapping[str, Columns], is_member: Sequence[bool]
) -> Iterator[ItemScores]:
    """Yield the values of runs with the same protocol and sampling: the headline's, else those of other runs.

    Protocols and samplings with several models are preferred.
    """
    by_run = {run.run: run for run in reversed(entry.runs) if not run.reference}
    candidates = [run for run in entry.runs if by_run.get(run.run) is run]  # only the first of several judges
    main = entry.headline
    settings = [(main.protocol, main.sampling)] if main else []
    settings += [(run.scored.run.protocol, run.scored.run.sampling) for run in candidates]
    groups = [
        [run for run in candidates if (run.scored.run.protocol, run.scored.run.sampling) == setting]
        for setting in settings
    ]
    comparable = (runs for runs in groups if len({run.scored.run.model for run in runs}) > 1)
    for run in next(comparable, next(filter(None, groups), [])):
        run_columns = columns[run.scored.name]
        names = [RATING] if RATING in run_columns else sorted(run_columns["fixed"])
        metric = main.metric if main and main.metric in names else next(iter(names), "")
        if metric:
            signs = run_columns[RATING] if metric == RATING else run_columns["fixed"][metric]
            values = [
                int(sign) if sign != NONE and is_counted else None
                for sign, is_counted in zip(signs, is_member, strict=True)
            ]
            yield ItemScores(run, run_columns, metric, values)
