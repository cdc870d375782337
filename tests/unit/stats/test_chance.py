"""Chance levels against the values that the papers type."""

import pytest
from reprise.stats import (
    PairChance,
    chance_all_right,
    chance_classic,
    chance_pair_answers,
    chance_pair_similarities,
    chance_strict,
)


def test_velociti_strict_is_a_quarter_and_classic_a_half() -> None:
    assert chance_strict() == 0.25
    assert chance_classic() == 0.5


def test_vinoground_by_similarities_is_a_quarter_a_quarter_and_a_sixth() -> None:
    assert chance_pair_similarities() == PairChance(text=1 / 4, video=1 / 4, group=1 / 6)


def test_vinoground_by_answers_is_a_quarter_a_quarter_and_a_sixteenth() -> None:
    assert chance_pair_answers() == PairChance(text=1 / 4, video=1 / 4, group=1 / 16)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([[2]], 1 / 2),
        ([[2, 2, 2]], 1 / 8),
        ([[2, 4]], 1 / 8),
        ([[1]], 1.0),
        ([[2], [2, 2]], (1 / 2 + 1 / 4) / 2),
    ],
)
def test_chance_of_answering_all_questions_of_a_video(options: list[list[int]], expected: float) -> None:
    assert chance_all_right(options) == pytest.approx(expected, abs=1e-15)


def test_no_video_has_no_chance_level() -> None:
    assert chance_all_right([]) is None


@pytest.mark.parametrize("options", [[], [0], [2, -1]])
def test_a_video_without_questions_or_options_is_refused(options: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one option"):
        chance_all_right([[2], options])
