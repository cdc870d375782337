"""Test that each model has one colour and marker in all figures of a suite, and that figures fit their venues."""

import re
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from reprise.config.figures import VENUE_WIDTHS, TableFigure, compute_width
from reprise.config.load import load
from reprise.core.schemas import METRICS, VERDICTS
from reprise.core.settings import Settings
from reprise.figures.canvas import (
    BACKGROUND,
    CLASSIC_REGION_COLOUR,
    DARK_COLOURS,
    FAINT_COLOUR,
    GRID_COLOUR,
    INK,
    MAX_HEIGHT,
    STRICT_REGION_COLOUR,
)
from reprise.figures.keys import FigureKey
from reprise.figures.series import style_series
from reprise.figures.styles import MODEL_COLOURS, OUTCOME_COLOURS, ModelStyle, assign_styles
from reprise.figures.trend import trend
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings
from reprise.temporal.profile import TemporalProfileKey

from tests.unit.figures.test_figures import SPECS, STYLES, draw, list_axes, make_figure_key
from tests.unit.rows import verdict_row
from tests.unit.tables.world import metric_row

RUNS = {"ov": "velociti/entail/fps1/ov", "other": "velociti/entail/fps1/other"}
SMALLEST_TEXT = 6  # points


def load_settings(suite: str) -> dict[str, Settings]:
    return all_settings(Plan(load(Path(), {"suite": suite})))


def list_styles(key: Settings) -> dict[str, ModelStyle]:
    if isinstance(key, TemporalProfileKey):
        return {key.model: key.style}
    return key.styles if isinstance(key, FigureKey) else {}


@pytest.mark.parametrize("suite", ["demo", "temporal", "paper", "rehearsal"])
def test_a_model_has_one_style_in_a_suite(suite: str) -> None:
    keys = [key for key in load_settings(suite).values() if list_styles(key)]
    all_styles: dict[str, ModelStyle] = {}
    for key in keys:
        styles = list_styles(key)
        assert all(all_styles.setdefault(model, style) == style for model, style in styles.items())
        assert len(set(styles.values())) == len(styles), "no two models of a figure share colour and marker"
        assert not {style.colour for style in styles.values()} & {*OUTCOME_COLOURS}
    assert len(keys) > 1 and all_styles
    if suite == "demo":
        assert {type(key) for key in keys} == {FigureKey, TemporalProfileKey}


def test_added_models_change_no_style() -> None:
    tables = [f"m{index}" for index in range(40)]
    styles = assign_styles(tables[:3], tables, [])
    assert [styles[model].colour for model in tables[:3]] == [*MODEL_COLOURS[:3]]
    assert styles["m3"].colour not in MODEL_COLOURS, "models outside the overview are grey"
    # `reprise eval` adds models at the front of the overview, people add them at its end.
    added = assign_styles(["second", "first", *tables[:3], "last"], tables, [])
    assert {model: added[model] for model in styles} == styles
    assert added["first"] == assign_styles(["first", *tables[:3]], tables, [])["first"]
    assert len({(style.colour, style.marker) for style in assign_styles([], tables, []).values()}) == 40
    assert assign_styles(["human", "m0"], ["human", "m0"], ["human"])["human"].colour not in MODEL_COLOURS


def test_series_of_one_model_differ() -> None:
    frame_counts = {"many": 8, "rate": None, "single": 1, "text": 0}
    models = dict.fromkeys(frame_counts, "ov") | {"other, text": "other"}
    styles = style_series(models, models, frame_counts | {"other, text": 0}, STYLES)
    assert len(set(styles.values())) == 5
    alone = {label: style_series([label], models, frame_counts, STYLES)[label] for label in frame_counts}
    # Only a second series with the same number of frames depends on the other series of its figure.
    assert {label for label in frame_counts if alone[label] != styles[label]} == {"rate"}
    assert styles["text"].style_marker()["fillstyle"] == styles["other, text"].style_marker()["fillstyle"]


def test_a_venue_has_a_column_and_a_page() -> None:
    assert (compute_width("neurips", "column"), compute_width("neurips", "page")) == (5.5, 5.5)
    assert (compute_width("cvpr", "column"), compute_width("cvpr", "page")) == (3.25, 6.875)
    assert (compute_width("cvpr-column", "page"), compute_width("cvpr-page", "column")) == (3.25, 6.875)
    assert compute_width(4.0, "page") == 4.0


def draw_two_models(kind: str, width: float) -> Figure:
    """Return a figure of measured numbers of two models."""
    rows = [
        metric_row(run, "strict", group, value, requested=4, scored=4, key="k") | {"low": value - 9, "high": value + 9}
        for run, value in zip(RUNS.values(), (30.0, 60.0), strict=True)
        for group in ("control", "chrono")
    ]
    key = make_figure_key(SPECS[kind], runs=tuple(RUNS.values())).model_copy(update={"width": width})
    verdicts = [verdict_row(f"{name}#{role}", score=0.3, right=False) for name in "abc" for role in ("pos", "neg")]
    table = pl.DataFrame(verdicts, schema=VERDICTS) if kind == "scatter" else None
    return draw(key, pl.DataFrame(rows, schema=METRICS).to_dicts(), verdicts=table)[0]


