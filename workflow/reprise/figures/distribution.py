"""Count and draw distributions of a benchmark's data and of its construction."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.artist import Artist, setp
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reprise.benchmarks.scoring import GroupFilters, filter_group
from reprise.config.figures import ConstructionCount, Distribution
from reprise.figures.canvas import COLOURS, DASHES, TEXT_SIZE, Canvas, wrap_label
from reprise.figures.plots import bar_colours, write_message

PANELS_PER_ROW = 2  # for the panels of a benchmark's construction
CONSTRUCTION_PANEL_HEIGHT = 1.7  # inches


class Count(NamedTuple):
    """A count of the data with the range or name that it counts, or a published number."""

    name: str
    value: float


def compute_counts(
    spec: Distribution, items: pl.DataFrame, clip_metadata: pl.DataFrame, groups: GroupFilters
) -> list[Count]:
    """Return the counts of a figure: clips in ranges of their metadata, questions by group, or videos by task."""
    selected_items = items if spec.task is None else items.filter(task=spec.task)
    selected_items = selected_items if spec.group is None else filter_group(selected_items, spec.group, groups)
    if spec.groups is not None:
        counts = [Count(group.title, filter_group(selected_items, group.group, groups).height) for group in spec.groups]
        return counts if selected_items.height else []
    if spec.measurement is None:
        video_counts = selected_items.group_by("task").agg(pl.col("clip_id").n_unique())
        return sorted((Count(*row) for row in video_counts.iter_rows()), key=lambda count: (-count.value, count.name))
    values = clip_metadata.join(selected_items.select("clip_id").unique(), on="clip_id", how="semi")[spec.measurement]
    finite_values = [value for value in values if value is not None and math.isfinite(value)]
    return bin_values(finite_values, spec.step, is_right_closed=spec.closed == "right")


def bin_values(values: Sequence[float], step: float, *, is_right_closed: bool = False) -> list[Count]:
    """Return the number of values in each range of width `step`.

    A range includes its lower end, or its upper end if `is_right_closed` is true.
    """
    ratios = [value / step for value in values]
    # The tolerance keeps a value on a boundary in its range, although its ratio is rounded.
    bins = Counter(
        max(0, math.ceil(ratio - 1e-9) - 1) if is_right_closed else math.floor(ratio + 1e-9) for ratio in ratios
    )
    indices = range(min(bins), max(bins) + 1) if bins else range(0)
    return [Count(f"{index * step:g}-{(index + 1) * step:g}", bins[index]) for index in indices]


def parse_range(name: str) -> tuple[float, float] | None:
    """Return the ends of a range; None if the name is not a range."""
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", name)
    return (float(match[1]), float(match[2])) if match else None


def describe_single_count(counts: Sequence[Count], unit: str, axis: str) -> str:
    """Return a sentence if only one range or name has a count above zero, else an empty text."""
    nonzero_counts = [count for count in counts if count.value]
    if len(nonzero_counts) != 1:
        return ""
    range_ends = parse_range(nonzero_counts[0].name)
    subset = f"{range_ends[0]:g} to {range_ends[1]:g} {unit}" if range_ends else nonzero_counts[0].name
    return f"All {nonzero_counts[0].value:g} {axis}: {subset}"


def compute_panel_height(counts: Sequence[Count]) -> float:
    """Return the height in inches of a panel: low for a sentence, fixed for ranges, by the number of bars for names."""
    if describe_single_count(counts, "", ""):
        return 0.5
    return 2.2 if not counts or parse_range(counts[0].name) else max(1.4, 0.5 + 0.2 * len(counts))


def build_legend(marks: Sequence[Count]) -> list[tuple[Artist, str]]:
    """Return an entry of the legend for each published number."""
    lines = [Line2D([], [], **_mark_style(index)) for index in range(len(marks))]
    return [(line, f"{mark.name}: {mark.value:g} (published)") for line, mark in zip(lines, marks, strict=True)]


def _mark_style(index: int) -> dict[str, Any]:
    return {"color": COLOURS[(index + 1) % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def _build_integer_locator() -> MaxNLocator:
    """Return a tick locator for an axis with counts, which allows only whole numbers."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def draw_distribution(
    canvas: Canvas, panels: Sequence[tuple[str, Sequence[Count]]], unit: str, axis: str, marks: Sequence[Count]
) -> None:
    """Draw a panel of bars for each group, and lines for the published numbers in the first panel.

    A single panel has no title.
    """
    for index, axes in enumerate(canvas.body.subplots(1, len(panels), squeeze=False)[0]):
        title, counts = panels[index]
        axes.set_title(title if panels[1:] else "")
        message = describe_single_count(counts, unit, axis)
        if message and not marks:
            write_message(axes, message)
        elif counts and not parse_range(counts[0].name):
            _draw_named_counts(axes, counts, axis)
        else:
            _draw_range_counts(axes, counts, unit, axis, () if index else marks)


