"""Numbers of a plan as they are printed: a range of time in the unit that fits, counts in few signs."""

import pytest
from reprise.commands.plan import in_words, of_known, short
from reprise.plan.costs import Range


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 0, "0 s"), (0.1, 0.9, "<1 s"), (20, 89, "20-89 s"), (20.2, 20.4, "20 s"), (30, 90, "0.5-1.5 min"),
        (600, 1800, "10-30 min"), (3600, 5400, "1.0-1.5 h"), (7200, 7210, "2.0 h"), (30_000, 90_000, "8.3-25 h"),
        (3_600_000, 7_200_000, "1,000-2,000 h"),
    ],
)  # fmt: skip
def test_time(low: float, high: float, words: str) -> None:
    assert in_words(Range(low, high)) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(None, "?"), (0, "0"), (999, "999"), (1000, "1.0k"), (99_949, "99.9k"), (123_456, "123k"), (4_140_000, "4.1M"), (2e9, "2.0G")],
)  # fmt: skip
def test_counts(count: float | None, words: str) -> None:
    assert short(count) == words


def test_what_is_unknown_is_no_part_of_a_sum() -> None:
    assert of_known("5", 2, 2) == "5"
    assert of_known("5", 2, 3) == "at least 5 (unknown of 1 of 3 runs)"
    assert of_known("0", 0, 3) == "?"
