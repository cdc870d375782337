"""Draw the numbers of tables as bars, lines and radar charts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reprise.figures.canvas import COLOURS, DASHES, FAINT_COLOUR, MARKERS, TEXT_SIZE, Canvas, wrap_label
from reprise.figures.chart import LineSeries, Panel
from reprise.tables.render.table import TableNumber

LegendEntries = list[tuple[Artist, str]]
"""the symbol and the text of each entry of a legend"""
HATCH = "/////"  # pattern of bars with published numbers
PUBLISHED_MARKER_STYLE: dict[str, Any] = {
    "linestyle": "",
    "marker": "D",
    "markersize": 3,
    "color": "black",
    "markerfacecolor": "white",
    "markeredgewidth": 0.6,
}
TEXT_ONLY_POSITION = 0.5  # position of zero frames on a logarithmic axis


def collect_numbers(panels: Sequence[Panel]) -> list[TableNumber]:
    """Return the numbers of all series of these panels."""
    return [number for panel in panels for numbers in panel.series.values() for number in numbers.values()]


def is_published(number: TableNumber) -> bool:
    """Return whether a number is the paper's, not measured here."""
    return number.state == "published"


def compute_error_bar_lengths(number: TableNumber) -> tuple[list[float], list[float]]:
    """Return the distances from a value to the lower and to the upper end of its interval."""
    value = number.value or 0.0
    low, high = number.interval or (value, value)
    return [max(0.0, value - low)], [max(0.0, high - value)]


def write_message(axes: Axes, message: str = "nothing to show") -> None:
    """Write a message instead of a plot that has no numbers, or only one bar."""
    axes.text(0.5, 0.5, wrap_label(message, 40), ha="center", va="center", transform=axes.transAxes, color=FAINT_COLOUR)
    axes.set_axis_off()


# Bars


def bar_colours(count: int) -> list[tuple[float, float, float, float]]:
    """Return `count` colours from dark to light, which differ in greyscale too."""
    return [colormaps["cividis"](0.05 + 0.9 * index / max(1, count - 1)) for index in range(count)]


def compute_bars_height(panel: Panel) -> float:
    """Return the height in inches at which all bars of a panel stay readable."""
    return max(1.2, 0.5 + len(panel.ticks) * max(0.24, 0.13 * len(panel.series) + 0.08))


def build_bars_legend(panel: Panel) -> LegendEntries:
    """Return entries for the series, if there are several, and for the marks of published numbers."""
    colours = bar_colours(len(panel.series))
    entries: LegendEntries = [
        (Patch(facecolor=colour, edgecolor="black", linewidth=0.4), label)
        for colour, label in zip(colours, panel.series, strict=True)
    ]
    entries = entries if len(entries) > 1 else []
    numbers = collect_numbers([panel])
    if any(map(is_published, numbers)):
        entries.append(
            (Patch(facecolor="white", edgecolor="black", hatch=HATCH, linewidth=0.4), "published by the paper")
        )
    if any(number.published is not None for number in numbers):
        entries.append((Line2D([], [], **PUBLISHED_MARKER_STYLE), "published, beside ours"))
    return entries


def draw_bars(canvas: Canvas, panel: Panel, axis: str) -> None:
    """Draw horizontal bars in the order of the ticks, with `–` for a missing number."""
    axes = canvas.body.subplots()
    if not panel.ticks:
        write_message(axes)
        return
    count, colours = len(panel.series), bar_colours(len(panel.series))
    thickness = 0.84 / count
    for index, numbers in enumerate(panel.series.values()):
        for row, tick in enumerate(panel.ticks):
            number = numbers.get(tick, TableNumber(None))
            y = row + (index - (count - 1) / 2) * thickness
            if number.value is None:
                axes.text(0, y, " –", va="center", fontsize=TEXT_SIZE - 1, color=FAINT_COLOUR)
                continue
            style = {"hatch": HATCH, "edgecolor": "white"} if is_published(number) else {"edgecolor": "black"}
            axes.barh(y, number.value, thickness * 0.92, color=colours[index], linewidth=0.4, **style)
            if is_published(number):
                axes.barh(y, number.value, thickness * 0.92, color="none", edgecolor="black", linewidth=0.4)
            if number.published is not None:
                axes.plot(number.published, y, zorder=3, **PUBLISHED_MARKER_STYLE)
            if number.interval:
                axes.errorbar(
                    number.value,
                    y,
                    xerr=compute_error_bar_lengths(number),
                    fmt="none",
                    ecolor="#3a3a3a",
                    elinewidth=0.8,
                    capsize=1.2,
                )
    axes.set_yticks(range(len(panel.ticks)), [wrap_label(tick, 22) for tick in panel.ticks])
    axes.set(ylim=(len(panel.ticks) - 0.5, -0.5), xlabel=axis)
    axes.set_xlim(left=min([0.0, *(number.value or 0.0 for number in collect_numbers([panel]))]))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


# Lines


