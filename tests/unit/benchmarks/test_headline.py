"""Test the headline score of a run: the choice of its metric and group, and its chance level."""

from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.headline import HeadlineScore, find_chance, find_headline_score
from reprise.core.schemas import METRICS


def make_metrics(*rows: dict[str, Any]) -> pl.DataFrame:
    defaults = {"convention": "fixed", "low": 20.0, "high": 60.0, "p_chance": None, "requested": 10}
    return pl.DataFrame([defaults | row for row in rows], schema=METRICS)


def test_the_score_of_averaged_tasks_is_their_average() -> None:
    metrics = make_metrics(
        {"metric": "strict", "group": "control", "value": 90.0, "requested": 99},
        {"metric": "strict", "group": "average", "value": 80.0, "convention": "authors"},
        {"metric": "strict", "group": "average", "value": 40.0, "p_chance": 0.001},
        {"metric": "classic", "group": "average", "value": 70.0},
    )
    score = find_headline_score(metrics, "velociti", "entail")
    assert score == HeadlineScore("strict", "average", 40.0, 20.0, 60.0, 0.001, 10, 25.0, 100)
    assert score.is_above_chance
    assert find_headline_score(metrics, "velociti", "mc") is None, "the run has no number of this form"


def test_other_scores_are_those_of_the_largest_group() -> None:
    metrics = make_metrics(
        {"metric": "group", "group": "object", "value": 90.0},
        {"metric": "group", "group": "all", "value": 30.0, "requested": 24, "p_chance": 0.2},
        {"metric": "group", "group": "action", "value": float("nan"), "requested": 99},
    )
    score = find_headline_score(metrics, "vinoground", "questions")
    assert score is not None
    assert (score.value, score.chance, score.is_above_chance) == (30.0, 6.25, False)
    by_similarity = find_headline_score(metrics, "vinoground", "similarity")
    assert by_similarity is not None and by_similarity.chance == pytest.approx(100 / 6)


@pytest.mark.parametrize(("low", "is_above"), [(20.0, True), (5.0, False), (None, None)])
def test_a_chance_level_can_depend_on_the_data(low: float | None, is_above: bool | None) -> None:
    statistics = make_metrics({"metric": "chance.short.mba", "group": "overall", "value": 9.5})
    metrics = make_metrics({"metric": "mba", "group": "overall", "value": 40.0, "low": low})
    score = find_headline_score(metrics, "temporalbench", "short", statistics)
    assert score is not None and (score.chance, score.is_above_chance) == (9.5, is_above)
    assert find_chance("temporalbench", "short", "mba", "overall") is None, "unknown without the statistics"
    assert find_chance("mmbench_video", "unpacked", "mean", "overall") is None, "ratings have no chance level"
