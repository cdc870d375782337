"""What the making of a benchmark counted: bars, and the shares that the paper states beside ours."""

from collections.abc import Iterator, Sequence

import polars as pl

from reprise.config.figures import MadeCount
from reprise.figures.distribution import whole_numbers
from reprise.figures.grids import bar_colours, say
from reprise.figures.style import TEXT, Sheet

ACROSS, HEIGHT = 2, 1.7  # panels in a line, and inches of one


def share_notes(counts: Sequence[MadeCount], numbers: pl.DataFrame) -> Iterator[str]:
    """The shares that the paper states, and ours."""
    for one in counts:
        for row in numbers.filter(pl.col("paper").is_not_null(), what=one.what).iter_rows(named=True):
            ours = "nothing" if row["ours"] is None else f"{row['ours']:.0f} %"
            which = row["group"].removesuffix(", %")
            yield f"{one.title}, {which}: {ours} here, about {row['paper']:g} % in the paper."


def draw_made(sheet: Sheet, counts: Sequence[MadeCount], numbers: pl.DataFrame, axis: str) -> None:
    """A panel of bars for each number: how often each value occurs."""
    grid = sheet.body.subplots(-(-len(counts) // ACROSS), ACROSS, squeeze=False).flatten()
    for axes, one in zip(grid, counts, strict=False):
        axes.set_title(one.title)
        rows = numbers.filter(what=one.what).select("group", "ours").iter_rows()
        found = dict(sorted((int(value), count) for value, count in rows if value.isdecimal()))
        if not found:
            say(axes)
            continue
        axes.bar(list(found), list(found.values()), 0.8, color=bar_colours(4)[1], edgecolor="black", linewidth=0.4)
        axes.set_xticks(range(min(found), max(found) + 1))
        axes.grid(axis="x", visible=False)
        axes.yaxis.set_major_locator(whole_numbers())
    for axes in grid[len(counts) :]:
        axes.set_visible(False)
    sheet.body.supylabel(axis, fontsize=TEXT)
