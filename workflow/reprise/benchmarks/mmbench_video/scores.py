"""Scores of MMBench-Video's answers: mean ratings from 0 to 3, over a taxonomy of abilities."""

from functools import partial

import polars as pl

from reprise.benchmarks.analysing import groups_there
from reprise.benchmarks.mmbench_video.analyses import ANALYSED
from reprise.benchmarks.mmbench_video.images.scores import SCORES as IMAGE_SCORES
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.benchmarks.mmbench_video.taxonomy import HALVES, LEAVES, OVERALL, OWN_NAME, SCORINGS, other_sets
from reprise.benchmarks.rows import chosen_items, is_in
from reprise.benchmarks.scoring import Answered, Scores, in_group
from reprise.stats.measures import Measure, measure, ones

GROUPS = RELEASED_GROUPS | {name: is_in(name) for name in ANALYSED}
CHANCE: dict[str, float | None] = {"accuracy": None}
# `mae` compares a judge with people, where somebody has people's ratings.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
BEST = 3
BEST_OF_SET = {SCORINGS["0 to 5"]: 5}
"""highest rating, where it is another one"""


def _ratings(form: str, answered: Answered, level: float) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    The authors' convention differs where an unpacked answer failed: the harness puts its failure message to the judge
    like an answer, so that it stays in `valid`, with 0.
    """
    rows = _rows(answered)
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
        found += _of_set(group, inside, inside["score"], _best(inside), level)
    return found


def _best(rows: pl.DataFrame) -> int:
    """The highest rating that these answers can have; a set has one scoring."""
    return next((best for group, best in BEST_OF_SET.items() if not chosen_items(rows, group).is_empty()), BEST)


def _of_set(group: str, rows: pl.DataFrame, scores: pl.Series, best: int, level: float) -> list[Measure]:
    """Table 2: the mean as it is, and scaled to 0 to 100."""
    whole = [(scores, ones(rows))]
    return [
        measure(metric, group, rows, whole, level=level, limits=(0, best), scale=scale)
        for metric, scale in (("original_score", 1), ("normalized_score", 100 / best))
    ]


def _choices(answered: Answered, level: float) -> list[Measure]:
    """The share of right answers to each set's questions; what failed or could not be read is wrong."""
    rows = _rows(answered)
    members = {name: in_group(rows, name, GROUPS) for name in other_sets(answered.items)}
    of_sets = [_of_set(name, one, one["right"].cast(pl.Float64), 1, level) for name, one in members.items()]
    return [found for of_set in of_sets for found in of_set]


def _rows(answered: Answered) -> pl.DataFrame:
    """The items that were asked about, with what was said of their answers."""
    given = answered.verdicts.select("item_id", "score", "right", "failed", "unparsed")
    return answered.items.join(given, on="item_id", how="inner", maintain_order="left")


def _outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one."""
    rated = pl.col("score").fill_null(0.0) / _best(answered.items)
    return {"mean": _rows(answered).select("item_id", "unit", task=pl.lit(OVERALL), right=rated)}


def _outcomes_of_choices(answered: Answered) -> dict[str, pl.DataFrame]:
    """Whether each question is answered right."""
    return {"original_score": _rows(answered).select("item_id", "unit", "task", "right")}


SCORES = {
    **{form: Scores(METRICS, partial(_ratings, form), _outcomes, "mean", best=BEST) for form in ("unpacked", "packed")},
    "set_choice": Scores(
        frozenset({"original_score", "normalized_score"}), _choices, _outcomes_of_choices, "original_score"
    ),
    **IMAGE_SCORES,
}
