"""How often something occurs in the data: counts by range or by name."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reprise.benchmarks.scoring import Groups, in_group
from reprise.config.figures import Distribution
from reprise.figures.grids import bar_colours, say
from reprise.figures.style import COLOURS, DASHES, TEXT, Sheet, label_lines

RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")


class Count(NamedTuple):
    """A number of the data."""

    group: str
    value: float


class Mark(NamedTuple):
    """A published number."""

    label: str
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
        return sorted((Count(*row) for row in videos.iter_rows()), key=lambda one: (-one.value, one.group))
    values = facts.join(chosen.select("clip_id").unique(), on="clip_id", how="semi")[spec.fact]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return in_ranges(known, spec.step, is_right=spec.closed == "right")


def in_ranges(values: Sequence[float], step: float, *, is_right: bool = False) -> list[Count]:
    """How many values are in each range of this width, which takes its lower end or its upper one."""
    steps = [value / step for value in values]
    places = Counter(max(0, math.ceil(one - 1e-9) - 1) if is_right else math.floor(one + 1e-9) for one in steps)
    if not places:
        return []
    return [
        Count(f"{place * step:g}-{(place + 1) * step:g}", places[place])
        for place in range(min(places), max(places) + 1)
    ]


def ends_of(group: str) -> tuple[float, float] | None:
    """The ends of a range; none of a name."""
    found = RANGE.fullmatch(group)
    return (float(found[1]), float(found[2])) if found else None


def in_words(counts: Sequence[Count], unit: str, axis: str) -> str:
    """What is counted, where all of it is in one range or of one name; empty where it is not."""
    known = [one for one in counts if one.value]
    if len(known) != 1:
        return ""
    (one,), ends = known, ends_of(known[0].group)
    where = f"{ends[0]:g} to {ends[1]:g} {unit}" if ends else one.group
    return f"All {one.value:g} {axis}: {where}"


def height(counts: Sequence[Count]) -> float:
    """How high it wants to be."""
    if in_words(counts, "", ""):
        return 0.5
    return 2.2 if not counts or ends_of(counts[0].group) else max(1.4, 0.5 + 0.2 * len(counts))


def legend(marks: Sequence[Mark]) -> list[tuple[Artist, str]]:
    """The published numbers."""
    return [
        (Line2D([], [], **_style(place)), f"{mark.label}: {mark.value:g} (published)")
        for place, mark in enumerate(marks)
    ]


def _style(place: int) -> dict[str, Any]:
    """Colour and dashes of a published number."""
    return {"color": COLOURS[(place + 1) % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}


def whole_numbers() -> MaxNLocator:
    """Ticks of an axis that counts: no half of a clip."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


class Panel(NamedTuple):
    """What is counted of one group of the data."""

    title: str
    counts: Sequence[Count]


def draw_distribution(
    sheet: Sheet,
    counts: Sequence[Count],
    unit: str,
    axis: str,
    marks: Sequence[Mark],
    title: str = "",
    beside: Sequence[Panel] = (),
) -> None:
    """Bars of the counts, and lines at the published numbers; beside them the same of other groups."""
    panels = [Panel(title if beside else "", counts), *beside]
    for axes, panel in zip(sheet.body.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set_title(panel.title)
        words = in_words(panel.counts, unit, axis)
        if words and not marks:
            say(axes, words)
            continue
        _draw_panel(axes, panel.counts, unit, axis, marks if panel is panels[0] else ())


def _draw_panel(axes: Axes, counts: Sequence[Count], unit: str, axis: str, marks: Sequence[Mark]) -> None:
    colour = bar_colours(4)[1]
    if counts and not ends_of(counts[0].group):
        axes.barh(
            range(len(counts)), [one.value for one in counts], 0.8, color=colour, edgecolor="black", linewidth=0.4
        )
        axes.set_yticks(range(len(counts)), [label_lines(one.group, 40) for one in counts])
        axes.set_ylim(len(counts) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(axis)
        for place, one in enumerate(counts):
            axes.text(one.value, place, f" {one.value:g}", va="center", fontsize=TEXT - 1)
        axes.xaxis.set_major_locator(whole_numbers())
        return
    ends = [found for one in counts if (found := ends_of(one.group))]
    axes.bar(
        [low for low, _ in ends], [one.value for one in counts], [high - low for low, high in ends], align="edge",
        color=colour, edgecolor="black", linewidth=0.4,
    )  # fmt: skip
    for place, mark in enumerate(marks):
        axes.axvline(mark.value, **_style(place))
    if not counts and not marks:
        say(axes)
    axes.set_xlim(left=min([0.0, *(low for low, _ in ends)]))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(unit)
    axes.set_ylabel(axis)
    axes.yaxis.set_major_locator(whole_numbers())
