"""Scores of MMBench-Video's answers: mean ratings from 0 to 3, over a taxonomy of abilities."""

from functools import partial

import polars as pl

from reprise.benchmarks.analysing import groups_there
from reprise.benchmarks.mmbench_video.analysed import ANALYSED
from reprise.benchmarks.mmbench_video.images.scores import SCORES as IMAGE_SCORES
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.benchmarks.mmbench_video.taxonomy import HALVES, LEAVES, OVERALL, OWN_NAME, other_sets
from reprise.benchmarks.rows import is_in
from reprise.benchmarks.scoring import Answered, Scores, in_group
from reprise.stats.measures import Measure, measure, ones

GROUPS = RELEASED_GROUPS | {name: is_in(name) for name in ANALYSED}
CHANCE: dict[str, float | None] = {"accuracy": None}
# `mae` compares a judge with people, where somebody has people's ratings.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
BEST = 3


def _ratings(form: str, answered: Answered, level: float) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    The authors' convention differs where an unpacked answer failed: the harness puts its failure message to the judge
    like an answer, so that it stays in `valid`, with 0.
    """
    rows = _rated(answered)
    keeps_failed = answered.convention == "authors" and form == "unpacked"
    given = rows["score"].is_not_null() | (rows["failed"] if keeps_failed else False)
    rows = rows.with_columns(given=given.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    found = []
    as_rated = partial(measure, level=level, limits=(0, BEST), scale=1)
    sets = other_sets(answered.items)
    for group in () if sets else (*LEAVES, *HALVES, OVERALL, *groups_there(rows, ANALYSED)):
        inside = in_group(rows, group, GROUPS)
        rated, given = inside["score"] * inside["given"], inside["given"]
        found.append(as_rated("mean", group, inside, [(inside["score"], ones(inside))]))
        found.append(as_rated("valid", group, inside, [(rated, given)]))
    for group in sets or [OWN_NAME]:
        inside = in_group(rows, group, GROUPS)
        whole = [(inside["score"], ones(inside))]
        found.append(as_rated("original_score", group, inside, whole))
        found.append(as_rated("normalized_score", group, inside, whole, scale=100 / BEST))
    return found


def _rated(answered: Answered) -> pl.DataFrame:
    rated = answered.verdicts.select("item_id", "score", "failed", "unparsed")
    return answered.items.select("item_id", "unit", "task", "groups").join(rated, on="item_id", maintain_order="left")


def _outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one."""
    rows = _rated(answered).with_columns(right=pl.col("score").fill_null(0.0) / BEST, task=pl.lit(OVERALL))
    return {"mean": rows.select("item_id", "unit", "task", "right")}


SCORES = {form: Scores(METRICS, partial(_ratings, form), _outcomes) for form in ("unpacked", "packed")} | IMAGE_SCORES
