"""Scores of VELOCITI's answers: strict, classic and as multiple choice."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.analysing import groups_there
from reprise.benchmarks.rows import is_in
from reprise.benchmarks.scoring import Answered, Scores
from reprise.benchmarks.velociti.analysed import FACETS, VERB_GROUPS
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.stats.measures import Measure, Ratios, difference, mean, measure, ones

AVERAGE = "average"
MEANS = {AVERAGE: TESTS, **FACETS}
"""the mean of tests -> the tests"""
GROUPS = (
    {test: pl.col("task") == test for test in (CONTROL, *TESTS)}
    | {mean_of: pl.col("task").is_in(tests) for mean_of, tests in MEANS.items()}
    | {name: is_in(name) & pl.col("task").is_in(TESTS) for name in VERB_GROUPS}
)
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}


class Share(NamedTuple):
    """Of the samples in which `among` holds, those in which `right` does; columns of `_samples`."""

    right: str
    among: str | None = None


STRICT, CLASSIC = Share("both"), Share("above")
# StrictVLE, and the paper's analysis of it: positive captions judged right, and negative ones where the positive is.
ENTAILED = {"strict": STRICT, "positive": Share("pos_right"), "negative": Share("both", among="pos_right")}
CHOSEN = {"mc_a": Share("a_right"), "mc_b": Share("b_right"), "mc_both": STRICT}


def _samples(roles: Sequence[str], answered: Answered) -> pl.DataFrame:
    """One row per sample: both answers of an item side by side.

    By the authors' convention a sample with an answer that failed or could not be read is left out.
    """
    wide = answered.items.select("item_id", "unit", "task", "groups")
    for role in roles:
        one = answered.verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        wide = wide.join(one, on="item_id", how="inner")
    found = wide.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both=pl.all_horizontal(f"{role}_right" for role in roles),
    )
    return found if answered.convention == "fixed" else found.filter(~pl.col("failed") & ~pl.col("unparsed"))


def _captions(answered: Answered) -> pl.DataFrame:
    """One row per sample, and whether its positive caption scores above the negative; a missing score is no order."""
    samples = _samples(("pos", "neg"), answered)
    return samples.with_columns(above=(pl.col("pos_score") > pl.col("neg_score")).fill_null(False))


_choices = partial(_samples, ("a", "b"))


def _has_scores(samples: pl.DataFrame) -> bool:
    return bool(samples["pos_score"].is_not_null().any())


def _entailment(answered: Answered, level: float) -> list[Measure]:
    """StrictVLE and its analysis, and ClassicVLE where there are scores."""
    samples = _captions(answered)
    return _shares(samples, ENTAILED | ({"classic": CLASSIC} if _has_scores(samples) else {}), level)


def _similarity(answered: Answered, level: float) -> list[Measure]:
    """ClassicVLE."""
    return _shares(_captions(answered), {"classic": CLASSIC}, level)


def _multiple_choice(answered: Answered, level: float) -> list[Measure]:
    """Accuracy with the positive caption as A, as B, in both orders, and the bias B minus A."""
    samples = _choices(answered)
    found = _shares(samples, CHOSEN, level)
    for test, rows in _tests(samples):
        found.append(measure("mc_bias", test, rows, _bias(rows), level, difference))
    seven = samples.filter(GROUPS[AVERAGE])
    ratios = [ratio for test in TESTS for ratio in _bias(seven, only=test)]
    found.append(measure("mc_bias", AVERAGE, seven, ratios, level, _mean_difference))
    return found


def _bias(rows: pl.DataFrame, only: str | None = None) -> list[tuple[pl.Series, pl.Series]]:
    return [_ratio(rows, CHOSEN[metric], only) for metric in ("mc_b", "mc_a")]


def _mean_difference(ratios: Ratios) -> Ratios:
    return mean(ratios[:, 0::2] - ratios[:, 1::2])


def _shares(samples: pl.DataFrame, shares: Mapping[str, Share], level: float) -> list[Measure]:
    """Each share for each test and kind of action, and the means of tests; Control counts in none of these."""
    found = []
    parts = [*_tests(samples), *((name, samples.filter(GROUPS[name])) for name in groups_there(samples, VERB_GROUPS))]
    for metric, share in shares.items():
        found += [measure(metric, group, rows, [_ratio(rows, share)], level) for group, rows in parts]
        for mean_of, tests in MEANS.items():
            rows = samples.filter(GROUPS[mean_of])
            ratios = [_ratio(rows, share, only=test) for test in tests]
            found.append(measure(metric, mean_of, rows, ratios, level, mean))
    return found


def _tests(samples: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(test, samples.filter(GROUPS[test])) for test in (CONTROL, *TESTS)]


def _ratio(rows: pl.DataFrame, share: Share, only: str | None = None) -> tuple[pl.Series, pl.Series]:
    """Numerator and denominator of a share, row by row; of one test if it is named."""
    inside = ones(rows) if only is None else (rows["task"] == only).cast(pl.Float64)
    below = inside * (rows[share.among].cast(pl.Float64) if share.among else ones(rows))
    return rows[share.right].cast(pl.Float64) * below, below


def _right(samples: pl.DataFrame, metric: str, share: Share) -> dict[str, pl.DataFrame]:
    return {metric: samples.select("item_id", "unit", "task", pl.col(share.right).alias("right"))}


def _classic_outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    samples = _captions(answered)
    return _right(samples, "classic", CLASSIC) if _has_scores(samples) else {}


def _strict_outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    return _right(_captions(answered), "strict", STRICT) | _classic_outcomes(answered)


def _choice_outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    return _right(_choices(answered), "mc_both", STRICT)


SCORES = {
    "entail": Scores(frozenset({*ENTAILED, "classic"}), _entailment, _strict_outcomes, "strict", TESTS),
    "similarity": Scores(frozenset({"classic"}), _similarity, _classic_outcomes, "classic", TESTS),
    "mc": Scores(frozenset({*CHOSEN, "mc_bias"}), _multiple_choice, _choice_outcomes, "mc_both", TESTS),
}
