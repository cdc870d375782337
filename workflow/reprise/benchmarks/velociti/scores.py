"""Scores of VELOCITI's answers: strict, classic and as multiple choice."""

from functools import partial
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.rows import is_in
from reprise.benchmarks.scoring import Answered, Scores, groups_there
from reprise.benchmarks.velociti.analyses import FACETS, VERBS
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.stats.measures import Measure, difference, mean, measure, ones

AVERAGE = "average"
MEANS = {AVERAGE: TESTS, **FACETS}
"""the mean of tests -> the tests"""
GROUPS = (
    {test: pl.col("task") == test for test in (CONTROL, *TESTS)}
    | {mean_of: pl.col("task").is_in(tests) for mean_of, tests in MEANS.items()}
    | {name: is_in(name) & pl.col("task").is_in(TESTS) for name in VERBS}
)
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}


class Share(NamedTuple):
    """Of the samples in which `among` holds, those in which `right` does; columns of `_samples`."""

    right: str
    among: str | None = None


CLASSIC = {"classic": Share("above")}
SHARES = {
    # StrictVLE, and the paper's analysis: positive captions judged right, and negative ones where the positive is.
    "entail": {"strict": Share("both"), "positive": Share("pos_right"), "negative": Share("both", among="pos_right")},
    "similarity": CLASSIC,
    "mc": {"mc_a": Share("a_right"), "mc_b": Share("b_right"), "mc_both": Share("both")},
}
"""form -> its metrics"""


def _samples(form: str, answered: Answered) -> pl.DataFrame:
    """One row per sample: both answers of an item side by side; a missing score is not above the other.

    By the authors' convention a sample with an answer that failed or could not be read is left out.
    """
    wide = answered.items.select("item_id", "unit", "task", "groups")
    first, second = roles = ("a", "b") if form == "mc" else ("pos", "neg")
    for role in roles:
        one = answered.verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        wide = wide.join(one, on="item_id", how="inner")
    found = wide.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both=pl.all_horizontal(f"{role}_right" for role in roles),
        above=(pl.col(f"{first}_score") > pl.col(f"{second}_score")).fill_null(False),
        has_scores=pl.col(f"{first}_score").is_not_null(),
    )
    return found if answered.convention == "fixed" else found.filter(~pl.col("failed") & ~pl.col("unparsed"))


def _measures(form: str, answered: Answered, level: float) -> list[Measure]:
    """Each share for each test and kind of action, and the means of tests; Control counts in none of these.

    Of choices also the bias: with the positive caption as B minus as A. ClassicVLE needs scores.
    """
    samples = _samples(form, answered)
    shares = SHARES[form] | (CLASSIC if form == "entail" and samples["has_scores"].any() else {})
    tests = [(test, samples.filter(GROUPS[test])) for test in (CONTROL, *TESTS)]
    actions = [(name, samples.filter(GROUPS[name])) for name in groups_there(samples, tuple(VERBS))]
    found = []
    for metric, share in shares.items():
        found += [measure(metric, group, rows, [_ratio(rows, share)], level) for group, rows in tests + actions]
        for mean_of, averaged in MEANS.items():
            rows = samples.filter(GROUPS[mean_of])
            ratios = [_ratio(rows, share, only=test) for test in averaged]
            found.append(measure(metric, mean_of, rows, ratios, level, mean))
    if form == "mc":
        both = (shares["mc_b"], shares["mc_a"])
        for test, rows in tests:
            found.append(measure("mc_bias", test, rows, [_ratio(rows, one) for one in both], level, difference))
        rows = samples.filter(GROUPS[AVERAGE])
        ratios = [_ratio(rows, one, only=test) for test in TESTS for one in both]
        found.append(
            measure("mc_bias", AVERAGE, rows, ratios, level, lambda found: mean(found[:, 0::2] - found[:, 1::2]))
        )
    return found


def _ratio(rows: pl.DataFrame, share: Share, only: str | None = None) -> tuple[pl.Series, pl.Series]:
    """Numerator and denominator of a share, row by row; of one test if it is named."""
    inside = ones(rows) if only is None else (rows["task"] == only).cast(pl.Float64)
    below = inside * (rows[share.among].cast(pl.Float64) if share.among else ones(rows))
    return rows[share.right].cast(pl.Float64) * below, below


def _outcomes(form: str, answered: Answered) -> dict[str, pl.DataFrame]:
    """Whether each sample is right, by the metrics that tables lead with."""
    samples = _samples(form, answered)
    columns = {"entail": {"strict": "both"}, "similarity": {}, "mc": {"mc_both": "both"}}[form]
    if samples["has_scores"].any() and form != "mc":
        columns = columns | {"classic": "above"}
    return {metric: samples.select("item_id", "unit", "task", right=column) for metric, column in columns.items()}


SCORES = {
    form: Scores(
        frozenset({*SHARES[form], more}), partial(_measures, form), partial(_outcomes, form), headline, averaged=TESTS
    )
    for form, more, headline in (
        ("entail", "classic", "strict"),
        ("similarity", "classic", "classic"),
        ("mc", "mc_bias", "mc_both"),
    )
}
