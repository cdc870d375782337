"""The figure and the page of temporal profiles: one mark per condition at its score, with its interval and chance."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text
from reprise.figures.styles import MARKERS, ModelStyle
from reprise.temporal.conditions import CONDITIONS
from reprise.temporal.figure import LOWER_COLOUR, draw_profile, draw_profiles
from reprise.temporal.findings import summarize_benchmark
from reprise.temporal.marks import build_style_properties
from reprise.temporal.measure import build_profile
from reprise.temporal.page import render_profile, render_profiles
from reprise.temporal.profile import TemporalProfile
from reprise.temporal.rules import Outcome

from tests.unit.temporal.profile_inputs import STYLE, key_of_rule

RIGHT = {"none": 5, "middle": 6, "shuffled": 6, "reversed": 9, "planned": 9}
ROWS = ["text only", "middle frame", "shuffled", "reversed", "as planned"]
SCORES = [10 * tenths for tenths in RIGHT.values()]


@pytest.fixture
def profile(tmp_path: Path) -> TemporalProfile:
    key = key_of_rule(tmp_path, lambda condition, number: number % 10 < RIGHT[condition], conditions=tuple(RIGHT))
    return build_profile(key)[0]


def visible_panels(figure: Figure) -> list[Axes]:
    def axes_inside(part: Figure | SubFigure) -> list[Axes]:
        return [*part.axes, *(axes for subfigure in part.subfigs for axes in axes_inside(subfigure))]

    return list(dict.fromkeys(axes for axes in axes_inside(figure) if axes.get_visible()))


def read_text(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


def marks(axes: Axes) -> list[tuple[float, str]]:
    """Return the score and the fill of each mark."""
    lines = [line for line in axes.lines if len(line.get_xdata()) == 1]
    return [(round(float(line.get_xdata()[0])), str(line.get_markerfacecolor())) for line in lines]


@pytest.mark.parametrize("width", [3.03, 5.5, 6.875])
@pytest.mark.parametrize("model_count", [1, 2])
def test_marks_are_at_the_scores(profile: TemporalProfile, model_count: int, width: float) -> None:
    figure = draw_profiles([profile] * model_count, width) if model_count > 1 else draw_profile(profile, width)
    panels = visible_panels(figure)
    assert len(panels) == model_count
    for axes in panels:
        assert [score for score, _ in marks(axes)] == SCORES
        none, middle, shuffled, reverse, planned = (fill for _, fill in marks(axes))
        assert none == middle == shuffled == LOWER_COLOUR and reverse == "#FFFFFF" and planned == STYLE.colour
        assert [label.get_text() for label in axes.get_yticklabels()] == ROWS
        assert any(list(line.get_xdata()) == [50, 50] and line.get_linestyle() == "--" for line in axes.lines), "chance"
        assert axes.get_xlim()[0] < 50 and axes.get_xlim()[1] > 90
    assert figure.get_figwidth() == width and "Not run: mismatched clip, first frame, last frame." in read_text(figure)


def test_page_and_figure_have_the_same_marks(profile: TemporalProfile) -> None:
    page = render_profile(profile)
    matches = re.findall(r'class="tp-mark tp-(\w+)" style="left:([\d.]+)%"', page)
    kinds = ["lower", "lower", "lower", "equal", "planned"]
    assert page.count("<h1") == 1 and "<h1>Temporal profile of Toy</h1>" in page
    assert [(kind, round(float(left))) for kind, left in matches] == list(zip(kinds, SCORES, strict=True))
    assert page.count("Not run in this suite: mismatched clip, first frame, last frame, first frame repeated") == 2, (
        "once below the panels and once below the table"
    )
    legend = ["as planned", "lower than as planned", "not shown to be lower", "chance"]
    assert re.findall(r'<li><span class="tp-key[^>]+></span>([^<]+)</li>', page) == legend
    assert all(title in read_text(draw_profile(profile, 5.5)) for title in legend)
    assert (
        "Main score: BA 90.0 <small>" in page
        and '<h3>TemporalBench <span class="tp-score">90.0</span> <small>accuracy per question' in page
    )


def test_no_mark_is_lower_if_there_are_too_few_clips_for_the_verdict(tmp_path: Path) -> None:
    """Text only is significantly lower, but the data neither show nor exclude a gain over a mismatched clip."""
    right: dict[str, Callable[[int], bool]] = {
        "none": lambda number: number % 10 < 5,
        "mismatched": lambda number: (number + 3) % 10 < 9,
        "planned": lambda number: number % 10 < 9,
    }
    profile, _ = build_profile(
        key_of_rule(tmp_path, lambda condition, number: right[condition](number), conditions=tuple(right))
    )
    (benchmark,) = profile.benchmarks
    none = benchmark.condition("none")
    assert none and none.difference and none.difference.outcome == Outcome.SHOWN
    assert summarize_benchmark(benchmark) == "too few clips to tell"
    (panel,) = visible_panels(draw_profile(profile, 5.5))
    assert LOWER_COLOUR not in [fill for _, fill in marks(panel)]
    page = render_profile(profile)
    assert re.findall(r'class="tp-mark tp-(\w+)"', page) == ["equal", "equal", "planned"]
    for text in (page, read_text(draw_profile(profile, 5.5))):
        assert "not shown to be lower, or too few clips" in text and "lower than as planned" not in text


@pytest.mark.parametrize(
    ("losses", "note"),
    [
        ({"none": 2.0, "middle": 4.9}, ""),
        ({"none": 35.8, "middle": 21.0}, "of 36 (text only), 21 (middle frame) points."),
        (
            {"none": 35.8, "middle": 21.0, "shuffled": 11.0, "reversed": 39.0},
            "of 11 to 39 (under 4 conditions) points.",
        ),
        (dict.fromkeys(("none", "middle", "shuffled", "reversed"), 20.1), "of 20 (under 4 conditions) points."),
    ],
)
def test_losses_that_a_moved_threshold_can_explain_are_noted(
    profile: TemporalProfile, losses: dict[str, float], note: str
) -> None:
    """A loss of at most 5 points is not noted; many losses have a range."""
    (benchmark,) = profile.benchmarks
    conditions = tuple(
        result.model_copy(update={"threshold_loss": losses.get(result.condition, 0.0)})
        for result in benchmark.conditions
    )
    moved = profile.model_copy(update={"benchmarks": (benchmark.model_copy(update={"conditions": conditions}),)})
    page = render_profile(moved)
    assert ("A moved threshold for Yes or A can explain a loss" in page) == bool(note) and note in page


@pytest.mark.parametrize("marker", MARKERS)
def test_the_planned_mark_of_a_page_has_the_style_of_the_model(marker: str) -> None:
    style = build_style_properties(ModelStyle(colour="#000000", marker=marker))
    assert "--tp-model-light: #000000; --tp-model-dark: #ffffff; --tp-outline: polygon(" in style
    corners = [[float(share) for share in re.findall(r"([\d.e+-]+)%", corner)] for corner in style.split(",")]
    assert all(len(corner) == 2 and all(0 <= share <= 100 for share in corner) for corner in corners)
    assert len(corners) >= 4


def test_model_names_are_escaped(profile: TemporalProfile) -> None:
    hostile = profile.model_copy(update={"title": "<script>alert(1)</script>", "notice": "<b>toy</b>"})
    for page in (render_profile(hostile), render_profiles([hostile])):
        assert "<script" not in page and "<b>toy" not in page and "&lt;script&gt;" in page


def test_profiles_without_answers_give_an_empty_figure(profile: TemporalProfile) -> None:
    without = tuple(benchmark.model_copy(update={"questions": 0}) for benchmark in profile.benchmarks)
    empty = profile.model_copy(update={"benchmarks": without})
    assert not visible_panels(draw_profile(empty, 3.25)) and not visible_panels(draw_profiles([empty, empty], 5.5))
    assert not visible_panels(draw_profiles([], 5.5))
    assert len(CONDITIONS) == 11
