"""Models whose use of time is known by how they are made: the card says of each what it is."""

from pathlib import Path

import pytest
from reprise.timecard.measure import card_of

from tests.unit.timecard.made_views import key_of_rule

EVERY = ("planned", "shuffled", "reversed", "first", "middle", "none", "another")


@pytest.mark.parametrize(
    ("sees", "verdict", "said", "order_part"),
    [
        ((), "words", ["No use of the video is shown on TemporalBench: showing no video changes the score by 0.0 points"], 0),
        (EVERY[:5], "frame", ["The video matters on TemporalBench, no use of more than one frame is shown"], 0),  # any frame shows it
        (("planned", "first"), "frame",  # it is seen at the start of the clip, in the first picture
         ["no use of more than one frame is shown", "the first frame repeated changes the score by 0.0", "yet shuffling the frames loses 30.0 points"], 30),
        (EVERY[:3], "frames", ["Several frames matter on TemporalBench, no use of their order is shown"], 0),
        (EVERY[:1], "order", ["Order matters on TemporalBench: shuffling the frames loses 30.0 points ["], 30),
    ],
)  # fmt: skip
def test_a_model_is_called_what_it_is(
    sees: tuple[str, ...], verdict: str, said: list[str], order_part: float, tmp_path: Path
) -> None:
    """Under these views it is right in four of five clips; under others it guesses by the question, half of them right."""
    key = key_of_rule(tmp_path, lambda view, at: at % 5 > 0 if view in sees else at * 7 % 10 < 5)
    (found,) = card_of(key)[0].benchmarks
    assert found.verdict == verdict and all(words in found.sentence for words in said)
    planned, part = found.view("planned"), found.part("order")
    assert planned and sum(part.number.value for part in found.parts) == pytest.approx(planned.score.value, abs=1e-9)
    assert part and part.number.value == pytest.approx(order_part) and part.number.low is not None
    if not order_part:  # of what needs no order exactly none is due to it
        assert (part.number.value, part.p) == (0.0, 1.0)
        assert part.number.low == pytest.approx(-part.number.high) and part.number.low < 0  # type: ignore[operator]