def _draw_named_counts(axes: Axes, counts: Sequence[Count], axis: str) -> None:
    """Draw a horizontal bar for each named count."""
    style = {"color": bar_colours(4)[1], "edgecolor": "black", "linewidth": 0.4}
    axes.barh(range(len(counts)), [count.value for count in counts], 0.8, **style)
    axes.set_yticks(range(len(counts)), [wrap_label(count.name, 40) for count in counts])
    axes.set(ylim=(len(counts) - 0.5, -0.5), xlabel=axis)
    axes.grid(axis="y", visible=False)
    for index, count in enumerate(counts):
        axes.text(count.value, index, f" {count.value:g}", va="center", fontsize=TEXT_SIZE - 1)
    axes.xaxis.set_major_locator(_build_integer_locator())


def _draw_range_counts(axes: Axes, counts: Sequence[Count], unit: str, axis: str, marks: Sequence[Count]) -> None:
    """Draw a histogram, and a vertical line for each published number."""
    ranges = [ends for count in counts if (ends := parse_range(count.name))]
    axes.bar(
        [low for low, _ in ranges], [count.value for count in counts], [high - low for low, high in ranges],
        align="edge", color=bar_colours(4)[1], edgecolor="black", linewidth=0.4,
    )  # fmt: skip
    for index, mark in enumerate(marks):
        axes.axvline(mark.value, **_mark_style(index))
    if not counts and not marks:
        write_message(axes)
    axes.set_xlim(left=min([0.0, *(low for low, _ in ranges)]))
    axes.grid(axis="x", visible=False)
    axes.set(xlabel=unit, ylabel=axis)
    axes.yaxis.set_major_locator(_build_integer_locator())


def iter_share_notes(counts: Sequence[ConstructionCount], numbers: pl.DataFrame) -> Iterator[str]:
    """Yield sentences that compare the reproduced shares of the construction with those in the paper."""
    for count in counts:
        for row in numbers.filter(pl.col("paper").is_not_null(), statistic=count.statistic).iter_rows(named=True):
            reproduced = "no value" if row["reproduced"] is None else f"{row['reproduced']:.0f} %"
            group = row["group"].removesuffix(", %")
            yield f"{count.title}, {group}: {reproduced} here, about {row['paper']:g} % in the paper."


def draw_construction(canvas: Canvas, counts: Sequence[ConstructionCount], numbers: pl.DataFrame, axis: str) -> None:
    """Draw a panel of bars for each quantity of the construction, with the frequency of each value."""
    grid = canvas.body.subplots(math.ceil(len(counts) / PANELS_PER_ROW), PANELS_PER_ROW, squeeze=False).flatten()
    for axes, count in zip(grid, counts, strict=False):
        axes.set_title(count.title)
        rows = numbers.filter(statistic=count.statistic).select("group", "reproduced").iter_rows()
        frequencies = dict(sorted((int(value), frequency) for value, frequency in rows if value.isdecimal()))
        if not frequencies:
            write_message(axes)
            continue
        axes.bar(
            list(frequencies),
            list(frequencies.values()),
            0.8,
            color=bar_colours(4)[1],
            edgecolor="black",
            linewidth=0.4,
        )
        axes.set_xticks(range(min(frequencies), max(frequencies) + 1))
        axes.grid(axis="x", visible=False)
        axes.yaxis.set_major_locator(_build_integer_locator())
    setp(grid[len(counts) :], visible=False)
    canvas.body.supylabel(axis, fontsize=TEXT_SIZE)
