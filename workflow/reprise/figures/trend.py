"""Compare checkpoints of one training run: a table and a figure of the numbers that `reprise.evaluate` returns."""

import re
from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reprise.core.errors import UserError
from reprise.figures.canvas import COLOURS, FAINT_COLOUR, MARKERS, STYLE, create_canvas, wrap_label

PANEL_WIDTH, PANEL_HEIGHT = 3.3, 2.6  # inches
NOTE = "Bars: intervals of the numbers. Dashed lines: chance."


class Trend(NamedTuple):
    """The numbers of several checkpoints."""

    table: pl.DataFrame
    """one row per checkpoint, one column per number"""
    figure: Figure
    """one panel per benchmark; `figure.savefig("trend.pdf")` writes it"""


def trend(numbers: pl.DataFrame) -> Trend:
    """Return the trend of a list of checkpoints that `reprise.evaluate` has evaluated.

    If all names of the checkpoints end with a number, this number is their step; otherwise they keep their order.

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
    return Trend(table, _draw(numbers, table["model"].to_list()))


def _find_steps(models: Sequence[str]) -> list[int | None]:
    """Return the number at the end of each name; None for all if a name has none or two names have the same."""
    matches = [re.search(r"\d+$", model) for model in models]
    steps = [int(match[0]) for match in matches if match]
    return [*steps] if len(set(steps)) == len(models) else [None] * len(models)


def _draw(numbers: pl.DataFrame, models: Sequence[str]) -> Figure:
    """Draw a panel for each benchmark; `models` are the checkpoints in their order."""
    parts = numbers.partition_by("benchmark", maintain_order=True)
    with mpl.rc_context(STYLE):
        canvas = create_canvas(PANEL_WIDTH * len(parts), PANEL_HEIGHT, "Score by checkpoint", "", [NOTE])
        axes_row = canvas.body.subplots(1, len(parts), squeeze=False)[0]
        for axes, part, marker in zip(axes_row, parts, cycle(MARKERS), strict=False):
            _draw_benchmark(axes, part, models, marker)
    return canvas.figure


def _draw_benchmark(axes: Axes, numbers: pl.DataFrame, models: Sequence[str], marker: str) -> None:
    """Draw a line for each number of a benchmark over the checkpoints, with intervals and chance levels."""
    has_steps = not numbers["step"].null_count()
    for column, colour in zip(numbers["column"].unique(maintain_order=True), cycle(COLOURS), strict=False):
        rows = numbers.filter(pl.col("column") == column, pl.col("value").is_not_null()).sort(
            "step", maintain_order=True
        )
        positions = rows["step"].to_list() if has_steps else [models.index(model) for model in rows["model"]]
        lengths = rows.select(pl.col("value") - pl.col("low"), pl.col("high") - pl.col("value")).fill_null(0.0)
        axes.errorbar(
            positions, rows["value"].to_list(), yerr=lengths.to_numpy().T, label=column, color=colour, marker=marker,
            capsize=2, elinewidth=0.8,
        )  # fmt: skip
        for chance in rows["chance"].drop_nulls().unique():
            axes.axhline(chance, color=colour, linestyle="--", linewidth=0.8)
    if has_steps:
        axes.set_xlabel("step")
    else:
        axes.set_xticks(range(len(models)), [wrap_label(model, 14) for model in models])
    axes.margins(x=0.1)
    axes.legend(labelcolor=FAINT_COLOUR)
    axes.set_ylabel("score")
