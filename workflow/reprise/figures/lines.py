"""Draw the numbers of tables as lines over columns that have an order, or over numbers of frames."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reprise.figures.canvas import (
    CHARACTER_WIDTH,
    FAINT_COLOUR,
    SMALL_SIZE,
    Canvas,
    count_columns,
    wrap_label,
)
from reprise.figures.chart import LineSeries, Panel, collect_numbers
from reprise.figures.points import list_series
from reprise.figures.series import (
    LegendEntries,
    SeriesStyle,
    explain_hollow_markers,
    get_variant,
    is_published,
    style_series,
)
from reprise.figures.styles import ModelStyle
from reprise.tables.render.table import TableNumber

PANEL_WIDTH, PANEL_HEIGHT = 2.5, 2.1  # inches: smallest width of a panel, and its height
AXIS_WIDTH = 0.45  # inches of the vertical axis with its labels
TEXT_ONLY_POSITION = 0.5  # position of zero frames on a logarithmic axis
COLUMNS_SPREAD, FRAMES_SPREAD = 0.36, 0.3  # distance of the marks at one tick, in ticks and in doublings of frames
CHANCE_STYLE = {"color": FAINT_COLOUR, "linestyle": (0, (1, 1)), "linewidth": 1.0}


def compute_height(panel_count: int, width: float) -> float:
    """Return the height of all panels in inches."""
    columns = count_columns(panel_count, width, PANEL_WIDTH)
    return math.ceil(panel_count / columns) * PANEL_HEIGHT if panel_count else 0.0


def _create_axes(canvas: Canvas, count: int, axis: str) -> list[Axes]:
    """Return axes for this number of panels; the panels of a row share the vertical axis, whose label is `axis`."""
    columns = count_columns(count, canvas.width, PANEL_WIDTH)
    grid = canvas.body.subplots(math.ceil(count / columns), columns, squeeze=False, sharey=True).flatten()
    for axes in grid[count:]:
        axes.remove()
    canvas.body.supylabel(axis, fontsize=grid[0].yaxis.label.get_fontsize())
    return list(grid[:count])


# Lines over columns


def build_legend(panels: Sequence[Panel], styles: Mapping[str, ModelStyle]) -> LegendEntries:
    """Return an entry for each series, and one for hollow markers."""
    series_styles = (
        style_series(list_series(panels), panels[0].models, panels[0].frame_counts, styles) if panels else {}
    )
    entries: LegendEntries = [
        (style.build_legend_symbol(has_line=True), label) for label, style in series_styles.items()
    ]
    return [*entries, *explain_hollow_markers(collect_numbers(panels))]


def draw_lines(canvas: Canvas, panels: Sequence[Panel], styles: Mapping[str, ModelStyle], axis: str) -> None:
    """Draw a line for each series over the ticks of each panel."""
    if not panels:
        return
    axes_list = _create_axes(canvas, len(panels), axis)
    series_styles = style_series(list_series(panels), panels[0].models, panels[0].frame_counts, styles)
    panel_width = canvas.width / count_columns(len(panels), canvas.width, PANEL_WIDTH) - AXIS_WIDTH
    for axes, panel in zip(axes_list, panels, strict=True):
        shifts = _list_shifts(len(panel.series), COLUMNS_SPREAD)
        for (label, numbers), shift in zip(panel.series.items(), shifts, strict=True):
            points = {x + shift: numbers.get(tick, TableNumber(None)) for x, tick in enumerate(panel.ticks)}
            _draw_line(axes, points, series_styles[label])
        _label_ticks(axes, panel.ticks, panel_width)
        axes.set(xlim=(-0.4, len(panel.ticks) - 0.6), title=panel.title)


def _label_ticks(axes: Axes, ticks: Sequence[str], width: float) -> None:
    """Label the ticks of a panel of this width; the labels are slanted if a word is wider than a tick."""
    characters = int(width / max(1, len(ticks)) / (SMALL_SIZE * CHARACTER_WIDTH))
    if max(len(word) for tick in ticks for word in tick.split() or [""]) < characters:
        axes.set_xticks(range(len(ticks)), [wrap_label(tick, characters - 1) for tick in ticks], fontsize=SMALL_SIZE)
    else:
        slanted: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor", "fontsize": SMALL_SIZE}
        axes.set_xticks(range(len(ticks)), [wrap_label(tick, 18) for tick in ticks], **slanted)


def _list_shifts(count: int, spread: float) -> list[float]:
    """Return how far the marks of each series are shifted sideways, so that their intervals do not cover each other."""
    return [spread * (index - (count - 1) / 2) / max(1, count - 1) for index in range(count)]


def _draw_line(
    axes: Axes, numbers: Mapping[float, TableNumber], style: SeriesStyle, fills: Mapping[float, int] | None = None
) -> None:
    """Draw numbers by position with their intervals, joined by a line that stops at a missing number.

    `fills` maps positions to the fills of their markers, if these differ along the line.
    """
    points = dict(sorted(numbers.items()))
    values = [math.nan if number.value is None else number.value for number in points.values()]
    axes.plot(list(points), values, **style.style_line())
    for x, number in points.items():
        if number.value is None:
            continue
        if number.interval:
            axes.plot([x, x], number.interval, color=style.model_style.colour, linewidth=0.8)
        marker = replace(style, fill=fills[x]) if fills else style
        axes.plot([x], [number.value], zorder=3, **marker.style_marker(is_published=is_published(number)))


# Lines over numbers of frames


def _style_frame_lines(
    panels: Sequence[tuple[str, Sequence[LineSeries]]], styles: Mapping[str, ModelStyle]
) -> dict[str, SeriesStyle]:
    """Return the style of each line of any panel, except chance."""
    lines = {line.label: line.model for _, panel_lines in panels for line in panel_lines if not line.is_chance}
    return style_series(lines, {label: model for label, model in lines.items() if model}, {}, styles)


def build_frames_legend(
    panels: Sequence[tuple[str, Sequence[LineSeries]]], styles: Mapping[str, ModelStyle]
) -> LegendEntries:
    """Return entries for the lines of all panels, and for horizontal lines such as chance and human annotators."""
    line_styles = _style_frame_lines(panels, styles)
    entries: dict[str, Line2D] = {}
    for _, lines in panels:
        for line in lines:
            if line.is_chance:
                entries[line.label] = Line2D([], [], **CHANCE_STYLE)
            else:
                style = line_styles[line.label]
                entries[line.label] = style.build_legend_symbol(has_line=True, has_marker=bool(line.numbers))
    numbers = [number for _, lines in panels for line in lines for number in line.list_available_numbers()]
    return [*((symbol, label) for label, symbol in entries.items()), *explain_hollow_markers(numbers)]


def draw_frames(
    canvas: Canvas,
    panels: Sequence[tuple[str, Sequence[LineSeries]]],
    styles: Mapping[str, ModelStyle],
    axis: str,
) -> None:
    """Draw lines over numbers of frames on a logarithmic axis, on which `0` is the text-only baseline.

    A single panel has no title.
    """
    if not panels:
        return
    line_styles = _style_frame_lines(panels, styles)
    for axes, (title, lines) in zip(_create_axes(canvas, len(panels), axis), panels, strict=True):
        for line, shift in zip(lines, _list_shifts(len(lines), FRAMES_SPREAD), strict=True):
            if line.level:
                level_style = CHANCE_STYLE if line.is_chance else line_styles[line.label].style_line()
                axes.axhline(line.level.value or 0.0, **level_style)
            else:
                numbers = {x: number for x, number in line.numbers.items() if number.value is not None}
                positions = {x: (x or TEXT_ONLY_POSITION) * 2**shift for x in numbers}
                style = line_styles[line.label]
                # The fill of a mark shows its number of frames, as in other figures.
                fills = {} if style.fill else {positions[x]: get_variant(x) for x in numbers}
                _draw_line(axes, {positions[x]: number for x, number in numbers.items()}, style, fills)
        ticks = sorted({x for line in lines for x in line.numbers})
        axes.set_xscale("log", base=2)
        axes.set_xticks([x or TEXT_ONLY_POSITION for x in ticks], [str(x) if x else "0\n(text)" for x in ticks])
        axes.minorticks_off()
        axes.set(title=title if panels[1:] else "", xlabel="frames")