def line_style(index: int) -> dict[str, Any]:
    """Return the style of the series with this index; if there are more series than colours, dashes tell them apart."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": DASHES[(index // len(COLOURS) + index) % len(DASHES)],
    }


def build_lines_legend(labels: Sequence[str], numbers: Sequence[TableNumber]) -> LegendEntries:
    """Return an entry for each series, and one for hollow markers if a number is a published one."""
    entries: LegendEntries = [(Line2D([], [], **line_style(index)), label) for index, label in enumerate(labels)]
    if any(map(is_published, numbers)):
        hollow_marker = Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="")
        entries.append((hollow_marker, "hollow: published by the paper"))
    return entries


def draw_lines(canvas: Canvas, panels: Sequence[Panel], axis: str) -> None:
    """Draw a line for each series over the ticks of each panel."""
    axes_row = canvas.body.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(axes_row, panels, strict=True):
        if not collect_numbers([panel]):
            write_message(axes)
            continue
        for index, numbers in enumerate(panel.series.values()):
            # The series are shifted sideways, so that their intervals do not cover each other.
            shift = 0.16 * (index / max(1, len(panel.series) - 1) - 0.5)
            points = {x + shift: numbers[tick] for x, tick in enumerate(panel.ticks) if tick in numbers}
            _draw_line(axes, points, line_style(index))
        axes.set_xticks(range(len(panel.ticks)), [wrap_label(tick, 10) for tick in panel.ticks])
        axes.set(xlim=(-0.4, len(panel.ticks) - 0.6), title=panel.title)
    axes_row[0].set_ylabel(axis)


def _draw_line(axes: Axes, numbers: Mapping[float, TableNumber], style: dict[str, Any]) -> None:
    """Draw a line through numbers by position, with their intervals; published numbers have hollow markers."""
    points = {x: number for x, number in sorted(numbers.items()) if number.value is not None}
    axes.plot(list(points), [number.value or 0.0 for number in points.values()], **style)
    for x, number in points.items():
        y = number.value or 0.0
        if number.interval:
            bars = {"fmt": "none", "ecolor": style["color"], "elinewidth": 0.8, "capsize": 1.2}
            axes.errorbar(x, y, yerr=compute_error_bar_lengths(number), **bars)
        if is_published(number):
            axes.plot([x], [y], **style | {"markerfacecolor": "white", "linestyle": "", "zorder": 3})


def build_frames_legend(lines: Sequence[LineSeries]) -> LegendEntries:
    """Return entries for the lines over frames, and for horizontal lines such as chance and human annotators."""
    curves = [line.label for line in lines if line.numbers]
    levels = [line for line in lines if line.level]
    entries = build_lines_legend(curves, [number for line in lines for number in line.list_available_numbers()])
    return [*entries, *((Line2D([], [], **_level_style(line, index)), line.label) for index, line in enumerate(levels))]


def _level_style(line: LineSeries, index: int) -> dict[str, Any]:
    dashes = (0, (1, 1)) if line.is_chance else DASHES[1 + index % (len(DASHES) - 1)]
    return {"color": FAINT_COLOUR if line.is_chance else "black", "linestyle": dashes, "linewidth": 1.0}


def draw_frames(canvas: Canvas, panels: Sequence[tuple[str, Sequence[LineSeries]]], axis: str) -> None:
    """Draw lines over numbers of frames on a logarithmic axis, on which `0` is the text-only baseline."""
    axes_row = canvas.body.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, lines) in zip(axes_row, panels, strict=True):
        if not lines:
            write_message(axes)
            continue
        curves = [line for line in lines if line.numbers]
        for index, line in enumerate(curves):
            _draw_line(axes, {x or TEXT_ONLY_POSITION: number for x, number in line.numbers.items()}, line_style(index))
        levels = [(line, line.level) for line in lines if line.level]
        for index, (line, level) in enumerate(levels):
            axes.axhline(level.value or 0.0, **_level_style(line, index))
        ticks = sorted({x for line in curves for x in line.numbers})
        axes.set_xscale("log", base=2)
        axes.set_xticks([x or TEXT_ONLY_POSITION for x in ticks], [str(x) if x else "0\n(text)" for x in ticks])
        axes.minorticks_off()
        axes.set(title=title, xlabel="frames")
    axes_row[0].set_ylabel(axis)


# Radars


def draw_radars(canvas: Canvas, panels: Sequence[Panel], top: float) -> None:
    """Draw a radar chart per panel, with an axis for each tick and a closed line for each series.

    A missing number leaves a gap in a line. The rim of all panels is `top`, or the largest number if that is larger.
    """
    largest = max((number.value or 0.0 for number in collect_numbers(panels)), default=0.0)
    # A larger number is rounded up to halves, because ratings have small scales.
    rim = max(top, math.ceil(2 * largest) / 2)
    for position, panel in enumerate(panels, start=1):
        axes = canvas.body.add_subplot(len(panels), 1, position, projection="polar")
        angles = [2 * math.pi * index / len(panel.ticks) for index in range(len(panel.ticks))]
        for index, numbers in enumerate(panel.series.values()):
            values = [numbers[tick].value if tick in numbers else math.nan for tick in panel.ticks]
            marker_style = {"markerfacecolor": "white"} if any(map(is_published, numbers.values())) else {}
            axes.plot([*angles, angles[0]], [*values, values[0]], **line_style(index), **marker_style)
        axes.set_xticks(angles, [wrap_label(tick, 26) for tick in panel.ticks], fontsize=TEXT_SIZE - 1)
        axes.set(theta_offset=math.pi / 2, theta_direction=-1)
        axes.tick_params(axis="x", pad=7)
        for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
            x_direction, y_direction = math.sin(angle), math.cos(angle)
            # Labels grow away from the circle, because a second line would overlap the label of the next axis.
            horizontal_side = "left" if x_direction > 0 else "right"
            vertical_side = "bottom" if y_direction > 0 else "top"
            label.set_horizontalalignment(horizontal_side if abs(x_direction) >= 0.1 else "center")
            label.set_verticalalignment(vertical_side if abs(y_direction) >= 0.5 else "center")
        axes.set_ylim(0, rim)
        axes.tick_params(axis="y", labelsize=TEXT_SIZE - 1.5, labelcolor=FAINT_COLOUR)
        axes.set_title(panel.title, pad=14)
