"""Draw scatter plots of items by the scores of the right and the wrong caption, with the regions of the metrics."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from reprise.benchmarks.annotations import group_by_key, select_items
from reprise.benchmarks.scoring import filter_group
from reprise.config.figures import Scatter
from reprise.figures.canvas import (
    CLASSIC_REGION_COLOUR,
    COUNT_COLOUR,
    FAINT_COLOUR,
    SMALL_SIZE,
    SMALLEST_SIZE,
    STRICT_REGION_COLOUR,
    Canvas,
    count_columns,
)
from reprise.figures.chart import ChartRow
from reprise.figures.series import WITHOUT_MODEL, SeriesStyle
from reprise.figures.styles import OUTCOME_COLOURS
from reprise.tables.builder import TableBuilder

STRICT, CLASSIC, WRONG, UNSCORED = "strict", "classic only", "wrong", "no score"
# Region -> marker and colour.
REGION_STYLES = {STRICT: ("o", COUNT_COLOUR), CLASSIC: ("^", OUTCOME_COLOURS[0]), WRONG: ("x", OUTCOME_COLOURS[1])}
REGION_LABELS = {
    STRICT: "strict: Yes to the right caption, No to the wrong one",
    CLASSIC: "classic only: the right caption scores higher",
    WRONG: "wrong: the wrong caption scores at least as high",
}
# Inches: width of a panel if there is enough height, smallest width for its title, and heights of the titles.
PANEL_WIDTH, SMALLEST_PANEL_WIDTH, PANEL_HEAD, ROW_HEAD = 0.64, 0.33, 0.32, 0.22
AXIS_WIDTH, AXIS_LABEL_HEIGHT, TICK_LABEL_HEIGHT = 0.35, 0.15, 0.08
PANEL_GAP = 0.03  # half the distance of two panels in inches
SMALLEST_SIDE = 0.3  # inches: smallest height of a panel without its title
ASPECT = 0.9  # height of a panel / width of a panel with its margins
# Columns of a point cloud: `across` is the score of the right caption, `up` that of the wrong one.
POINT_COLUMNS = {"item_id": pl.String, "across": pl.Float64, "up": pl.Float64, "region": pl.String}
SCATTER_SCHEMA = pl.Schema(
    [
        *((name, pl.String) for name in ("suite", "figure", "row", "run", "group")),
        *POINT_COLUMNS.items(),
        ("key", pl.String),
    ]
)


@dataclass(frozen=True)
class PointCloud:
    """The points of a group's items for one run, which are one panel."""

    row: str
    group: str
    title: str
    run: str
    points: pl.DataFrame  # item_id, across, up, region
    empty_reason: str = ""  # why no point is drawn; empty if there are points


def build_clouds(
    spec: Scatter,
    builder: TableBuilder,
    chart_rows: Sequence[ChartRow],
    items: pl.DataFrame,
    verdicts_by_run: Mapping[str, pl.DataFrame],
) -> Iterator[PointCloud]:
    for chart_row in chart_rows:
        for column, _ in chart_row.cells:
            scored_run = builder.find_scored_run(chart_row.row, column)
            group, run = chart_row.row.group or column.group or "", scored_run.name if scored_run else ""
            if run in verdicts_by_run:
                selected_items = select_items(filter_group(items, group, builder.benchmark.GROUPS), spec.items)
                points = compute_points(spec, selected_items, verdicts_by_run[run])
                empty_reason = _find_empty_reason(spec, selected_items, points)
                yield PointCloud(chart_row.label, group, column.title, run, points, empty_reason)
            else:
                no_points = pl.DataFrame(schema=POINT_COLUMNS)
                yield PointCloud(chart_row.label, group, column.title, "", no_points, "not run here")


