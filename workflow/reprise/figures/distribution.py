"""Count and draw distributions of a benchmark's data and of its construction."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from reprise.benchmarks.scoring import GroupFilters, filter_group
from reprise.config.figures import ConstructionCount, Distribution
from reprise.figures.canvas import (
    COUNT_COLOUR,
    FAINT_COLOUR,
    INK,
    TEXT_SIZE,
    Canvas,
    count_columns,
    wrap_text,
)
from reprise.figures.points import Layout
from reprise.figures.series import DASHES

PANELS_PER_ROW = 2  # for the panels of a benchmark's construction
CONSTRUCTION_PANEL_HEIGHT = 1.7  # inches
PANEL_HEAD, BAR_HEIGHT = 0.6, 0.13  # inches: of a panel of named counts without its bars, and of a bar
RANGE_PANEL_WIDTH, NAME_PANEL_WIDTH = 1.5, 2.6  # inches: smallest widths of panels of ranges and of named counts
LABEL_SHARE = 0.45  # largest share of a panel's width that the names of counts take
BAR_STYLE = {"color": COUNT_COLOUR, "edgecolor": INK, "linewidth": 0.4}


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
    """Return a text if only one range or name has a count above zero, else an empty text."""
    nonzero_counts = [count for count in counts if count.value]
    if len(nonzero_counts) != 1:
        return ""
    (count,) = nonzero_counts
    if range_ends := parse_range(count.name):
        bin_name = f"{range_ends[0]:g} to {range_ends[1]:g}" + (f" ({unit})" if unit else "")
        return f"All {count.value:g} {axis} are in one bin: {bin_name}"
    return f"All {count.value:g} {axis}: {count.name}"


Panels = Sequence[tuple[str, Sequence[Count]]]
"""title and counts of each group"""


def _has_ranges(counts: Sequence[Count]) -> bool:
    return not counts or parse_range(counts[0].name) is not None


def _count_columns(panels: Panels, width: float) -> int:
    """Return the number of panels side by side."""
    has_names = any(not _has_ranges(counts) for _, counts in panels)
    return count_columns(len(panels), width, NAME_PANEL_WIDTH if has_names else RANGE_PANEL_WIDTH)


def _arrange_names(counts: Sequence[Count], panel_width: float) -> Layout:
    """Return the layout of a panel of named counts, each with one bar."""
    return Layout([count.name for count in counts], 1, BAR_HEIGHT, LABEL_SHARE * panel_width)


def _compute_panel_height(counts: Sequence[Count], panel_width: float, *, has_marks: bool) -> float:
    """Return the height in inches of a panel: low for a sentence, fixed for ranges, by the number of bars for names."""
    if describe_single_count(counts, "", "") and not has_marks:
        return 0.5
    if _has_ranges(counts) or has_marks:
        return 2.2
    return PANEL_HEAD + _arrange_names(counts, panel_width).height


def compute_height(panels: Panels, width: float, *, has_marks: bool) -> float:
    """Return the height in inches of all panels."""
    if not panels:
        return 0.0
    columns = _count_columns(panels, width)
    heights = [_compute_panel_height(counts, width / columns, has_marks=has_marks) for _, counts in panels]
    return max(heights) * math.ceil(len(panels) / columns)


def build_legend(marks: Sequence[Count]) -> list[tuple[Artist, str]]:
    """Return an entry of the legend for each published number."""
    lines = [Line2D([], [], **_mark_style(index)) for index in range(len(marks))]
    return [(line, f"{mark.name}: {mark.value:g} (published)") for line, mark in zip(lines, marks, strict=True)]


def _mark_style(index: int) -> dict[str, Any]:
    return {"color": INK, "linestyle": DASHES[(index + 1) % len(DASHES)]}


def _build_integer_locator() -> MaxNLocator:
    """Return a tick locator for an axis with counts, which allows only whole numbers."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def draw_distribution(canvas: Canvas, panels: Panels, unit: str, axis: str, marks: Sequence[Count]) -> None:
    """Draw a panel of bars for each group, and lines for the published numbers in the first panel.

    A single panel has no title.
    """
    if not panels:
        return
    columns = _count_columns(panels, canvas.width)
    grid = canvas.body.subplots(math.ceil(len(panels) / columns), columns, squeeze=False).flatten()
    for index, (axes, (title, counts)) in enumerate(zip(grid, panels, strict=False)):
        axes.set_title(title if panels[1:] else "")
        message = describe_single_count(counts, unit, axis)
        if message and not marks:
            _write_message(axes, message, canvas.width / columns)
        elif _has_ranges(counts):
            _draw_range_counts(axes, counts, unit, axis, () if index else marks)
        else:
            _draw_named_counts(axes, counts, _arrange_names(counts, canvas.width / columns), axis)
    for axes in grid[len(panels) :]:
        axes.remove()


