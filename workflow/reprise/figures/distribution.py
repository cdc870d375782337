"""How often something occurs: counts by range or by name, in the data and in the making of a benchmark."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.artist import Artist, setp
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reprise.benchmarks.scoring import Groups, in_group
from reprise.config.figures import Distribution, MadeCount
from reprise.figures.grids import bar_colours, say
from reprise.figures.style import COLOURS, DASHES, TEXT, Sheet, label_lines

ACROSS, MADE_HEIGHT = 2, 1.7  # panels of the making in a line, and inches of one


class Count(NamedTuple):
    """A number of the data by its range or name, or one that is published."""

    name: str
    value: float


def counts_of(spec: Distribution, items: pl.DataFrame, facts: pl.DataFrame, groups: Groups) -> list[Count]:
    """What a figure counts: clips in ranges of a fact, questions by group, or videos by task."""
    chosen = items if spec.task is None else items.filter(task=spec.task)
    chosen = chosen if spec.group is None else in_group(chosen, spec.group, groups)
    if spec.groups is not None:
        found = [Count(one.title, in_group(chosen, one.group, groups).height) for one in spec.groups]
        return found if chosen.height else []
    if spec.fact is None:
        videos = chosen.group_by("task").agg(pl.col("clip_id").n_unique())
        return sorted((Count(*row) for row in videos.iter_rows()), key=lambda one: (-one.value, one.name))
    values = facts.join(chosen.select("clip_id").unique(), on="clip_id", how="semi")[spec.fact]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return in_ranges(known, spec.step, is_right=spec.closed == "right")


def in_ranges(values: Sequence[float], step: float, *, is_right: bool = False) -> list[Count]:
    """How many values are in each range of this width, which takes its lower end or its upper one."""
    steps = [value / step for value in values]
    places = Counter(max(0, math.ceil(one - 1e-9) - 1) if is_right else math.floor(one + 1e-9) for one in steps)
    every = range(min(places), max(places) + 1) if places else range(0)
    return [Count(f"{place * step:g}-{(place + 1) * step:g}", places[place]) for place in every]


def ends_of(name: str) -> tuple[float, float] | None:
    """The ends of a range; none of a name."""
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", name)
    return (float(found[1]), float(found[2])) if found else None


def in_words(counts: Sequence[Count], unit: str, axis: str) -> str:
    """What is counted, where all of it is in one range or of one name; empty where it is not."""
    known = [one for one in counts if one.value]
    if len(known) != 1:
        return ""
    ends = ends_of(known[0].name)
    where = f"{ends[0]:g} to {ends[1]:g} {unit}" if ends else known[0].name
    return f"All {known[0].value:g} {axis}: {where}"


def height(counts: Sequence[Count]) -> float:
    if in_words(counts, "", ""):
        return 0.5
    return 2.2 if not counts or ends_of(counts[0].name) else max(1.4, 0.5 + 0.2 * len(counts))


def legend(marks: Sequence[Count]) -> list[tuple[Artist, str]]:
    lines = [Line2D([], [], **_style(place)) for place in range(len(marks))]
    return [(line, f"{mark.name}: {mark.value:g} (published)") for line, mark in zip(lines, marks, strict=True)]


def _style(place: int) -> dict[str, Any]:
    return {"color": COLOURS[(place + 1) % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}


def _whole_numbers() -> MaxNLocator:
    """Ticks of an axis that counts: no half of a clip."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def draw_distribution(
    sheet: Sheet, panels: Sequence[tuple[str, Sequence[Count]]], unit: str, axis: str, marks: Sequence[Count]
) -> None:
    """Bars of the counts of each group, and lines at the published numbers of the first; one panel needs no title."""
    for place, axes in enumerate(sheet.body.subplots(1, len(panels), squeeze=False)[0]):
        title, counts = panels[place]
        axes.set_title(title if panels[1:] else "")
        words = in_words(counts, unit, axis)
        if words and not marks:
            say(axes, words)
        elif counts and not ends_of(counts[0].name):
            _draw_names(axes, counts, axis)
        else:
            _draw_ranges(axes, counts, unit, axis, () if place else marks)


def _draw_names(axes: Axes, counts: Sequence[Count], axis: str) -> None:
    style = {"color": bar_colours(4)[1], "edgecolor": "black", "linewidth": 0.4}
    axes.barh(range(len(counts)), [one.value for one in counts], 0.8, **style)
    axes.set_yticks(range(len(counts)), [label_lines(one.name, 40) for one in counts])
    axes.set(ylim=(len(counts) - 0.5, -0.5), xlabel=axis)
    axes.grid(axis="y", visible=False)
    for place, one in enumerate(counts):
        axes.text(one.value, place, f" {one.value:g}", va="center", fontsize=TEXT - 1)
    axes.xaxis.set_major_locator(_whole_numbers())


def _draw_ranges(axes: Axes, counts: Sequence[Count], unit: str, axis: str, marks: Sequence[Count]) -> None:
    ends = [found for one in counts if (found := ends_of(one.name))]
    axes.bar(
        [low for low, _ in ends], [one.value for one in counts], [high - low for low, high in ends], align="edge",
        color=bar_colours(4)[1], edgecolor="black", linewidth=0.4,
    )  # fmt: skip
    for place, mark in enumerate(marks):
        axes.axvline(mark.value, **_style(place))
    if not counts and not marks:
        say(axes)
    axes.set_xlim(left=min([0.0, *(low for low, _ in ends)]))
    axes.grid(axis="x", visible=False)
    axes.set(xlabel=unit, ylabel=axis)
    axes.yaxis.set_major_locator(_whole_numbers())


def share_notes(counts: Sequence[MadeCount], numbers: pl.DataFrame) -> Iterator[str]:
    """The shares that the paper states of what the making counted, and ours."""
    for one in counts:
        for row in numbers.filter(pl.col("paper").is_not_null(), what=one.what).iter_rows(named=True):
            ours = "nothing" if row["ours"] is None else f"{row['ours']:.0f} %"
            which = row["group"].removesuffix(", %")
            yield f"{one.title}, {which}: {ours} here, about {row['paper']:g} % in the paper."


def draw_made(sheet: Sheet, counts: Sequence[MadeCount], numbers: pl.DataFrame, axis: str) -> None:
    """A panel of bars for each number that the making counted: how often each value occurs."""
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
        axes.yaxis.set_major_locator(_whole_numbers())
    setp(grid[len(counts) :], visible=False)
    sheet.body.supylabel(axis, fontsize=TEXT)
