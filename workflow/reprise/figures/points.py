"""Draw the numbers of tables as points with intervals."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from matplotlib.axes import Axes

from reprise.core.notation import EN_DASH
from reprise.figures.canvas import (
    CHARACTER_WIDTH,
    FAINT_COLOUR,
    GRID_COLOUR,
    LINE_HEIGHT,
    SMALLEST_SIZE,
    TEXT_SIZE,
    Canvas,
    count_columns,
    wrap_label,
)
from reprise.figures.chart import Panel, collect_numbers
from reprise.figures.series import (
    LegendEntries,
    SeriesStyle,
    explain_hollow_markers,
    is_published,
    style_labels,
    style_series,
)
from reprise.figures.styles import ModelStyle
from reprise.tables.render.table import TableNumber

LABEL_SHARE = 0.32  # largest share of the figure's width that the labels of ticks take
PANEL_WIDTH, PANEL_HEAD = 0.8, 0.42  # inches: smallest width of a panel, and its height without title and points
LABEL_SHARE_BY_SERIES = 0.4  # the same for panels whose series are models
FOLDED_WIDTH = 2.6  # inches: smallest width of each half of a panel with many ticks
TICK_GAP = 0.07  # inches between the points of two ticks
TICK_HEIGHT_RATIO = 0.0227  # height of a tick in inches per point of font size
# Heights of a point in inches, from which the largest is taken that fits on a page.
POINT_HEIGHTS = (0.105, 0.085, 0.065, 0.05, 0.0375, 0.03)
POINT_SIZE, PUBLISHED_SIZE = 3.6, 5.0  # points of font size; a published number is a ring around ours if they are equal


def has_model_series(panels: Sequence[Panel]) -> bool:
    """Return whether the series are models; otherwise the ticks are, and each series has a panel."""
    return any(label in panel.models for panel in panels for label in panel.series)


def split_series(panel: Panel) -> list[Panel]:
    """Return a panel for each series, whose ticks are models, so that the labels of the ticks name the models."""
    return [replace(panel, title=label, series={label: numbers}) for label, numbers in panel.series.items()]


def build_legend(panels: Sequence[Panel], styles: Mapping[str, ModelStyle]) -> LegendEntries:
    """Return an entry for each model that is a series, and one for hollow markers."""
    entries: LegendEntries = []
    if has_model_series(panels):
        series_styles = style_series(list_series(panels), panels[0].models, panels[0].frame_counts, styles)
        entries = [(style.build_legend_symbol(has_line=False), label) for label, style in series_styles.items()]
    return [*entries, *explain_hollow_markers(collect_numbers(panels))]


def list_series(panels: Sequence[Panel]) -> list[str]:
    """Return the labels of all series of the panels."""
    return list(dict.fromkeys(label for panel in panels for label in panel.series))


class Layout:
    """Heights of the ticks of a panel, and offsets of the points of a tick from its centre, in inches.

    Labels wider than `label_width` are wrapped.
    """

    def __init__(
        self,
        ticks: Sequence[str],
        point_count: int,
        point_height: float,
        label_width: float,
        text_size: float = TEXT_SIZE,
    ) -> None:
        characters = int(label_width / (text_size * CHARACTER_WIDTH))
        self.text_size = text_size
        self.point_height = point_height
        self.labels = [wrap_label(tick, characters) for tick in ticks]
        text_heights = [text_size * (label.count("\n") * LINE_HEIGHT + TICK_HEIGHT_RATIO) for label in self.labels]
        points_height = point_height * point_count + min(TICK_GAP, 0.7 * point_height)
        heights = [max(height, points_height) for height in text_heights]
        self.edges = [sum(heights[:index]) for index in range(len(heights) + 1)]
        self.centres = [(start + end) / 2 for start, end in zip(self.edges, self.edges[1:], strict=False)]
        self.offsets = [(index - (point_count - 1) / 2) * point_height for index in range(point_count)]

    @property
    def height(self) -> float:
        return self.edges[-1]

    @property
    def label_width(self) -> float:
        longest = max((len(line) for label in self.labels for line in label.split("\n")), default=0)
        return longest * self.text_size * CHARACTER_WIDTH


@dataclass(frozen=True)
class PointGrid:
    """Panels of points in rows and columns."""

    panels: Sequence[Panel]
    layouts: Sequence[Layout]
    columns: int
    width: float
    """width of all panels in inches"""
    is_by_series: bool
    """whether the series are models; otherwise the ticks are, and the panels of a row share their labels"""

    @property
    def titles(self) -> list[str]:
        """Return the titles of the panels on lines as wide as a panel."""
        label_width = 0.0 if self.is_by_series else self.layouts[0].label_width
        panel_width = (self.width - label_width) / self.columns
        characters = max(8, int(panel_width / (TEXT_SIZE * CHARACTER_WIDTH)))
        return [wrap_label(panel.title, characters) if panel.title else "" for panel in self.panels]

    @property
    def row_heights(self) -> list[float]:
        """Return the height in inches of each row of panels."""
        title_lines = max(title.count("\n") + 1 if title else 0 for title in self.titles)
        head = PANEL_HEAD + title_lines * TEXT_SIZE * LINE_HEIGHT
        starts = range(0, len(self.layouts), self.columns)
        return [max(layout.height for layout in self.layouts[start : start + self.columns]) + head for start in starts]

    @property
    def height(self) -> float:
        return sum(self.row_heights)


def arrange(panels: Sequence[Panel], width: float, limit: float) -> PointGrid | None:
    """Arrange the panels; None if there are none.

    If the series are models, the panels are below each other. If they are higher than `limit`, each is folded into two
    columns where the width suffices, and the points of a tick move closer together.
    """
    if not panels:
        return None
    if not has_model_series(panels):
        layouts = [Layout(panel.ticks, 1, POINT_HEIGHTS[0], LABEL_SHARE * width) for panel in panels]
        columns = count_columns(len(panels), width - layouts[0].label_width, PANEL_WIDTH)
        return PointGrid(panels, layouts, columns, width, is_by_series=False)
    grids = _iter_grids(panels, width)
    grid = next(grids)
    while grid.height > limit and (smaller_grid := next(grids, None)):
        grid = smaller_grid
    return grid


def _iter_grids(panels: Sequence[Panel], width: float) -> Iterator[PointGrid]:
    """Yield arrangements of panels whose series are models, those that are easier to read first."""
    count = len(list_series(panels))
    for point_height, text_size in product(POINT_HEIGHTS, (TEXT_SIZE, SMALLEST_SIZE)):
        for columns in range(1, max(1, int(width / FOLDED_WIDTH)) + 1):
            parts = [part for panel in panels for part in _fold(panel, columns)]
            label_width = LABEL_SHARE_BY_SERIES * width / columns
            layouts = [Layout(part.ticks, count, point_height, label_width, text_size) for part in parts]
            yield PointGrid(parts, layouts, columns, width, is_by_series=True)


def _fold(panel: Panel, columns: int) -> list[Panel]:
    """Return the panel in parts with equal numbers of ticks, one for each column; the last ones can be empty."""
    size = math.ceil(len(panel.ticks) / columns)
    return [replace(panel, ticks=panel.ticks[start * size : (start + 1) * size]) for start in range(columns)]


def draw_points(canvas: Canvas, grid: PointGrid | None, styles: Mapping[str, ModelStyle], axis: str) -> None:
    """Draw horizontal dot plots: each number as a point with its interval, and `–` for a missing number.

    If the series are models, their points are below each other at each tick. Otherwise the ticks are models.
    """
    if grid is None:
        return
    panels, columns, heights = grid.panels, grid.columns, grid.row_heights
    sharey = False if grid.is_by_series else "row"
    all_axes = canvas.body.subplots(
        len(heights), columns, squeeze=False, sharex=True, sharey=sharey, height_ratios=heights
    ).flatten()
    labels = list_series(panels)
    # The labels of ticks distinguish several results of one model.
    assign_style = style_series if grid.is_by_series else style_labels
    label_names = labels if grid.is_by_series else panels[0].ticks
    label_styles = assign_style(label_names, panels[0].models, panels[0].frame_counts, styles)
    for index, (axes, panel, layout) in enumerate(zip(all_axes, panels, grid.layouts, strict=False)):
        for number, label in enumerate(labels if grid.is_by_series else panel.series):
            for centre, tick in zip(layout.centres, panel.ticks, strict=True):
                style = label_styles[label if grid.is_by_series else tick]
                y = centre + (layout.offsets[number] if grid.is_by_series else 0.0)
                _draw_point(axes, panel.series[label].get(tick, TableNumber(None)), y, style, layout.point_height)
        _finish(axes, panel, layout, is_by_series=grid.is_by_series)
        if grid.is_by_series:  # All parts of a folded panel have the same scale.
            row = index - index % columns
            axes.set_ylim(max(part.height for part in grid.layouts[row : row + columns]), 0)
        axes.tick_params(axis="x", labelbottom=index + columns >= len(panels))
        axes.tick_params(axis="y", labelleft=grid.is_by_series or index % columns == 0)
        axes.set_title(grid.titles[index])
    for index, axes in enumerate(all_axes):
        if index >= len(panels) or not panels[index].ticks:
            axes.remove()
    numbers = collect_numbers(panels)
    low = min([0.0, *(number.interval[0] if number.interval else number.value or 0.0 for number in numbers)])
    high = max([number.interval[1] if number.interval else number.value or 0.0 for number in numbers], default=0.0)
    margin = 0.04 * ((high - low) or 1.0)
    all_axes[0].set_xlim(low - margin, high + margin)
    canvas.body.supxlabel(axis, fontsize=TEXT_SIZE)


def _draw_point(axes: Axes, number: TableNumber, y: float, style: SeriesStyle, height: float) -> None:
    """Draw a number with its interval, and the published number beside it; a mark is at most as high as `height`."""
    scale = min(1.0, height * 72 / POINT_SIZE)
    if number.value is None:
        axes.text(0, y, EN_DASH, ha="center", va="center", fontsize=TEXT_SIZE - 1, color=FAINT_COLOUR)
        return
    if number.interval:
        axes.plot(number.interval, [y, y], color=style.model_style.colour, linewidth=0.9, zorder=2)
    if number.published is not None:
        ring = style.style_marker(is_published=True)
        axes.plot([number.published], [y], markersize=scale * PUBLISHED_SIZE, zorder=3, **ring)
    marker = style.style_marker(is_published=is_published(number))
    axes.plot([number.value], [y], markersize=scale * POINT_SIZE, zorder=4, **marker)


def _finish(axes: Axes, panel: Panel, layout: Layout, *, is_by_series: bool) -> None:
    """Set the ticks, the limits and the grid of a panel."""
    axes.set_yticks(layout.centres, layout.labels, fontsize=layout.text_size)
    axes.set_ylim(layout.height, 0)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="y", visible=not is_by_series and len(panel.ticks) > 1)
    for edge in layout.edges[1:-1] if is_by_series else ():
        axes.axhline(edge, color=GRID_COLOUR, linewidth=0.5, zorder=0.5)
