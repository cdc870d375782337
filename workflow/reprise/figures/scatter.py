"""Draw scatter plots of items by the scores of the right and the wrong caption, with the regions of the metrics."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.artist import Artist, setp
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from reprise.benchmarks.annotations import group_by_key, select_items
from reprise.benchmarks.scoring import filter_group
from reprise.config.figures import Scatter
from reprise.figures.canvas import COLOURS, FAINT_COLOUR, SMALL_SIZE, Canvas, wrap_label
from reprise.figures.chart import ChartRow
from reprise.tables.builder import TableBuilder

STRICT, CLASSIC, WRONG, UNSCORED = "strict", "classic only", "wrong", "no score"
# Region -> marker and colour.
REGION_STYLES = {STRICT: ("o", COLOURS[0]), CLASSIC: ("^", COLOURS[4]), WRONG: ("x", COLOURS[1])}
REGION_LABELS = {
    STRICT: "strict: Yes to the right caption, No to the wrong one",
    CLASSIC: "classic only: the right caption scores higher",
    WRONG: "wrong: the wrong caption scores at least as high",
}
TEXT_HEIGHT = 0.5  # height in inches of a row that shows only text
TEXT_BOX_STYLE = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
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


def find_shared_empty_reason(clouds: Sequence[PointCloud]) -> str:
    """Return why no panel of a row has a point if the reason is the same for all panels, else an empty text."""
    return clouds[0].empty_reason if len({cloud.empty_reason for cloud in clouds}) == 1 else ""


def compute_row_heights(clouds: Sequence[PointCloud], panels_per_row: int, width: float) -> dict[str, float]:
    """Return the height in inches of each row's block of panels."""
    heights = {}
    for row, row_clouds in group_by_key(clouds, lambda cloud: cloud.row).items():
        panel_rows = math.ceil(len(row_clouds) / panels_per_row)
        panel_width = width / min(panels_per_row, len(row_clouds))
        has_panels = not find_shared_empty_reason(row_clouds)
        heights[row] = panel_rows * (panel_width * 0.86 + 0.34) + 0.22 if has_panels else TEXT_HEIGHT
    return heights


def draw_scatter(canvas: Canvas, clouds: Sequence[PointCloud], panels_per_row: int) -> None:
    """Draw a block of panels for each row; the title of a panel has the number of points in each region."""
    height_by_row = compute_row_heights(clouds, panels_per_row, canvas.width)
    height_ratios = list(height_by_row.values())
    blocks = canvas.body.subfigures(len(height_by_row), 1, squeeze=False, height_ratios=height_ratios)[:, 0]
    for block, row in zip(blocks, height_by_row, strict=True):
        row_clouds = [cloud for cloud in clouds if cloud.row == row]
        columns = min(panels_per_row, len(row_clouds))
        block.suptitle(row, fontsize=SMALL_SIZE + 1, fontweight="bold")
        if reason := find_shared_empty_reason(row_clouds):
            block.text(0.5, 0.35, reason, ha="center", va="center", fontsize=SMALL_SIZE + 1, color=FAINT_COLOUR)
            continue
        grid = block.subplots(
            -(-len(row_clouds) // columns), columns, squeeze=False, sharex=True, sharey=True
        ).flatten()
        for axes, cloud in zip(grid, row_clouds, strict=False):
            _draw_cloud(axes, cloud)
        setp(grid[len(row_clouds) :], visible=False)
        block.supxlabel("score of the right caption", fontsize=SMALL_SIZE)
        block.supylabel("score of the wrong caption", fontsize=SMALL_SIZE)


def _draw_cloud(axes: Axes, cloud: PointCloud) -> None:
    """Draw a panel: the regions of the metrics, and a point for each item."""
    # The triangle is the region in which the right caption scores higher, and the square that of strict answers.
    axes.add_patch(Polygon([(0, 0), (1, 0), (1, 1)], facecolor="#F0F0F0", edgecolor="none", zorder=0))
    axes.add_patch(Rectangle((0.5, 0), 0.5, 0.5, facecolor="#DCE9F2", edgecolor="none", zorder=0.1))
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
    axes.set_title(
        cloud.title if cloud.empty_reason else f"{cloud.title}: {numbers}{missing}", fontsize=SMALL_SIZE, pad=2
    )
    if cloud.empty_reason:
        axes.text(
            0.5,
            0.5,
            wrap_label(cloud.empty_reason, 14),
            ha="center",
            va="center",
            fontsize=SMALL_SIZE,
            bbox=TEXT_BOX_STYLE,
        )
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axes.set_xticklabels(["0", ".5", "1"], fontsize=SMALL_SIZE - 0.5)
    axes.set_yticklabels(["0", ".5", "1"], fontsize=SMALL_SIZE - 0.5)
    axes.spines[["top", "right"]].set_visible(True)
