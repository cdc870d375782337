"""Draw the figure of a temporal profile: each score as a staircase of its parts, which goes back for a negative part.

The figure has the width of a paper's column and stays readable in grey, because each part has its own line.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reprise.figures.canvas import FAINT_COLOUR, SMALL_SIZE, apply_style, create_canvas, wrap_label
from reprise.tables.render.table import format_value
from reprise.temporal.findings import format_signed
from reprise.temporal.profile import (
    KIND_TITLES,
    MIXED,
    ONE_FRAME,
    ORDER,
    PLANNED,
    SET,
    WORDS,
    BenchmarkProfile,
    ProfilePart,
    TemporalProfile,
)
from reprise.temporal.tables import sort_profiles

WIDTH = 3.3  # inches
# Okabe and Ito's palette: greys and blues for parts that need no order, the warm colour for the order.
PART_COLOURS = {WORDS: "#A6A6A6", ONE_FRAME: "#56B4E9", SET: "#0072B2", ORDER: "#D55E00", MIXED: "#7F7F7F"}
NEGATIVE_HATCH, MERGED_HATCH = "//////", "....."
LANE, HEAD = 0.13, 0.3  # inches of a part's line, and of the margins above and below a panel
MODEL, LABEL = 0.3, 0.13  # inches of a model's row in the figure of all models, and of a line of its label
INK = "#222222"

DOTTED = (0, (1, 1.2))


class Step(NamedTuple):
    """One part as a bar, from the score before it to the score after it."""

    part: ProfilePart
    start: float
    end: float


def compute_steps(benchmark: BenchmarkProfile) -> list[Step]:
    steps, position = [], 0.0
    for part in benchmark.parts:
        steps.append(Step(part, position, position + part.number.value))
        position += part.number.value
    return steps


def _value_range(profiles: Sequence[TemporalProfile]) -> tuple[float, float]:
    """Return the lowest and highest end of all bars, intervals and chance lines, in shares of the best score."""
    ends = [0.0, 0.3]
    for benchmark in (benchmark for profile in profiles for benchmark in profile.benchmarks):
        ends.append((benchmark.chance or 0.0) / benchmark.best)
        for part, start, end in compute_steps(benchmark):
            low, high = part.number.low or 0.0, part.number.high or 0.0
            ends += [value / benchmark.best for value in (end, start + low, start + high)]
    return min(ends), max(ends)


def draw_profile(profile: TemporalProfile) -> Figure:
    apply_style()
    benchmarks = [benchmark for benchmark in profile.benchmarks if benchmark.parts]
    empty_titles = [benchmark.title for benchmark in profile.benchmarks if not benchmark.parts]
    notes = [
        _intervals(profile.level, benchmarks),
        *([f"Nothing to show: {', '.join(empty_titles)}."] if empty_titles else []),
    ]
    heights = [HEAD + LANE * len(benchmark.parts) for benchmark in benchmarks]
    page = create_canvas(
        WIDTH, max(0.4, sum(heights)), f"{profile.title}: the parts of its scores", profile.notice, notes
    )
    if not benchmarks:
        return page.figure
    minimum, maximum = _value_range([profile])
    panels = page.body.subplots(len(benchmarks), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        steps, planned = compute_steps(benchmark), benchmark.condition(PLANNED)
        score = format_value(planned.score.value, benchmark.decimals) if planned else ""
        heading = f"{benchmark.title}  {score}" + ("" if benchmark.best == 100 else f" of {benchmark.best:g}")
        axes.set_title(heading, loc="left", fontweight="bold", pad=2)
        _draw_steps(axes, benchmark, steps, 0, 1.0, [_value(step, benchmark) for step in steps])
        axes.set_yticks(range(len(steps)), [wrap_label(step.part.title, 24) for step in steps])
        axes.set_ylim(len(steps) - 0.4, -0.6)
        _scale(axes, benchmark, minimum, maximum + 0.2 * (maximum - minimum), is_named=True)
    return page.figure


def draw_profiles(profiles: Sequence[TemporalProfile]) -> Figure:
    """Draw several models: one panel per benchmark, one staircase per model, sorted by the part due to order."""
    apply_style()
    sorted_profiles = sort_profiles(profiles)
    benchmarks = list(
        dict.fromkeys(
            (benchmark.name, benchmark.title)
            for profile in sorted_profiles
            for benchmark in profile.benchmarks
            if benchmark.parts
        )
    )
    column_count = min(2, max(1, len(benchmarks)))
    row_count = -(-len(benchmarks) // column_count)
    labels = [wrap_label(profile.title, 18) for profile in sorted_profiles]
    max_label_lines = max((label.count("\n") + 1 for label in labels), default=1)
    height = row_count * (HEAD + 0.12 + max(MODEL, LABEL * max_label_lines) * len(sorted_profiles))
    all_benchmarks = [benchmark for profile in sorted_profiles for benchmark in profile.benchmarks if benchmark.parts]
    notice, note = (
        (sorted_profiles[0].notice, _intervals(sorted_profiles[0].level, all_benchmarks))
        if sorted_profiles
        else ("", "Nothing to show.")
    )
    page = create_canvas(
        WIDTH, max(0.4, height), "Which models use time?", notice, [note], list(_legend(sorted_profiles))
    )
    if not benchmarks:
        return page.figure
    minimum, maximum = _value_range(sorted_profiles)
    grid = page.body.subplots(row_count, column_count, squeeze=False, sharey=True).flatten()
    for panel, (axes, (name, title)) in enumerate(zip(grid, benchmarks, strict=False)):
        axes.set_title(title, loc="left", fontweight="bold", pad=2)
        panel_rows = [
            (row, benchmark)
            for row, profile in enumerate(sorted_profiles)
            for benchmark in profile.benchmarks
            if benchmark.name == name and benchmark.parts
        ]
        for row, benchmark in panel_rows:
            steps, height = compute_steps(benchmark), 0.8 / len(benchmark.parts)
            # Only the part due to order is labelled with its value, to keep the panels legible.
            values = [_value(step, benchmark) if ORDER in step.part.names else "" for step in steps]
            _draw_steps(axes, benchmark, steps, row - 0.4 + height / 2, height, values)
        axes.set_yticks(range(len(sorted_profiles)), labels, fontsize=SMALL_SIZE - 0.5)
        axes.set_ylim(len(sorted_profiles) - 0.5, -0.5)
        axes.tick_params(axis="y", labelleft=panel % column_count == 0)
        _scale(axes, panel_rows[0][1], minimum, maximum + 0.3 * (maximum - minimum))
    for axes in grid[len(benchmarks) :]:
        axes.set_visible(False)
    return page.figure


def _value(step: Step, benchmark: BenchmarkProfile) -> str:
    is_first = step.start == 0 and step.part.p is None
    return (format_value if is_first else format_signed)(step.part.number.value, benchmark.decimals)


def _draw_steps(
    axes: Axes, benchmark: BenchmarkProfile, steps: Sequence[Step], first: float, pitch: float, values: Sequence[str]
) -> None:
    """Draw bars below each other, each starting where the previous one ends; a negative bar is hatched and goes back.

    A bar whose value is the empty string gets no interval either.
    """
    for position, (step, label) in enumerate(zip(steps, values, strict=True)):
        y, colour = first + position * pitch, PART_COLOURS[step.part.kind]
        hatch = NEGATIVE_HATCH if step.end < step.start else MERGED_HATCH if step.part.kind == MIXED else None
        axes.barh(
            y, step.end - step.start, 0.78 * pitch, left=step.start, color="white" if hatch else colour,
            edgecolor=colour, hatch=hatch, linewidth=0.8 if hatch else 0.0, zorder=2,
        )  # fmt: skip
        if position + 1 < len(steps):
            axes.plot([step.end, step.end], [y, y + pitch], color=INK, linewidth=0.6, zorder=2.5)
        number = step.part.number
        right = max(step.start, step.end)
        if label and number.low is not None and number.high is not None:
            ends = step.start + number.low, step.start + number.high
            axes.plot(ends, [y, y], color=INK, linewidth=0.7, zorder=3)
            right = max(right, ends[1])
        axes.text(
            right + 0.012 * benchmark.best, y, label, va="center_baseline", ha="left", fontsize=SMALL_SIZE,
            fontweight="bold" if step.part.kind == ORDER else "normal", color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4}, zorder=2.4,  # a line may cross the number
        )  # fmt: skip


def _scale(axes: Axes, benchmark: BenchmarkProfile, minimum: float, maximum: float, *, is_named: bool = False) -> None:
    """Give all panels the same scale, in shares of the best score, and mark chance with a line."""
    axes.set_xlim(minimum * benchmark.best, maximum * benchmark.best)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL_SIZE - 0.5, length=2, pad=1)
    axes.locator_params(axis="x", nbins=5)
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.spines["left"].set_visible(False)
    if benchmark.chance is not None:
        axes.axvline(benchmark.chance, color="black", linestyle=DOTTED, linewidth=0.9, zorder=2.3)
        label = f"chance {format_value(benchmark.chance, benchmark.chance_decimals)}" if is_named else ""
        axes.set_title(label, loc="right", fontsize=SMALL_SIZE, color=FAINT_COLOUR, pad=2)


def _intervals(level: float, benchmarks: Sequence[BenchmarkProfile]) -> str:
    has_negative_part = any(part.number.value < 0 for benchmark in benchmarks for part in benchmark.parts)
    chance_note = " Dotted: chance." if any(benchmark.chance is not None for benchmark in benchmarks) else ""
    negative_note = " Hatched: a part below zero." if has_negative_part else ""
    return f"Bars add up to the score. Lines: {100 * level:g} % intervals.{chance_note}{negative_note}"


def _legend(profiles: Sequence[TemporalProfile]) -> Iterator[tuple[Artist, str]]:
    kinds = {part.kind for profile in profiles for benchmark in profile.benchmarks for part in benchmark.parts}
    for kind, title in KIND_TITLES.items():
        if kind == MIXED and kind in kinds:
            yield Patch(facecolor="white", edgecolor=PART_COLOURS[kind], hatch=MERGED_HATCH), title
        elif kind in kinds:
            yield Patch(facecolor=PART_COLOURS[kind]), title
    yield Line2D([], [], color="black", linestyle=DOTTED, linewidth=0.9), "chance"