def compute_points(spec: Scatter, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the items with both scores and their region, which follows from the metrics."""
    scores_by_item = items.select("item_id")
    for name, role in (("across", spec.across), ("up", spec.up)):
        scores = verdicts.filter(role=role).select(
            "item_id", pl.col("score").alias(name), pl.col("right").alias(f"{name}_right")
        )
        scores_by_item = scores_by_item.join(scores, on="item_id", how="inner", maintain_order="left")
    has_scores = pl.all_horizontal(pl.col(name).is_not_null() & pl.col(name).is_finite() for name in ("across", "up"))
    region = (
        pl.when(~has_scores).then(pl.lit(UNSCORED))
        .when(pl.all_horizontal("across_right", "up_right")).then(pl.lit(STRICT))
        .when(pl.col("across") > pl.col("up")).then(pl.lit(CLASSIC))
        .otherwise(pl.lit(WRONG))
    )  # fmt: skip
    return scores_by_item.with_columns(region=region.fill_null(UNSCORED)).select(POINT_COLUMNS.keys())


def _find_empty_reason(spec: Scatter, items: pl.DataFrame, points: pl.DataFrame) -> str:
    """Return why no point of a panel can be drawn; empty if there are points."""
    if (points["region"] != UNSCORED).any():
        return ""
    if items.is_empty() and spec.items:
        return f"none of the {spec.items}"
    return "no requests" if points.is_empty() else "answers without scores"


def build_legend() -> list[tuple[Artist, str]]:
    """Return an entry of the legend for each region."""
    return [
        (Line2D([], [], linestyle="", marker=marker, color=colour), REGION_LABELS[region])
        for region, (marker, colour) in REGION_STYLES.items()
    ]


def iter_gap_notes(clouds: Sequence[PointCloud]) -> Iterator[str]:
    """Yield notes that name the panels without points, by row and reason."""
    for row, row_clouds in group_by_key(clouds, lambda cloud: cloud.row).items():
        for reason, empty_clouds in group_by_key(row_clouds, lambda cloud: cloud.empty_reason).items():
            if reason:
                titles = ", ".join(cloud.title for cloud in empty_clouds)
                yield f"No panel: {row}{'' if len(empty_clouds) == len(row_clouds) else f', {titles}'} ({reason})."


@dataclass(frozen=True)
class CloudGrid:
    """A block of panels for each row, all with the same number of columns."""

    clouds_by_row: Mapping[str, Sequence[PointCloud]]
    columns: int
    side: float
    """height of a panel without its title in inches"""

    @property
    def row_counts(self) -> list[int]:
        """Return the number of rows of panels of each block."""
        return [math.ceil(len(clouds) / self.columns) for clouds in self.clouds_by_row.values()]

    @property
    def block_heights(self) -> list[float]:
        """Return the height in inches of each block."""
        heights = [row_count * (self.side + PANEL_HEAD) + ROW_HEAD for row_count in self.row_counts]
        return [*heights[:-1], *(height + TICK_LABEL_HEIGHT for height in heights[-1:])]

    @property
    def height(self) -> float:
        return sum(self.block_heights) + AXIS_LABEL_HEIGHT


def arrange(clouds: Sequence[PointCloud], panels_per_row: int, width: float, limit: float) -> CloudGrid:
    """Arrange the panels; if they are higher than `limit`, panels are smaller and more of them stand side by side."""
    clouds_by_row = group_by_key(clouds, lambda cloud: cloud.row)
    most = max(map(len, clouds_by_row.values()), default=1)
    panel_width = max(PANEL_WIDTH, (width - AXIS_WIDTH) / panels_per_row - 1e-9)
    columns = count_columns(most, width - AXIS_WIDTH, panel_width)
    largest_count = max(columns, min(most, int((width - AXIS_WIDTH) / SMALLEST_PANEL_WIDTH)))
    row_counts = range(math.ceil(most / columns), math.ceil(most / largest_count) - 1, -1)
    counts = [math.ceil(most / rows) for rows in row_counts]
    grids = [CloudGrid(clouds_by_row, count, (width - AXIS_WIDTH) / count * ASPECT) for count in counts]
    if fitting_grid := next((grid for grid in grids if grid.height <= limit), None):
        return fitting_grid
    excess = (grids[-1].height - limit) / sum(grids[-1].row_counts)
    return replace(grids[-1], side=max(SMALLEST_SIDE, grids[-1].side - excess))


def draw_scatter(canvas: Canvas, grid: CloudGrid, style_by_row: Mapping[str, SeriesStyle]) -> None:
    """Draw a block of panels for each row; the title of a panel has the number of points in each region."""
    heights = grid.block_heights
    if not heights:
        return
    canvas.figure.get_layout_engine().set(w_pad=PANEL_GAP)
    blocks = canvas.body.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for block, (row, clouds) in zip(blocks, grid.clouds_by_row.items(), strict=True):
        symbol = style_by_row.get(row, SeriesStyle(WITHOUT_MODEL)).build_legend_symbol(has_line=False)
        bold = {"size": SMALL_SIZE + 1, "weight": "bold"}
        block.legend([symbol], [row], loc="outside upper center", prop=bold, borderaxespad=0.0, handletextpad=0.2)
        block_rows = math.ceil(len(clouds) / grid.columns)
        all_axes = block.subplots(block_rows, grid.columns, squeeze=False, sharex=True, sharey=True).flatten()
        for axes, cloud in zip(all_axes, clouds, strict=False):
            _draw_cloud(axes, cloud)
        for index, axes in enumerate(all_axes):
            if index >= len(clouds):
                axes.set_visible(False)
            # The panels above the last row have the same scale.
            axes.tick_params(axis="y", left=index % grid.columns == 0)
            axes.tick_params(axis="x", labelbottom=block is blocks[-1] and index + grid.columns >= len(clouds))
    canvas.body.supylabel("score of the wrong caption", fontsize=SMALL_SIZE)
    canvas.body.supxlabel("score of the right caption", fontsize=SMALL_SIZE)


def _draw_cloud(axes: Axes, cloud: PointCloud) -> None:
    """Draw a panel: the regions of the metrics, and a point for each item."""
    # The triangle is the region in which the right caption scores higher, and the square that of strict answers.
    axes.add_patch(Polygon([(0, 0), (1, 0), (1, 1)], facecolor=CLASSIC_REGION_COLOUR, edgecolor="none", zorder=0))
    axes.add_patch(Rectangle((0.5, 0), 0.5, 0.5, facecolor=STRICT_REGION_COLOUR, edgecolor="none", zorder=0.1))
    axes.plot([0, 1], [0, 1], color=FAINT_COLOUR, linewidth=0.5)
    axes.plot([0.5, 0.5, 1], [0, 0.5, 0.5], color=FAINT_COLOUR, linewidth=0.5)
    for region, (marker, colour) in REGION_STYLES.items():
        points = cloud.points.filter(region=region)
        axes.scatter(
            points["across"], points["up"], s=5, marker=marker, c=colour, linewidths=0.5, rasterized=True, clip_on=False
        )
    counts = Counter(cloud.points["region"])
    missing = f" (+{counts[UNSCORED]})" if counts[UNSCORED] else ""
    numbers = " ".join(str(counts[region]) for region in REGION_STYLES)
    axes.set_title(f"{cloud.title}\n{numbers}{missing}", fontsize=SMALLEST_SIZE, pad=2)
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axes.set_xticklabels(["0", ".5", "1"], fontsize=SMALLEST_SIZE)
    axes.set_yticklabels(["0", ".5", "1"], fontsize=SMALLEST_SIZE)
    axes.spines[["top", "right"]].set_visible(True)
