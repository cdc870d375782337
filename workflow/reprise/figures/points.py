"""Draw the numbers of tables as points with intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from matplotlib.axes import Axes

from reprise.core.notation import EN_DASH
from reprise.figures.canvas import (
    CHARACTER_WIDTH,
    FAINT_COLOUR,
    GRID_COLOUR,
    LINE_HEIGHT,
    TEXT_SIZE,
    Canvas,
    count_columns,
    wrap_label,
)
from reprise.figures.chart import Panel, collect_numbers
from reprise.figures.series import LegendEntries, SeriesStyle, explain_hollow_markers, is_published, style_series
from reprise.figures.styles import ModelStyle
from reprise.tables.render.table import TableNumber

LABEL_SHARE = 0.32  # largest share of the figure's width that the labels of ticks take
PANEL_WIDTH, PANEL_HEAD = 0.8, 0.42  # inches: smallest width of a panel, and its height without title and points
TICK_HEIGHT, POINT_HEIGHT, TICK_GAP = (
    0.17,
    0.105,
    0.07,
)  # inches: of a tick, of a point, and between the points of two ticks
MAX_HEIGHT = 7.2  # inches of all points; if there are more, the points of a tick move closer together
POINT_SIZE, PUBLISHED_SIZE = 3.6, 5.0  # points of font size; a published number is a ring around ours if they are equal


def has_model_series(panels: Sequence[Panel]) -> bool:
    """Return whether the series are models; otherwise the ticks are, and each series has a panel."""
    return any(label in panel.models for panel in panels for label in panel.series)


def split_series(panel: Panel) -> list[Panel]:
    """Return a panel for each series, whose ticks are models, so that the labels of the ticks name the models."""
    return [Panel(label, panel.ticks, {label: numbers}, panel.models) for label, numbers in panel.series.items()]


def build_legend(panels: Sequence[Panel], styles: Mapping[str, ModelStyle]) -> LegendEntries:
    """Return an entry for each model that is a series, and one for hollow markers."""
    entries: LegendEntries = []
    if has_model_series(panels):
        series_styles = style_series(list_series(panels), panels[0].models, styles)
        entries = [(style.build_legend_symbol(has_line=False), label) for label, style in series_styles.items()]
    return [*entries, *explain_hollow_markers(collect_numbers(panels))]


def list_series(panels: Sequence[Panel]) -> list[str]:
    """Return the labels of all series of the panels."""
    return list(dict.fromkeys(label for panel in panels for label in panel.series))


class Layout:
    """Heights of the ticks of a panel, and offsets of the points of a tick from its centre, in inches.

    Labels wider than `label_width` are wrapped.
    """

    def __init__(self, ticks: Sequence[str], point_count: int, point_height: float, label_width: float) -> None:
        characters = int(label_width / (TEXT_SIZE * CHARACTER_WIDTH))
        self.labels = [wrap_label(tick, characters) for tick in ticks]
        line_height = TEXT_SIZE * LINE_HEIGHT
        text_heights = [label.count("\n") * line_height + TICK_HEIGHT for label in self.labels]
        heights = [max(height, point_height * point_count + TICK_GAP) for height in text_heights]
        self.edges = [sum(heights[:index]) for index in range(len(heights) + 1)]
        self.centres = [(start + end) / 2 for start, end in zip(self.edges, self.edges[1:], strict=False)]
        self.offsets = [(index - (point_count - 1) / 2) * point_height for index in range(point_count)]

    @property
    def height(self) -> float:
        return self.edges[-1]

    @property
    def label_width(self) -> float:
        longest = max((len(line) for label in self.labels for line in label.split("\n")), default=0)
        return longest * TEXT_SIZE * CHARACTER_WIDTH


def _arrange(panels: Sequence[Panel], width: float) -> list[Layout]:
    """Return the layout of each panel: side by side with the same ticks, or with the series of models as points."""
    count = len(list_series(panels)) if has_model_series(panels) else 1
    ticks = sum(len(panel.ticks) for panel in panels) if has_model_series(panels) else 0
    point_height = min(POINT_HEIGHT, MAX_HEIGHT / max(1, ticks * count))
    return [Layout(panel.ticks, count, point_height, LABEL_SHARE * width) for panel in panels]


def _count_columns(panels: Sequence[Panel], layouts: Sequence[Layout], width: float) -> int:
    """Return the number of panels side by side; those with models as series are below each other."""
    return 1 if has_model_series(panels) else count_columns(len(panels), width - layouts[0].label_width, PANEL_WIDTH)


def _wrap_titles(panels: Sequence[Panel], layouts: Sequence[Layout], width: float) -> list[str]:
    """Return the titles of the panels on lines as wide as a panel."""
    panel_width = (width - layouts[0].label_width) / _count_columns(panels, layouts, width)
    characters = max(8, int(panel_width / (TEXT_SIZE * CHARACTER_WIDTH)))
    return [wrap_label(panel.title, characters) if panel.title else "" for panel in panels]


def _compute_row_heights(panels: Sequence[Panel], layouts: Sequence[Layout], width: float) -> list[float]:
    """Return the height in inches of each row of panels."""
    title_lines = max(title.count("\n") + 1 if title else 0 for title in _wrap_titles(panels, layouts, width))
    head = PANEL_HEAD + title_lines * TEXT_SIZE * LINE_HEIGHT
    return [layout.height + head for layout in layouts[:: _count_columns(panels, layouts, width)]]


def compute_height(panels: Sequence[Panel], width: float) -> float:
    """Return the height of all panels in inches."""
    return sum(_compute_row_heights(panels, _arrange(panels, width), width)) if panels else 0.0


def draw_points(canvas: Canvas, panels: Sequence[Panel], styles: Mapping[str, ModelStyle], axis: str) -> None:
    """Draw horizontal dot plots: each number as a point with its interval, and `–` for a missing number.

    If the series are models, their points are below each other at each tick. Otherwise the ticks are models.
    """
    if not panels:
        return
    layouts = _arrange(panels, canvas.width)
    columns = _count_columns(panels, layouts, canvas.width)
    rows = math.ceil(len(panels) / columns)
    heights, titles = _compute_row_heights(panels, layouts, canvas.width), _wrap_titles(panels, layouts, canvas.width)
    grid = canvas.body.subplots(
        rows, columns, squeeze=False, sharex=True, sharey="row", height_ratios=heights
    ).flatten()  # fmt: skip
    for axes in grid[len(panels) :]:
        axes.remove()
    is_by_series = has_model_series(panels)
    labels = list_series(panels)
    label_styles = style_series(labels if is_by_series else panels[0].ticks, panels[0].models, styles)
    if not is_by_series:  # The labels of the ticks distinguish several results of one model.
        label_styles = {label: replace(style, variant=0) for label, style in label_styles.items()}
    for index, (axes, panel, layout) in enumerate(zip(grid, panels, layouts, strict=False)):
        for number, label in enumerate(labels if is_by_series else panel.series):
            for centre, tick in zip(layout.centres, panel.ticks, strict=True):
                style = label_styles[label if is_by_series else tick]
                offset = layout.offsets[number] if is_by_series else 0.0
                _draw_point(axes, panel.series[label].get(tick, TableNumber(None)), centre + offset, style)
        _finish(axes, panel, layout, is_by_series=is_by_series)
        axes.tick_params(axis="x", labelbottom=index + columns >= len(panels))
        axes.tick_params(axis="y", labelleft=index % columns == 0)
        axes.set_title(titles[index])
    numbers = collect_numbers(panels)
    low = min([0.0, *(number.interval[0] if number.interval else number.value or 0.0 for number in numbers)])
    high = max([number.interval[1] if number.interval else number.value or 0.0 for number in numbers], default=0.0)
    margin = 0.04 * ((high - low) or 1.0)
    grid[0].set_xlim(low - margin, high + margin)
    canvas.body.supxlabel(axis, fontsize=TEXT_SIZE)


def _draw_point(axes: Axes, number: TableNumber, y: float, style: SeriesStyle) -> None:
    """Draw a number with its interval, and the published number beside it."""
    if number.value is None:
        axes.text(0, y, EN_DASH, ha="center", va="center", fontsize=TEXT_SIZE - 1, color=FAINT_COLOUR)
        return
    if number.interval:
        axes.plot(number.interval, [y, y], color=style.model_style.colour, linewidth=0.9, zorder=2)
    if number.published is not None:
        ring = style.style_marker(is_published=True)
        axes.plot([number.published], [y], markersize=PUBLISHED_SIZE, zorder=3, **ring)
    marker = style.style_marker(is_published=is_published(number))
    axes.plot([number.value], [y], markersize=POINT_SIZE, zorder=4, **marker)


def _finish(axes: Axes, panel: Panel, layout: Layout, *, is_by_series: bool) -> None:
    """Set the ticks, the limits and the grid of a panel."""
    axes.set_yticks(layout.centres, layout.labels)
    axes.set_ylim(layout.height, 0)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="y", visible=not is_by_series and len(panel.ticks) > 1)
    for edge in layout.edges[1:-1] if is_by_series else ():
        axes.axhline(edge, color=GRID_COLOUR, linewidth=0.5, zorder=0.5)
