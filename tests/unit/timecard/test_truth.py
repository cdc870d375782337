"""Models whose use of time is known by how they are made: the card says of each what it is."""

from pathlib import Path

import pytest
from reprise.timecard.measure import card_of

from tests.unit.timecard.made_views import Rule, key_of_rule


def guess(at: int) -> bool:
    """A guess that depends on the question only: right half of the time."""
    return at * 7 % 10 < 5


def words_only(view: str, at: int) -> bool:
    """It reads the question: 70 of 100 right, whatever is shown."""
    return at * 7 % 10 < 7


def one_frame(view: str, at: int) -> bool:
    """It recognises what any frame of the clip shows, in four of five clips."""
    return at % 5 > 0 if view not in ("none", "another") else guess(at)


def first_place(view: str, at: int) -> bool:
    """It looks at the first picture that it gets, and what is asked is seen at the start of the clip only."""
    return at % 5 > 0 if view in ("planned", "first") else guess(at)


def bag(view: str, at: int) -> bool:
    """It needs several different frames in any order."""
    return at % 5 > 0 if view in ("planned", "shuffled", "reversed") else guess(at)


def order(view: str, at: int) -> bool:
    """It needs all frames in their order."""
    return at % 5 > 0 if view == "planned" else guess(at)


@pytest.mark.parametrize(
    ("rule", "verdict", "said", "order_part"),
    [
        (words_only, "words", ["No use of the video is shown on TemporalBench: showing no video changes the score by 0.0 points"], 0),
        (one_frame, "frame", ["The video matters on TemporalBench, no use of more than one frame is shown"], 0),
        (first_place, "frame", ["no use of more than one frame is shown", "the first frame repeated changes the score by 0.0",
                                "yet shuffling the frames loses 30.0 points"], 30),
        (bag, "frames", ["Several frames matter on TemporalBench, no use of their order is shown"], 0),
        (order, "order", ["Order matters on TemporalBench: shuffling the frames loses 30.0 points ["], 30),
    ],
)  # fmt: skip
def test_a_model_is_called_what_it_is(
    rule: Rule, verdict: str, said: list[str], order_part: float, tmp_path: Path
) -> None:
    (found,) = card_of(key_of_rule(tmp_path, rule))[0].benchmarks
    assert found.verdict == verdict and all(words in found.sentence for words in said)
    planned, part = found.view("planned"), found.part("order")
    assert planned and sum(part.number.value for part in found.parts) == pytest.approx(planned.score.value, abs=1e-9)
    assert part and part.number.value == pytest.approx(order_part) and part.number.low is not None
    if not order_part:  # of what needs no order exactly none is due to it
        assert (part.number.value, part.p) == (0.0, 1.0)
        assert part.number.low == pytest.approx(-part.number.high) and part.number.low < 0  # type: ignore[operator]
