"""What asking will take, reckoned by hand."""

import polars as pl
import pytest
from reprise.core.schemas import TIMINGS
from reprise.plan.costs import Estimate, Load, Measured, Range, estimate, measured, seconds_by, tokens_by

# 10 clips of 8 frames, 100 questions: 2 s a clip once, half a second a question.
DONE = Measured(Load(100, 10, 80), once_s=20, asking_s=50, is_encoded_once=True, tokens=1000)
ANEW = DONE._replace(is_encoded_once=False)
BLIND = Measured(Load(100, 10, 0), once_s=0, asking_s=10, is_encoded_once=False, tokens=60)


@pytest.mark.parametrize(
    ("one", "load", "seconds"),
    [
        (DONE, Load(400, 20, 160), 20 * 2 + 400 * 0.5),  # as many frames a clip
        (DONE, Load(400, 20, 320), 20 * 4 + 400 * 0.5),  # twice as many: what is done once takes twice as long
        (ANEW, Load(400, 20, 320), 20 * 4 + 400 * 1.0),  # and here each question, too
        (DONE, Load(10, 10, 40), 10 * 1 + 10 * 0.5),  # half as many
        (BLIND, Load(50, 5, 0), 5),
        (BLIND, Load(50, 5, 40), None),  # a blind run says nothing of one with frames
        (DONE, Load(50, 5, 0), None),  # nor the other way round
        (DONE, Load(50, 5, None), None),
    ],
)  # fmt: skip
def test_seconds(one: Measured, load: Load, seconds: float | None) -> None:
    assert seconds_by(one, load) == (None if seconds is None else pytest.approx(seconds))


def test_the_surest_source_counts_and_its_range_says_how_sure_it_is() -> None:
    load = Load(400, 20, 160)  # 240 s by DONE
    own = DONE._replace(error=0.1)  # two standard errors: a fifth
    found = {"itself": [own], "benchmark": [BLIND, DONE], "model": [DONE]}
    assert estimate(load, found) == Estimate(Range(240 / 1.2, 240 * 1.2), "itself")  # type: ignore[arg-type]
    assert estimate(load, {"benchmark": [BLIND, DONE]}) == Estimate(Range(160, 360), "benchmark")
    assert estimate(load, {"model": [DONE, DONE._replace(once_s=30, asking_s=75)]}) == Estimate(
        Range(120, 720), "model"
    )
    assert estimate(load, {"itself": [DONE]}) == Estimate(Range(160, 360), "itself"), "one clip says nothing of others"
    assert estimate(load, {"model": [BLIND]}) is None and estimate(load, {}) is None
    assert estimate(Load(0, 0, 0), {}) == Estimate(Range(0, 0), "itself")


def test_tokens_grow_with_questions_and_frames() -> None:
    assert tokens_by(Load(400, 20, 160), [DONE]) == 400_000
    assert tokens_by(Load(400, 20, 320), [DONE, BLIND]) == 800_000
    assert tokens_by(Load(400, 20, 160), [DONE, DONE._replace(tokens=2000)]) == 600_000
    assert tokens_by(Load(400, 20, 160), [BLIND, DONE._replace(tokens=None)]) is None
    assert tokens_by(Load(0, 0, 0), []) == 0


def test_what_a_table_of_timings_says() -> None:
    """Clips of 4 and 12 s; what is not known counts for nothing, and waiting is beside the seconds of the answers."""
    rows = [
        {"clip_id": "a", "requests": 2, "seconds": 3.0, "waiting": 1.0, "encode": 2.0, "decode": 9.0},
        {"clip_id": "b", "requests": 4, "seconds": 11.0, "waiting": 1.0, "encode": None},
        {"clip_id": "unknown time", "requests": 7, "seconds": None},
        {"clip_id": "unknown frames", "requests": 7, "seconds": 1.0},
    ]
    table = pl.DataFrame(rows, schema=TIMINGS)
    found = measured(table, {"a": 8, "b": 16, "unknown time": 8}, tokens=30)
    assert found is not None
    assert found._replace(error=None) == Measured(Load(6, 2, 24), 1 + 1 + 2, 3 - 2 + 11, True, 30)
    # Mean 8, standard deviation of 4 and 12 is the root of 32, of the mean of two the root of 16.
    assert found.error == pytest.approx(4 / 8)
    assert measured(table, {}, None) is None
    alone = measured(table, {"a": 8}, None)
    assert alone is not None and alone.error is None
