"""Compute the content of the first page: comparisons with published numbers, and highlights."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.config.benchmark import SUBSET
from reprise.media.ablations import REVERSED, SHUFFLED
from reprise.report.keys import ReportedBenchmark, ReportedRun
from reprise.report.runs import NO_SIGN, RATING, get_item_signs
from reprise.tables.reproduction import REPRODUCTION_SCHEMA, VERDICT_NAMES

TEMPORAL, UNPARSED = "temporal", "unparsed"  # kinds of items (`show`) in the item browser
Columns = Mapping[str, Any]
"""Columns of a run for the item browser, as `compute_columns` returns them; most have one character per item."""
BrowserState = dict[str, str]
"""Parameter -> value in the address of the item browser, such as `run` -> the run that it shows."""


class PaperComparison(NamedTuple):
    """Comparison of a benchmark's measured and published numbers, for a chart."""

    title: str
    points: list[tuple[float, float, str]]
    """the published number and ours, each in percent of the chart, and the verdict as a CSS class"""
    counts: dict[str, int]  # verdict -> how many numbers have this verdict


def compare_with_papers(path: Path, benchmarks: Sequence[ReportedBenchmark]) -> Iterator[PaperComparison]:
    """Yield the comparison of each benchmark that has measured numbers which its paper publishes too."""
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
    """Items worth a look, with the state in which the item browser shows them."""

    title: str  # of the benchmark, and whether the runs are about its subset
    description: str
    state: BrowserState
    items: Sequence[int]  # indices of the items
    total: int  # number of items that were examined


def mark_ordered_only(benchmark: ReportedBenchmark, columns: Mapping[str, dict[str, Any]]) -> None:
    """Mark in each run's columns the items that score higher as planned than shuffled and reversed.

    This is the definition of temporal profiles, but a suite may have only one of the two ablations. An item counts by
    its own answers, also if the metric counts pairs or videos. The column `temporal` maps each metric to one character
    per item: 1 for a marked item, 2 for one that scores lower as planned than in both, 0 for others, and - for items
    that do not count in all runs.
    """
    for run in benchmark.runs:
        ablations = [columns[run.ablations[name]] for name in (SHUFFLED, REVERSED) if name in run.ablations]
        if not ablations:
            continue
        run_columns = columns[run.scored.name]
        for metric in [RATING] if RATING in run_columns else run_columns["fixed"]:
            all_signs = [get_item_signs(columns_of_run, metric) for columns_of_run in (run_columns, *ablations)]
            marks = (_mark_item(*signs) for signs in zip(*all_signs, strict=True))
            run_columns.setdefault("temporal", {})[metric] = "".join(marks)


def _mark_item(planned: str, *ablated: str) -> str:
    if NO_SIGN in (planned, *ablated):
        return NO_SIGN
    return "1" if planned > max(ablated) else "2" if planned < min(ablated) else "0"


def find_order_ablation(run: ReportedRun) -> str:
    """Return the run in which the frames of this run are shuffled, or else reversed; empty if there is none."""
    return next((run.ablations[name] for name in (SHUFFLED, REVERSED) if name in run.ablations), "")


class ItemScores(NamedTuple):
    """A run with a value for each item. Better answers have larger values; items that do not count have None."""

    run: ReportedRun
    columns: Columns
    metric: str
    metric_values: list[int | None]
    """by the metric, which may count pairs or videos"""
    values: list[int | None]
    """by the item's own answers"""

    def find_better_items(self, other: "ItemScores") -> list[int]:
        """Return the items on which this run has a higher value than another run."""
        pairs = enumerate(zip(self.values, other.values, strict=True))
        return [
            item
            for item, (own_value, other_value) in pairs
            if own_value is not None and other_value is not None and own_value > other_value
        ]


def select_best_two(
    benchmark: ReportedBenchmark, columns: Mapping[str, Columns], is_member: Sequence[bool]
) -> list[ItemScores]:
    """Return the best run of each of the two best models, over the items of the headline's group."""
    ordered = sorted(
        _item_scores(benchmark, columns, is_member),
        key=lambda scores: sum(filter(None, scores.metric_values)),
        reverse=True,
    )
    best_by_model: dict[str, ItemScores] = {}
    for scores in ordered:
        best_by_model.setdefault(scores.run.scored.run.model, scores)
    return list(best_by_model.values())[:2]


