"""Chance levels against the values that the papers type."""

from itertools import permutations

import pytest
from reprise.stats.chance import chance_all_above, chance_all_right


@pytest.mark.parametrize(("options", "expected"), [
    ([[2]], 1 / 2),
    ([[2, 2, 2]], 1 / 8),
    ([[2, 4]], 1 / 8),
    ([[1]], 1.0),
    ([[2], [2, 2]], (1 / 2 + 1 / 4) / 2),
    ([], None),
])  # fmt: skip
def test_chance_of_answering_all_questions_of_a_video(options: list[list[int]], expected: float | None) -> None:
    assert chance_all_right(options) == (None if expected is None else pytest.approx(expected, abs=1e-15))


def by_permutations(pairs: list[tuple[str, str]]) -> float:
    """Every order of the texts, counted."""
    texts = sorted({text for pair in pairs for text in pair})
    orders = [dict(zip(order, range(len(texts)), strict=True)) for order in permutations(texts)]
    return sum(all(rank[a] > rank[b] for a, b in pairs) for rank in orders) / len(orders)


@pytest.mark.parametrize(("pairs", "expected"), [
    ([("p", "n")], 1 / 2),
    ([("p", "a"), ("p", "b"), ("p", "c")], 1 / 4),
    ([("p", "a"), ("p", "a")], 1 / 2),
    ([("p", "a"), ("p", "b"), ("q", "c")], 1 / 6),
    ([("p", "n"), ("q", "n")], 1 / 3),
    ([("p", "q"), ("q", "n")], 1 / 6),
    ([("p", "a"), ("q", "a"), ("q", "b"), ("r", "b")], None),
    ([("p", "q"), ("q", "p")], 0),
    ([("p", "p")], 0),
    ([("p", str(n)) for n in range(7)], 1 / 8),
])  # fmt: skip
def test_one_score_a_text_wins_all_its_pairs(pairs: list[tuple[str, str]], expected: float | None) -> None:
    found = chance_all_above(pairs)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-15)
    assert found == pytest.approx(by_permutations(pairs), abs=1e-15)
