"""Choose the marks of temporal profiles: what a mark says, and the shape of the model's own mark on a page."""

from collections.abc import Iterable
from enum import StrEnum

from matplotlib.markers import MarkerStyle

from reprise.figures.canvas import DARK_COLOURS
from reprise.figures.styles import ModelStyle
from reprise.temporal.conditions import NULL_CONDITIONS, PLANNED
from reprise.temporal.findings import TOO_FEW, summarize_benchmark
from reprise.temporal.profile import BenchmarkProfile, ConditionResult, TemporalProfile
from reprise.temporal.rules import Outcome


class Mark(StrEnum):
    """What the mark of a condition's score says; `tp-<mark>` is a CSS class."""

    PLANNED = "planned"
    LOWER = "lower"
    EQUAL = "equal"
    UNMEASURED = "unmeasured"


MARK_TITLES = {
    Mark.PLANNED: "as planned",
    Mark.LOWER: "lower than as planned",
    Mark.EQUAL: "not shown to be lower",
    Mark.UNMEASURED: "not measured",
}


def choose_mark(benchmark: BenchmarkProfile, result: ConditionResult) -> Mark:
    """Return the mark of a condition. If there are too few clips for the verdict, no mark says that a score is lower.

    A single comparison can be significant although the verdict, which needs several of them, is not. The verdicts on
    the best frame require more than a lower score (`NULL_CONDITIONS`), but its mark says only that it is lower.
    """
    if result.condition == PLANNED:
        return Mark.PLANNED
    difference = result.difference
    if difference and difference.outcome == Outcome.NOT_MEASURED:
        return Mark.UNMEASURED
    if difference is None or summarize_benchmark(benchmark) == TOO_FEW:
        return Mark.EQUAL
    is_best_frame = result.condition in NULL_CONDITIONS
    is_lower = difference.outcome == Outcome.SHOWN or (is_best_frame and (difference.low or 0.0) > 0)
    return Mark.LOWER if is_lower else Mark.EQUAL


def list_marks(profiles: Iterable[TemporalProfile]) -> dict[Mark, str]:
    """Return the marks that the panels of profiles have, with their explanations."""
    benchmarks = [entry for profile in profiles for entry in profile.benchmarks if entry.is_usable]
    marks = {choose_mark(benchmark, result) for benchmark in benchmarks for result in benchmark.conditions}
    titles = {mark: title for mark, title in MARK_TITLES.items() if mark in marks}
    if Mark.EQUAL in titles and any(summarize_benchmark(benchmark) == TOO_FEW for benchmark in benchmarks):
        titles[Mark.EQUAL] += ", or too few clips"
    return titles


def build_style_properties(style: ModelStyle) -> str:
    """Return the CSS properties with the colours of a model on light and dark pages, and with its marker's outline."""
    marker = MarkerStyle(style.marker)
    (polygon,) = marker.get_path().transformed(marker.get_transform().scale(10)).to_polygons()
    low, size = polygon.min(axis=0), polygon.max(axis=0) - polygon.min(axis=0)
    shares = (polygon - low) / size  # matplotlib's vertical axis points up, that of CSS points down
    points = ", ".join(f"{100 * x:.3g}% {100 * (1 - y):.3g}%" for x, y in shares)
    dark = DARK_COLOURS.get(style.colour, style.colour)
    return f"--tp-model-light: {style.colour}; --tp-model-dark: {dark}; --tp-outline: polygon({points})"
