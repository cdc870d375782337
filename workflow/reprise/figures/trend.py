"""Compare checkpoints of one training run: a table and a figure of the numbers that `reprise.evaluate` returns."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.core.errors import UserError
from reprise.figures.canvas import FAINT_COLOUR, STYLE, compute_body_limit, count_columns, create_canvas, wrap_label
from reprise.figures.series import SeriesStyle
from reprise.figures.styles import MARKERS, MODEL_COLOURS, ModelStyle

DEFAULT_WIDTH, PANEL_WIDTH, PANEL_HEIGHT = 5.5, 2.5, 2.2  # inches: of the figure, and of a panel
NOTE = "Bars: intervals of the numbers. Dotted lines: chance."


class Trend(NamedTuple):
    """The numbers of several checkpoints."""

    table: pl.DataFrame
    """one row per checkpoint, one column per number"""
    figure: Figure
    """one panel per benchmark; `figure.savefig("trend.pdf")` writes it"""


def trend(numbers: pl.DataFrame, width: float = DEFAULT_WIDTH) -> Trend:
    """Return the trend of a list of checkpoints that `reprise.evaluate` has evaluated.

    If all names of the checkpoints end with a number, this number is their step, and lines join their scores; otherwise
    they keep their order, and the figure shows points. `width` is the width of the figure in inches.

    Raises:
        UserError: A checkpoint has several numbers of one column, or the frame is empty.
    """
    if numbers.is_empty():
        raise UserError("trend: there are no numbers. Evaluate at least one checkpoint.")
    duplicates = numbers.filter(pl.struct("model", "benchmark", "column").is_duplicated())
    if duplicates.height:
        model, column = duplicates.select("model", "column").row(0)
        raise UserError(
            f"trend: {model} has several numbers of '{column}'. Filter the frame, for example by `sampling`."
        )
    models = numbers["model"].unique(maintain_order=True).to_list()
    steps = _find_steps(models)
    position_column = pl.DataFrame({"model": models, "step": steps}, schema={"model": pl.String, "step": pl.Int64})
    numbers = numbers.join(position_column, on="model", how="left", maintain_order="left")
    table = numbers.pivot("column", index=["model", "step"], values="value").sort("step", maintain_order=True)
    return Trend(table, _draw(numbers, table["model"].to_list(), width))


def _find_steps(models: Sequence[str]) -> list[int | None]:
    """Return the number at the end of each name; None for all if a name has none or two names have the same."""
    matches = [re.search(r"\d+$", model) for model in models]
    steps = [int(match[0]) for match in matches if match]
    return [*steps] if len(set(steps)) == len(models) else [None] * len(models)


def _draw(numbers: pl.DataFrame, models: Sequence[str], width: float) -> Figure:
    """Draw a panel for each benchmark; `models` are the checkpoints in their order."""
    parts = numbers.partition_by("benchmark", maintain_order=True)
    has_steps = not numbers["step"].null_count()
    # The checkpoints are one model, so all lines have one colour, and markers and dashes distinguish the numbers.
    styles = {
        column: SeriesStyle(ModelStyle(colour=MODEL_COLOURS[0], marker=MARKERS[index % len(MARKERS)]), dash=index)
        for index, column in enumerate(numbers["column"].unique(maintain_order=True))
    }
    columns = count_columns(len(parts), width, PANEL_WIDTH)
    rows = math.ceil(len(parts) / columns)
    with mpl.rc_context(STYLE):
        legend = [(style.build_legend_symbol(has_line=has_steps), column) for column, style in styles.items()]
        texts = ("Score by checkpoint", "", [NOTE], legend)
        height = min(PANEL_HEIGHT * rows, compute_body_limit(width, *texts))
        canvas = create_canvas(width, height, *texts)
        grid = canvas.body.subplots(rows, columns, squeeze=False).flatten()
        for axes, part in zip(grid, parts, strict=False):
            _draw_benchmark(axes, part, models, styles, has_steps=has_steps)
        for axes in grid[len(parts) :]:
            axes.remove()
    return canvas.figure


def _draw_benchmark(
    axes: Axes, numbers: pl.DataFrame, models: Sequence[str], styles: Mapping[str, SeriesStyle], *, has_steps: bool
) -> None:
    """Draw the numbers of a benchmark over the checkpoints, with intervals and chance levels."""
    for column in numbers["column"].unique(maintain_order=True):
        rows = numbers.filter(pl.col("column") == column, pl.col("value").is_not_null()).sort(
            "step", maintain_order=True
        )
        positions = rows["step"].to_list() if has_steps else [models.index(model) for model in rows["model"]]
        lengths = rows.select(pl.col("value") - pl.col("low"), pl.col("high") - pl.col("value")).fill_null(0.0)
        style = styles[column].style_marker() | (styles[column].style_line() if has_steps else {})
        axes.errorbar(positions, rows["value"].to_list(), yerr=lengths.to_numpy().T, capsize=2, elinewidth=0.8, **style)
        for chance in rows["chance"].drop_nulls().unique():
            axes.axhline(chance, color=FAINT_COLOUR, linestyle=":", linewidth=0.8)
    if has_steps:
        axes.set_xlabel("step")
    else:
        axes.set_xticks(range(len(models)), [wrap_label(model, 14) for model in models])
    axes.margins(x=0.1)
    axes.set_ylabel("score")
