"""Style the series of a figure by their models, and build its legend."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from reprise.figures.canvas import BACKGROUND, FAINT_COLOUR
from reprise.figures.styles import ModelStyle
from reprise.tables.render.table import TableNumber

LegendEntries = list[tuple[Artist, str]]
"""the symbol and the text of each entry of a legend"""
WITHOUT_MODEL = ModelStyle(colour=FAINT_COLOUR, marker="|")  # chance, and rows of published numbers without a model
# Fills and dashes of the variants of a model: of several frames, of one frame, of no frames, and of further series.
FILLS = ("full", "left", "bottom", "right", "top")
VARIANTS: Mapping[int | None, int] = {1: 1, 0: 2}  # number of frames -> variant; all other numbers have variant 0
FIRST_FURTHER_VARIANT = 3
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)))
PUBLISHED_LABEL = "hollow: published by the paper"


@dataclass(frozen=True)
class SeriesStyle:
    """The colour and marker of a series' model, and the variants of the model that fill and dash show.

    The variant of a number of frames is the same in all figures, so that one mark never has two meanings.
    """

    model_style: ModelStyle
    fill: int = 0
    dash: int = 0

    def style_marker(self, *, is_published: bool = False) -> dict[str, Any]:
        """Return the marker for matplotlib; it is hollow for a published number."""
        colour, marker = self.model_style.colour, self.model_style.marker
        face = BACKGROUND if is_published else colour
        fill = "full" if is_published else FILLS[self.fill % len(FILLS)]
        return {
            "linestyle": "", "marker": marker, "color": colour, "markerfacecolor": face, "fillstyle": fill,
            "markerfacecoloralt": BACKGROUND, "markeredgewidth": 0.8,
        }  # fmt: skip

    def style_line(self) -> dict[str, Any]:
        """Return the line for matplotlib, without its markers."""
        return {"color": self.model_style.colour, "linestyle": DASHES[self.dash % len(DASHES)]}

    def build_legend_symbol(self, *, has_line: bool, has_marker: bool = True) -> Line2D:
        """Return the symbol of a legend's entry."""
        line = self.style_line() if has_line else {}
        return Line2D([], [], **(self.style_marker() if has_marker else {}) | line)


def get_variant(frame_count: int | None) -> int:
    """Return the variant of a number of frames; None means that it differs between clips."""
    return VARIANTS.get(frame_count, 0)


def style_labels(
    labels: Iterable[str],
    models: Mapping[str, str],
    frame_counts: Mapping[str, int | None],
    styles: Mapping[str, ModelStyle],
) -> dict[str, SeriesStyle]:
    """Return the style of the results that each label names.

    Args:
        labels: Labels of rows or columns.
        models: Label -> its model, if it stands for one.
        frame_counts: Label -> its number of frames.
        styles: Model -> its style.
    """
    variants = {label: get_variant(frame_counts.get(label)) for label in labels}
    return {
        label: SeriesStyle(styles[models[label]] if label in models else WITHOUT_MODEL, variant, variant)
        for label, variant in variants.items()
    }


def style_series(
    labels: Iterable[str],
    models: Mapping[str, str],
    frame_counts: Mapping[str, int | None],
    styles: Mapping[str, ModelStyle],
) -> dict[str, SeriesStyle]:
    """Return the style of each series of a legend, which differs between the series of one model."""
    used_variants: defaultdict[str | None, set[int]] = defaultdict(set)
    series_styles = style_labels(labels, models, frame_counts, styles)
    for label, style in series_styles.items():
        used = used_variants[models.get(label)]
        if style.fill in used:
            variant = max(FIRST_FURTHER_VARIANT, max(used) + 1)
            series_styles[label] = replace(style, fill=variant, dash=variant)
        used.add(series_styles[label].fill)
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
