"""Draw scatter plots of items by the scores of the right and the wrong caption, with the regions of the metrics."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from reprise.figures.styles import OUTCOME_COLOURS, ModelStyle
from reprise.tables.builder import TableBuilder

STRICT, CLASSIC, WRONG, UNSCORED = "strict", "classic only", "wrong", "no score"
# Region -> marker and colour.
REGION_STYLES = {STRICT: ("o", COUNT_COLOUR), CLASSIC: ("^", OUTCOME_COLOURS[0]), WRONG: ("x", OUTCOME_COLOURS[1])}
REGION_LABELS = {
    STRICT: "strict: Yes to the right caption, No to the wrong one",
    CLASSIC: "classic only: the right caption scores higher",
    WRONG: "wrong: the wrong caption scores at least as high",
}
PANEL_WIDTH, PANEL_HEAD, ROW_HEAD = 0.64, 0.48, 0.2  # inches: smallest width of a panel, and heights of titles
AXIS_HEIGHT = 0.16  # inches of the horizontal axis' label below the last row
AXIS_WIDTH = 0.35  # inches of the vertical axis with its label
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


def _group_by_row(clouds: Sequence[PointCloud]) -> dict[str, list[PointCloud]]:
    return group_by_key(clouds, lambda cloud: cloud.row)


def _count_columns(clouds: Sequence[PointCloud], panels_per_row: int, width: float) -> int:
    """Return the number of panels side by side, which is the same for all rows."""
    most = max((len(row_clouds) for row_clouds in _group_by_row(clouds).values()), default=1)
    return count_columns(most, width - AXIS_WIDTH, max(PANEL_WIDTH, (width - AXIS_WIDTH) / panels_per_row - 1e-9))


def compute_row_heights(clouds: Sequence[PointCloud], panels_per_row: int, width: float) -> dict[str, float]:
    """Return the height in inches of each row's block of panels."""
    columns = _count_columns(clouds, panels_per_row, width)
    panel_height = (width - AXIS_WIDTH) / columns * 0.86 + PANEL_HEAD
    heights = {
        row: math.ceil(len(row_clouds) / columns) * panel_height + ROW_HEAD
        for row, row_clouds in _group_by_row(clouds).items()
    }
    return heights | {row: heights[row] + AXIS_HEIGHT for row in list(heights)[-1:]}


def draw_scatter(
    canvas: Canvas, clouds: Sequence[PointCloud], panels_per_row: int, style_by_row: Mapping[str, ModelStyle]
) -> None:
    """Draw a block of panels for each row; the title of a panel has the number of points in each region."""
    height_by_row = compute_row_heights(clouds, panels_per_row, canvas.width)
    if not height_by_row:
        return
    columns = _count_columns(clouds, panels_per_row, canvas.width)
    height_ratios = list(height_by_row.values())
    blocks = canvas.body.subfigures(len(height_by_row), 1, squeeze=False, height_ratios=height_ratios)[:, 0]
    for block, (row, row_clouds) in zip(blocks, _group_by_row(clouds).items(), strict=True):
        symbol = SeriesStyle(style_by_row.get(row, WITHOUT_MODEL)).build_legend_symbol(has_line=False)
        bold = {"size": SMALL_SIZE + 1, "weight": "bold"}
        block.legend([symbol], [row], loc="outside upper center", prop=bold, borderaxespad=0.0, handletextpad=0.2)
        grid = block.subplots(
            math.ceil(len(row_clouds) / columns), columns, squeeze=False, sharex=True, sharey=True
        ).flatten()
        for axes, cloud in zip(grid, row_clouds, strict=False):
            _draw_cloud(axes, cloud)
        for index, axes in enumerate(grid):
            if index >= len(row_clouds):
                axes.set_visible(False)
            axes.tick_params(axis="x", labelbottom=index + columns >= len(row_clouds))
        block.supylabel("wrong caption", fontsize=SMALL_SIZE)
    blocks[-1].supxlabel("score of the right caption", fontsize=SMALL_SIZE)


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
