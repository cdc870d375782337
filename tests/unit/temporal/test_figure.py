"""The figure and the page: every part is a bar from the score before it to the score after it."""

import re
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from reprise.temporal.figure import WIDTH, draw_profile, draw_profiles
from reprise.temporal.measure import build_profile
from reprise.temporal.page import render_profile, render_profiles
from reprise.temporal.profile import TemporalProfile

from tests.unit.temporal.profile_inputs import key_of_rule

# 60 % right as planned, 90 % shuffled, 70 % with one frame, 50 % with words: the part due to order is negative.
RIGHT = {"planned": 6, "shuffled": 9, "middle": 7, "none": 5}
STAIRS = [(0, 50), (50, 20), (70, 20), (90, -30)]


@pytest.fixture
def profile(tmp_path: Path) -> TemporalProfile:
    return build_profile(
        key_of_rule(tmp_path, lambda condition, at: at % 10 < RIGHT[condition], conditions=tuple(RIGHT))
    )[0]


def panels(figure: Figure) -> list[Axes]:
    def inside(part: Figure | SubFigure) -> list[Axes]:
        return [*part.axes, *(axes for subfigure in part.subfigs for axes in inside(subfigure))]

    return list(dict.fromkeys(axes for axes in inside(figure) if axes.get_visible()))


def bars(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


@pytest.mark.parametrize("of_all", [False, True])
def test_bars_form_a_staircase_and_negative_parts_go_back(profile: TemporalProfile, of_all: bool) -> None:
    figure = draw_profiles([profile, profile]) if of_all else draw_profile(profile)
    (axes,) = panels(figure)
    rectangles = bars(axes)
    assert [(round(bar.get_x()), round(bar.get_width())) for bar in rectangles] == STAIRS * (2 if of_all else 1)
    assert [bool(bar.get_hatch()) for bar in rectangles[:4]] == [False, False, False, True]
    assert figure.get_figwidth() == WIDTH
    assert any(list(line.get_xdata()) == [50, 50] and line.get_linestyle() == "--" for line in axes.lines), "chance"
    assert axes.get_xlim()[0] <= 0 and axes.get_xlim()[1] > 90


def test_page_and_figure_have_the_same_bars(profile: TemporalProfile) -> None:
    matches = re.findall(
        r'class="tp-bar tp-(\w+)( tp-back)?" style="left:([\d.]+)%;width:([\d.]+)%"', render_profile(profile)
    )
    assert [(name, bool(back), round(float(left)), round(float(width))) for name, back, left, width in matches] == [
        ("words", False, 0, 50), ("one_frame", False, 50, 20), ("set", False, 70, 20), ("order", True, 60, 30),
    ]  # fmt: skip
    assert "Not run: frames reversed, first frame repeated, mismatched clip: left out by the" in render_profile(profile)


def test_model_names_are_escaped(profile: TemporalProfile) -> None:
    hostile = profile.model_copy(update={"title": "<script>alert(1)</script>", "notice": "<b>toy</b>"})
    for page in (render_profile(hostile), render_profiles([hostile])):
        assert "<script" not in page and "<b>toy" not in page and "&lt;script&gt;" in page


def test_profiles_without_parts_give_an_empty_figure(profile: TemporalProfile) -> None:
    without = tuple(benchmark.model_copy(update={"parts": ()}) for benchmark in profile.benchmarks)
    empty = profile.model_copy(update={"benchmarks": without})
    assert not panels(draw_profile(empty)) and not panels(draw_profiles([empty])) and not panels(draw_profiles([]))
