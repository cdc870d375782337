"""The picture and the page: every part is a bar from the score before it to the score after it."""

import re
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from reprise.timecard.card import Card
from reprise.timecard.measure import card_of
from reprise.timecard.page import all_page, card_page
from reprise.timecard.picture import WIDTH, draw_all, draw_card

from tests.unit.timecard.made_views import key_of_rule

# 60 % right as planned, 90 % shuffled, 70 % by one frame, 50 % by words: order takes away.
RIGHT = {"planned": 6, "shuffled": 9, "middle": 7, "none": 5}
STAIRS = [(0, 50), (50, 20), (70, 20), (90, -30)]


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return card_of(key_of_rule(tmp_path, lambda view, at: at % 10 < RIGHT[view], views=tuple(RIGHT)))[0]


def panels(figure: Figure) -> list[Axes]:
    def inside(part: Figure | SubFigure) -> list[Axes]:
        return [*part.axes, *(axes for one in part.subfigs for axes in inside(one))]

    return list(dict.fromkeys(axes for axes in inside(figure) if axes.get_visible()))


def bars(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


@pytest.mark.parametrize("of_all", [False, True])
def test_bars_are_a_staircase_that_goes_back_where_a_part_is_negative(card: Card, of_all: bool) -> None:
    figure = draw_all([card, card]) if of_all else draw_card(card)
    (axes,) = panels(figure)
    found = bars(axes)
    assert [(round(bar.get_x()), round(bar.get_width())) for bar in found] == STAIRS * (2 if of_all else 1)
    assert [bool(bar.get_hatch()) for bar in found[:4]] == [False, False, False, True]
    assert figure.get_figwidth() == WIDTH
    assert any(list(line.get_xdata()) == [50, 50] and line.get_linestyle() == "--" for line in axes.lines), "chance"
    assert axes.get_xlim()[0] <= 0 and axes.get_xlim()[1] > 90


def test_bars_of_the_page_stand_where_those_of_the_picture_do(card: Card) -> None:
    found = re.findall(r'class="tc-bar tc-(\w+)( tc-back)?" style="left:([\d.]+)%;width:([\d.]+)%"', card_page(card))
    assert [(name, bool(back), round(float(left)), round(float(width))) for name, back, left, width in found] == [
        ("words", False, 0, 50), ("one_frame", False, 50, 20), ("set", False, 70, 20), ("order", True, 60, 30),
    ]  # fmt: skip
    assert "Not asked: frames reversed, first frame repeated, another clip: left out by the" in card_page(card)


def test_a_name_of_a_model_is_text(card: Card) -> None:
    hostile = card.model_copy(update={"title": "<script>alert(1)</script>", "notice": "<b>toy</b>"})
    for page in (card_page(hostile), all_page([hostile])):
        assert "<script" not in page and "<b>toy" not in page and "&lt;script&gt;" in page


def test_nothing_to_show_is_said(card: Card) -> None:
    without = tuple(one.model_copy(update={"parts": ()}) for one in card.benchmarks)
    empty = card.model_copy(update={"benchmarks": without})
    assert not panels(draw_card(empty)) and not panels(draw_all([empty])) and not panels(draw_all([]))
