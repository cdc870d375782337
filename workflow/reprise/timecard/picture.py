"""The picture of a card: each score as a staircase of its parts, that goes back where one is negative.

It is drawn at the width of a paper's column, and says the same in grey: each part has its own line.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reprise.figures.style import FAINT, SMALL, label_lines, sheet, use_style
from reprise.tables.render.table import format_value
from reprise.timecard.card import (
    KIND_TITLES,
    MIXED,
    ONE_FRAME,
    ORDER,
    PLANNED,
    SET,
    WORDS,
    Card,
    CardBenchmark,
    CardPart,
)
from reprise.timecard.tables import in_order
from reprise.timecard.words import signed

WIDTH = 3.3  # inches
# Okabe and Ito's: greys and blues for what needs no order, the warm colour for what does.
PART_COLOURS = {WORDS: "#A6A6A6", ONE_FRAME: "#56B4E9", SET: "#0072B2", ORDER: "#D55E00", MIXED: "#7F7F7F"}
NEGATIVE, UNTOLD = "//////", "....."
LANE, HEAD = 0.13, 0.3  # inches of a part's line, and of what stands above and below a panel
MODEL, LABEL = 0.3, 0.13  # inches of a model's line among several, and of a line of its name
INK = "#222222"

DOTS = (0, (1, 1.2))


class Step(NamedTuple):
    """A part as a bar from the score before it to the score after it."""

    part: CardPart
    start: float
    end: float


def steps(one: CardBenchmark) -> list[Step]:
    found, reached = [], 0.0
    for part in one.parts:
        found.append(Step(part, reached, reached + part.number.value))
        reached += part.number.value
    return found


def _reach(cards: Sequence[Card]) -> tuple[float, float]:
    """How far bars, intervals and chance reach to both sides, in shares of the best score."""
    ends = [0.0, 0.3]
    for one in (one for card in cards for one in card.benchmarks):
        ends.append((one.chance or 0.0) / one.best)
        for part, start, end in steps(one):
            low, high = part.number.low or 0.0, part.number.high or 0.0
            ends += [value / one.best for value in (end, start + low, start + high)]
    return min(ends), max(ends)


def draw_card(card: Card) -> Figure:
    use_style()
    shown = [one for one in card.benchmarks if one.parts]
    without = [one.title for one in card.benchmarks if not one.parts]
    notes = [_intervals(card.level, shown), *([f"Nothing to show: {', '.join(without)}."] if without else [])]
    heights = [HEAD + LANE * len(one.parts) for one in shown]
    page = sheet(WIDTH, max(0.4, sum(heights)), f"{card.title}: what its scores are made of", card.notice, notes)
    if not shown:
        return page.figure
    least, most = _reach([card])
    panels = page.body.subplots(len(shown), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, one in zip(panels, shown, strict=True):
        found, planned = steps(one), one.view(PLANNED)
        score = format_value(planned.score.value, one.decimals) if planned else ""
        heading = f"{one.title}  {score}" + ("" if one.best == 100 else f" of {one.best:g}")
        axes.set_title(heading, loc="left", fontweight="bold", pad=2)
        _draw_steps(axes, one, found, 0, 1.0, [_value(step, one) for step in found])
        axes.set_yticks(range(len(found)), [label_lines(step.part.title, 24) for step in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        _scale(axes, one, least, most + 0.2 * (most - least), is_named=True)
    return page.figure


def draw_all(cards: Sequence[Card]) -> Figure:
    """The picture of several models: a panel a benchmark, a staircase a model, sorted by the part due to order."""
    use_style()
    ordered = in_order(cards)
    benchmarks = list(dict.fromkeys((one.name, one.title) for card in ordered for one in card.benchmarks if one.parts))
    across = min(2, max(1, len(benchmarks)))
    lines = -(-len(benchmarks) // across)
    labels = [label_lines(card.title, 18) for card in ordered]
    most_lines = max((label.count("\n") + 1 for label in labels), default=1)
    height = lines * (HEAD + 0.12 + max(MODEL, LABEL * most_lines) * len(ordered))
    of_all = [one for card in ordered for one in card.benchmarks if one.parts]
    notice, note = (ordered[0].notice, _intervals(ordered[0].level, of_all)) if ordered else ("", "Nothing to show.")
    page = sheet(WIDTH, max(0.4, height), "Which models use time?", notice, [note], list(_legend(ordered)))
    if not benchmarks:
        return page.figure
    least, most = _reach(ordered)
    grid = page.body.subplots(lines, across, squeeze=False, sharey=True).flatten()
    for place, (axes, (name, title)) in enumerate(zip(grid, benchmarks, strict=False)):
        axes.set_title(title, loc="left", fontweight="bold", pad=2)
        shown = [
            (row, one) for row, card in enumerate(ordered) for one in card.benchmarks if one.name == name and one.parts
        ]
        for row, one in shown:
            found, height = steps(one), 0.8 / len(one.parts)
            # Only what is due to order has its number.
            values = [_value(step, one) if ORDER in step.part.names else "" for step in found]
            _draw_steps(axes, one, found, row - 0.4 + height / 2, height, values)
        axes.set_yticks(range(len(ordered)), labels, fontsize=SMALL - 0.5)
        axes.set_ylim(len(ordered) - 0.5, -0.5)
        axes.tick_params(axis="y", labelleft=place % across == 0)
        _scale(axes, shown[0][1], least, most + 0.3 * (most - least))
    for axes in grid[len(benchmarks) :]:
        axes.set_visible(False)
    return page.figure


def _value(step: Step, one: CardBenchmark) -> str:
    is_first = step.start == 0 and step.part.p is None
    return (format_value if is_first else signed)(step.part.number.value, one.decimals)


def _draw_steps(
    axes: Axes, one: CardBenchmark, found: Sequence[Step], first: float, pitch: float, values: Sequence[str]
) -> None:
    """Bars below each other, each from where the one above ends; a negative one is hatched and goes back.

    One without words has no interval either.
    """
    for place, (step, words) in enumerate(zip(found, values, strict=True)):
        y, colour = first + place * pitch, PART_COLOURS[step.part.kind]
        hatch = NEGATIVE if step.end < step.start else UNTOLD if step.part.kind == MIXED else None
        axes.barh(
            y, step.end - step.start, 0.78 * pitch, left=step.start, color="white" if hatch else colour,
            edgecolor=colour, hatch=hatch, linewidth=0.8 if hatch else 0.0, zorder=2,
        )  # fmt: skip
        if place + 1 < len(found):
            axes.plot([step.end, step.end], [y, y + pitch], color=INK, linewidth=0.6, zorder=2.5)
        number = step.part.number
        right = max(step.start, step.end)
        if words and number.low is not None and number.high is not None:
            ends = step.start + number.low, step.start + number.high
            axes.plot(ends, [y, y], color=INK, linewidth=0.7, zorder=3)
            right = max(right, ends[1])
        axes.text(
            right + 0.012 * one.best, y, words, va="center_baseline", ha="left", fontsize=SMALL,
            fontweight="bold" if step.part.kind == ORDER else "normal", color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4}, zorder=2.4,  # a line may cross the number
        )  # fmt: skip


def _scale(axes: Axes, one: CardBenchmark, least: float, most: float, *, is_named: bool = False) -> None:
    """All panels have the same scale, in shares of the best score, and a line where chance is."""
    axes.set_xlim(least * one.best, most * one.best)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL - 0.5, length=2, pad=1)
    axes.locator_params(axis="x", nbins=5)
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.spines["left"].set_visible(False)
    if one.chance is not None:
        axes.axvline(one.chance, color="black", linestyle=DOTS, linewidth=0.9, zorder=2.3)
        words = f"chance {format_value(one.chance, one.chance_decimals)}" if is_named else ""
        axes.set_title(words, loc="right", fontsize=SMALL, color=FAINT, pad=2)


def _intervals(level: float, shown: Sequence[CardBenchmark]) -> str:
    is_back = any(part.number.value < 0 for one in shown for part in one.parts)
    chance = " Dotted: chance." if any(one.chance is not None for one in shown) else ""
    back = " Hatched: a part below zero." if is_back else ""
    return f"Bars add up to the score. Lines: {100 * level:g} % intervals.{chance}{back}"


def _legend(cards: Sequence[Card]) -> Iterator[tuple[Artist, str]]:
    there = {part.kind for card in cards for one in card.benchmarks for part in one.parts}
    for kind, title in KIND_TITLES.items():
        if kind == MIXED and kind in there:
            yield Patch(facecolor="white", edgecolor=PART_COLOURS[kind], hatch=UNTOLD), title
        elif kind in there:
            yield Patch(facecolor=PART_COLOURS[kind]), title
    yield Line2D([], [], color="black", linestyle=DOTS, linewidth=0.9), "chance"