def _write_message(axes: Axes, message: str, width: float) -> None:
    """Write a sentence instead of a single bar into a panel of this width in inches."""
    lines = "\n".join(wrap_text(message, 0.9 * width, TEXT_SIZE))
    axes.text(0.5, 0.5, lines, ha="center", va="center", transform=axes.transAxes, color=FAINT_COLOUR)
    axes.set_axis_off()


def _draw_named_counts(axes: Axes, counts: Sequence[Count], layout: Layout, axis: str) -> None:
    """Draw a horizontal bar for each named count."""
    axes.barh(layout.centres, [count.value for count in counts], BAR_HEIGHT, **BAR_STYLE)
    axes.set_yticks(layout.centres, layout.labels)
    axes.set(ylim=(layout.height, 0), xlabel=axis)
    axes.grid(axis="y", visible=False)
    for centre, count in zip(layout.centres, counts, strict=True):
        axes.text(count.value, centre, f" {count.value:g}", va="center", fontsize=TEXT_SIZE - 1)
    axes.margins(x=0.12)  # for the number at the end of the longest bar
    axes.xaxis.set_major_locator(_build_integer_locator())


def _draw_range_counts(axes: Axes, counts: Sequence[Count], unit: str, axis: str, marks: Sequence[Count]) -> None:
    """Draw a histogram, and a vertical line for each published number."""
    ranges = [ends for count in counts if (ends := parse_range(count.name))]
    axes.bar(
        [low for low, _ in ranges], [count.value for count in counts], [high - low for low, high in ranges],
        align="edge", **BAR_STYLE,
    )  # fmt: skip
    for index, mark in enumerate(marks):
        axes.axvline(mark.value, **_mark_style(index))
    axes.set_xlim(left=min([0.0, *(low for low, _ in ranges)]))
    axes.grid(axis="x", visible=False)
    axes.set(xlabel=unit, ylabel=axis if counts else "")
    axes.yaxis.set_major_locator(_build_integer_locator() if counts else NullLocator())


def iter_share_notes(counts: Sequence[ConstructionCount], numbers: pl.DataFrame) -> Iterator[str]:
    """Yield sentences that compare the reproduced shares of the construction with those in the paper."""
    for count in counts:
        for row in numbers.filter(pl.col("paper").is_not_null(), statistic=count.statistic).iter_rows(named=True):
            reproduced = "no value" if row["reproduced"] is None else f"{row['reproduced']:.0f} %"
            group = row["group"].removesuffix(", %")
            yield f"{count.title}, {group}: {reproduced} here, about {row['paper']:g} % in the paper."


def draw_construction(canvas: Canvas, counts: Sequence[ConstructionCount], numbers: pl.DataFrame, axis: str) -> None:
    """Draw a panel of bars for each quantity of the construction, with the frequency of each value."""
    if not counts:
        return
    grid = canvas.body.subplots(math.ceil(len(counts) / PANELS_PER_ROW), PANELS_PER_ROW, squeeze=False).flatten()
    for axes, count in zip(grid, counts, strict=False):
        axes.set_title(count.title)
        rows = numbers.filter(statistic=count.statistic).select("group", "reproduced").iter_rows()
        frequencies = dict(sorted((int(value), frequency) for value, frequency in rows if value.isdecimal()))
        if len(frequencies) == 1:
            ((value, frequency),) = frequencies.items()
            _write_message(axes, f"always {value} ({frequency:g} times)", canvas.width / PANELS_PER_ROW)
            continue
        axes.bar(list(frequencies), list(frequencies.values()), 0.8, **BAR_STYLE)
        axes.set_xticks(range(min(frequencies), max(frequencies) + 1))
        axes.grid(axis="x", visible=False)
        axes.yaxis.set_major_locator(_build_integer_locator())
    for axes in grid[len(counts) :]:
        axes.remove()
    canvas.body.supylabel(axis, fontsize=TEXT_SIZE)
