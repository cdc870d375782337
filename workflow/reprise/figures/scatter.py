"""Draw scatter plots of items: the scores of the right and the wrong caption, in the regions of the metrics."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.artist import Artist, setp
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.scoring import filter_group
from reprise.config.figures import Scatter
from reprise.figures.canvas import COLOURS, FAINT_COLOUR, SMALL_SIZE, Canvas, wrap_label
from reprise.figures.chart import ChartRow
from reprise.tables.builder import TableBuilder

STRICT, CLASSIC, WRONG, UNSCORED = "strict", "classic only", "wrong", "no score"
# Region -> marker and colour
REGION_STYLES = {STRICT: ("o", COLOURS[0]), CLASSIC: ("^", COLOURS[4]), WRONG: ("x", COLOURS[1])}
REGION_LABELS = {
    STRICT: "strict: Yes to the right caption, No to the wrong one",
    CLASSIC: "classic only: the right caption scores higher",
    WRONG: "wrong: the wrong caption scores at least as high",
}
TEXT_HEIGHT = 0.5  # height in inches of a row that shows only text
TEXT_BOX_STYLE = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
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
    """The points of a group's items, as scored by one run."""

    row: str
    group: str
    title: str
    run: str
    points: pl.DataFrame  # item_id, across, up, region
    empty_reason: str = ""  # the reason if there is no point


def build_clouds(
    spec: Scatter,
    builder: TableBuilder,
    entries: Sequence[ChartRow],
    items: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
) -> Iterator[PointCloud]:
    for entry in entries:
        for column, _ in entry.cells:
            scored = builder.find_scored_run(entry.row, column)
            group, run = entry.row.group or column.group or "", scored.name if scored else ""
            if run in verdicts:
                selection = select_items(filter_group(items, group, builder.benchmark.GROUPS), spec.items)
                points = compute_points(spec, selection, verdicts[run])
                yield PointCloud(entry.label, group, column.title, run, points, _empty_reason(spec, selection, points))
            else:
                yield PointCloud(
                    entry.label, group, column.title, "", pl.DataFrame(schema=POINT_COLUMNS), "not run here"
                )


def compute_points(spec: Scatter, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the items with both scores, and the region of each by the metrics."""
    wide = items.select("item_id")
    for name, role in (("across", spec.across), ("up", spec.up)):
        scores = verdicts.filter(role=role).select(
            "item_id", pl.col("score").alias(name), pl.col("right").alias(f"{name}_right")
        )
        wide = wide.join(scores, on="item_id", how="inner", maintain_order="left")
    has_scores = pl.all_horizontal(pl.col(name).is_not_null() & pl.col(name).is_finite() for name in ("across", "up"))
    region = (
        pl.when(~has_scores).then(pl.lit(UNSCORED))
        .when(pl.all_horizontal("across_right", "up_right")).then(pl.lit(STRICT))
        .when(pl.col("across") > pl.col("up")).then(pl.lit(CLASSIC))
        .otherwise(pl.lit(WRONG))
    )  # fmt: skip
    return wide.with_columns(region=region.fill_null(UNSCORED)).select(POINT_COLUMNS.keys())


def _empty_reason(spec: Scatter, items: pl.DataFrame, points: pl.DataFrame) -> str:
    if (points["region"] != UNSCORED).any():
        return ""
    if items.is_empty() and spec.items:
        return f"none of the {spec.items}"
    return "no requests" if points.is_empty() else "answers without scores"


def build_legend() -> list[tuple[Artist, str]]:
    return [
        (Line2D([], [], linestyle="", marker=marker, color=colour), REGION_LABELS[region])
        for region, (marker, colour) in REGION_STYLES.items()
    ]


def shared_empty_reason(clouds: Sequence[PointCloud]) -> str:
    """Return the reason why a row has no point, if it is the same for all of its panels."""
    return clouds[0].empty_reason if len({cloud.empty_reason for cloud in clouds}) == 1 else ""


def row_heights(clouds: Sequence[PointCloud], panels: int, width: float) -> dict[str, float]:
    rows = {
        row: [cloud for cloud in clouds if cloud.row == row] for row in dict.fromkeys(cloud.row for cloud in clouds)
    }
    return {
        row: TEXT_HEIGHT
        if shared_empty_reason(row_clouds)
        else -(-len(row_clouds) // panels) * (width / min(panels, len(row_clouds)) * 0.86 + 0.34) + 0.22
        for row, row_clouds in rows.items()
    }


def draw_scatter(canvas: Canvas, clouds: Sequence[PointCloud], panels: int) -> None:
    """Draw a block of panels for each row: points over the regions, with the counts of regions above."""
    rows = row_heights(clouds, panels, canvas.width)
    blocks = canvas.body.subfigures(len(rows), 1, squeeze=False, height_ratios=list(rows.values()))[:, 0]
    for block, row in zip(blocks, rows, strict=True):
        row_clouds = [cloud for cloud in clouds if cloud.row == row]
        columns = min(panels, len(row_clouds))
        block.suptitle(row, fontsize=SMALL_SIZE + 1, fontweight="bold")
        if reason := shared_empty_reason(row_clouds):
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