def find_highlights(
    benchmark: ReportedBenchmark, best_runs: Sequence[ItemScores], group: str, is_member: Sequence[bool]
) -> Iterator[Highlight]:
    """Yield highlights of the best runs within a group of items, the strongest evidence first."""
    if not best_runs:
        return
    first = best_runs[0]
    label, columns = first.run.label, first.columns
    state = {"b": benchmark.name, "group": group, "run": first.run.scored.name, "metric": first.metric}
    metric = columns["question_metric"] or first.metric
    marks = columns.get("temporal", {}).get(metric, "")
    is_about_subset = benchmark.items.get(first.run.scored.run.protocol) == SUBSET
    title = f"{benchmark.title} subset" if is_about_subset else benchmark.title
    verdict = "better" if metric == RATING else "right"
    mirrored = len(_find_items(marks, "2", is_member))
    yield Highlight(
        title,
        f"{label} {verdict} only in the planned order ({mirrored} {verdict} only in other orders)",
        state | {"metric": metric, "other": find_order_ablation(first.run), "show": TEMPORAL},
        _find_items(marks, "1", is_member),
        len(_find_items(marks, "012", is_member)),
    )
    for second in best_runs[1:]:
        comparison, second_label = state | {"other": second.run.scored.name}, second.run.label
        better, worse = comparison | {"show": "better"}, comparison | {"show": "worse"}
        total = sum(None not in pair for pair in zip(first.values, second.values, strict=True))
        description = f"{label} right where {second_label} is wrong"
        yield Highlight(title, description, better, first.find_better_items(second), total)
        description = f"{second_label} right where {label} is wrong"
        yield Highlight(title, description, worse, second.find_better_items(first), total)
    yield Highlight(
        title,
        f"answers of {label} that could not be parsed",
        state | {"show": UNPARSED},
        _find_items(columns["state"], "u", is_member),
        len(_find_items(columns["state"], "afu", is_member)),
    )


def _find_items(column: str, signs: str, is_member: Sequence[bool]) -> list[int]:
    """Return the indices of the group's items with one of these characters in a column."""
    return [position for position, sign in enumerate(column) if sign in signs and is_member[position]]


def choose_initial_state(name: str, highlights: Sequence[Highlight]) -> BrowserState:
    """Return the state in which the item browser opens: the first highlight that is not about unparsed answers.

    Without such a highlight, the browser chooses a run, whose wrong items come first.
    """
    states = (highlight.state for highlight in highlights if highlight.state["show"] != UNPARSED)
    return next(states, {"b": name})


def _item_scores(
    benchmark: ReportedBenchmark, columns: Mapping[str, Columns], is_member: Sequence[bool]
) -> Iterator[ItemScores]:
    """Yield the item scores of the runs with one protocol and sampling, without baselines.

    These are the first protocol and sampling with runs of several models, or else the first with runs. Those of the
    headline come first.
    """
    # A run with several judges counts once, with its first judge.
    first_by_run: dict[str, ReportedRun] = {}
    for run in benchmark.runs:
        if not run.reference:
            first_by_run.setdefault(run.run, run)
    candidates = list(first_by_run.values())
    headline = benchmark.headline
    settings = [(headline.protocol, headline.sampling)] if headline else []
    settings += [(run.scored.run.protocol, run.scored.run.sampling) for run in candidates]
    groups = [
        [run for run in candidates if (run.scored.run.protocol, run.scored.run.sampling) == setting]
        for setting in settings
    ]
    groups_with_several_models = (runs for runs in groups if len({run.scored.run.model for run in runs}) > 1)
    nonempty_groups = filter(None, groups)
    for run in next(groups_with_several_models, next(nonempty_groups, [])):
        run_columns = columns[run.scored.name]
        names = [RATING] if RATING in run_columns else sorted(run_columns["fixed"])
        metric = headline.metric if headline and headline.metric in names else next(iter(names), "")
        if metric:
            signs = run_columns[RATING] if metric == RATING else run_columns["fixed"][metric]
            metric_values, values = (
                [
                    int(sign) if sign != NO_SIGN and is_counted else None
                    for sign, is_counted in zip(column, is_member, strict=True)
                ]
                for column in (signs, get_item_signs(run_columns, metric))
            )
            yield ItemScores(run, run_columns, metric, metric_values, values)
