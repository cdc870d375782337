"""Style the series of a figure by their models, and build its legend."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from reprise.figures.canvas import BACKGROUND, FAINT_COLOUR
from reprise.figures.styles import ModelStyle
from reprise.tables.render.table import TableNumber

LegendEntries = list[tuple[Artist, str]]
"""the symbol and the text of each entry of a legend"""
WITHOUT_MODEL = ModelStyle(colour=FAINT_COLOUR, marker="|")  # chance, and rows of published numbers without a model
# Fills and dashes of several series of one model, such as those with different numbers of frames.
FILLS = ("full", "left", "top", "right", "bottom")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)))
PUBLISHED_LABEL = "hollow: published by the paper"


@dataclass(frozen=True)
class SeriesStyle:
    """The colour and marker of a series' model, and the number of the series among those of this model."""

    model_style: ModelStyle
    variant: int = 0

    def style_marker(self, *, is_published: bool = False) -> dict[str, Any]:
        """Return the marker for matplotlib; it is hollow for a published number."""
        colour, marker = self.model_style.colour, self.model_style.marker
        face = BACKGROUND if is_published else colour
        fill = "full" if is_published else FILLS[self.variant % len(FILLS)]
        return {
            "linestyle": "", "marker": marker, "color": colour, "markerfacecolor": face, "fillstyle": fill,
            "markerfacecoloralt": BACKGROUND, "markeredgewidth": 0.8,
        }  # fmt: skip

    def style_line(self) -> dict[str, Any]:
        """Return the line for matplotlib, without its markers."""
        return {"color": self.model_style.colour, "linestyle": DASHES[self.variant % len(DASHES)]}

    def build_legend_symbol(self, *, has_line: bool, has_marker: bool = True) -> Line2D:
        """Return the symbol of a legend's entry."""
        line = self.style_line() if has_line else {}
        return Line2D([], [], **(self.style_marker() if has_marker else {}) | line)


def style_series(
    labels: Iterable[str], models: Mapping[str, str], styles: Mapping[str, ModelStyle]
) -> dict[str, SeriesStyle]:
    """Return the style of each series by its label; `models` maps labels to models."""
    counts: Counter[str | None] = Counter()
    series_styles = {}
    for label in labels:
        model = models.get(label)
        series_styles[label] = SeriesStyle(styles[model] if model else WITHOUT_MODEL, counts[model])
        counts[model] += 1
    return series_styles


def is_published(number: TableNumber) -> bool:
    """Return whether a number is the paper's, not measured here."""
    return number.state == "published"


def explain_hollow_markers(numbers: Iterable[TableNumber]) -> LegendEntries:
    """Return the legend's entry for hollow markers if a number is published or stands beside a published one."""
    if not any(is_published(number) or number.published is not None for number in numbers):
        return []
    symbol = Line2D([], [], color=FAINT_COLOUR, marker="o", markerfacecolor=BACKGROUND, linestyle="")
    return [(symbol, PUBLISHED_LABEL)]