def iter_model_marks(figure: Figure) -> Iterator[tuple[str, str]]:
    """Yield colour and marker of each mark in the colour of a model, also in the legend."""
    for line in figure.findobj(Line2D):
        if line.get_marker() not in ("", "None", None) and line.get_color() in MODEL_COLOURS:
            yield str(line.get_color()), str(line.get_marker())


@pytest.mark.parametrize("kind", SPECS)
def test_marks_have_the_style_of_their_model(kind: str) -> None:
    figure = draw_two_models(kind, 5.5)
    # The other model has a rate of frames and thus a line without marks, and no verdicts for the scatter plot.
    models = ["ov"] if kind in ("frames", "scatter") else ["ov", "other"]
    assert set(iter_model_marks(figure)) == {(STYLES[model].colour, STYLES[model].marker) for model in models}
    lines = [line for axes in list_axes(figure) for line in axes.lines if line.get_color() in MODEL_COLOURS]
    joined = [line for line in lines if len(line.get_xdata()) > 2]
    assert not joined or kind in ("lines", "frames"), "only ordered values are joined"


def draw_trend(width: float) -> Figure:
    rows = [
        {"model": f"step-{step}", "benchmark": benchmark, "column": f"{benchmark} score", "value": 40.0 + step / 10,
         "low": 30.0, "high": 70.0, "chance": 25.0}
        for step in (100, 200) for benchmark in ("velociti", "vinoground", "temporalbench", "mmbench_video")
    ]  # fmt: skip
    return trend(pl.DataFrame(rows), width).figure


WIDTHS = sorted({width for widths in VENUE_WIDTHS.values() for width in widths})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*SPECS, "trend"])
def test_texts_fit_the_width_of_the_venue(kind: str, width: float) -> None:
    figure = draw_trend(width) if kind == "trend" else draw_two_models(kind, width)
    figure.canvas.draw()
    assert figure.get_figwidth() == width and figure.get_figheight() <= MAX_HEIGHT
    box = figure.get_tightbbox()
    assert box.x0 > -0.01 and box.x1 < width + 0.01
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= SMALLEST_TEXT


def test_fills_of_a_trend_show_no_number_of_frames() -> None:
    figure = draw_trend(5.5)
    assert {line.get_fillstyle() for line in figure.findobj(Line2D)} == {"full"}
    assert len({line.get_marker() for legend in figure.findobj(Legend) for line in legend.legend_handles}) == 4


def compute_contrast(colour: str, other: str) -> float:
    """Return the contrast of two colours by the definition of WCAG 2."""

    def luminance(colour: str) -> float:
        channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
        return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(colour), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("kind", [*SPECS, "trend"])
def test_every_colour_is_visible_on_a_dark_page(kind: str) -> None:
    figure, output = draw_trend(5.5) if kind == "trend" else draw_two_models(kind, 5.5), StringIO()
    figure.savefig(output, format="svg")
    style_sheet, _, drawing = output.getvalue().partition("</style>")
    replacements: Mapping[str, Any] = {
        name: dict(re.findall(rf'\[style\*="{name}: (#\w+)"\]{{{name}:(#\w+) !important}}', style_sheet))
        for name in ("fill", "stroke")
    }
    assert "prefers-color-scheme: dark" in style_sheet
    background = replacements["fill"][BACKGROUND.lower()]
    faint = {colour.lower() for colour in (BACKGROUND, GRID_COLOUR, STRICT_REGION_COLOUR, CLASSIC_REGION_COLOUR)}
    colours = {
        pair for style in re.findall('style="([^"]+)"', drawing) for pair in re.findall(r"(fill|stroke): (#\w+)", style)
    }
    assert colours
    for name, colour in colours:
        if colour not in faint:
            assert compute_contrast(replacements[name].get(colour, colour), background) >= 3, (name, colour)
    labels = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert all(text.get_color() in (INK, FAINT_COLOUR) for text in labels), "pure black has no style in an SVG file"


def test_dark_colours_are_distinct() -> None:
    assert len({dark for dark in DARK_COLOURS.values()}) == len(DARK_COLOURS)


def test_figure_keys_state_the_width_of_the_suite() -> None:
    keys = [key for key in load_settings("demo").values() if isinstance(key, FigureKey)]
    assert {key.width for key in keys} == {5.5} and any(isinstance(key.spec, TableFigure) for key in keys)
    assert all(first < second for first, second in pairwise(WIDTHS))
