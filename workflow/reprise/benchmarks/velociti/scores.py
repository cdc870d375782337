"""What VELOCITI's answers are worth: strict, classic and as multiple choice."""

import polars as pl

from reprise.benchmarks.velociti.taxonomy import AVERAGE, CONTROL, TESTS
from reprise.benchmarks.velociti.taxonomy import GROUPS as GROUPS
from reprise.stats.measures import Measure, Ratios, Resampling, difference, mean, measure, ones

FORMS = {
    "entail": frozenset({"strict", "classic", "positive", "negative"}),
    "mc": frozenset({"mc_a", "mc_b", "mc_bias", "mc_both"}),
    "similarity": frozenset({"classic"}),
}
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """All metrics of a form, for Control, each test and their average.

    `drop_unread` is the authors' convention: a sample with an answer that failed or could not be read leaves the
    denominator. Otherwise it stays and counts as wrong.
    """
    samples = _samples(form, items, verdicts)
    if drop_unread:
        samples = samples.filter(~pl.col("failed") & ~pl.col("unparsed"))
    if form == "similarity":
        return _by_test(_with_order(samples), "classic", "above", None, resampling)
    return _entailment(samples, resampling) if form == "entail" else _multiple_choice(samples, resampling)


def _samples(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row a sample: both answers of an item side by side."""
    roles = ("a", "b") if form == "mc" else ("pos", "neg")
    wide = items.select("item_id", "unit", "task")
    for role in roles:
        one = verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        wide = wide.join(one, on="item_id", how="inner")
    return wide.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both=pl.all_horizontal(f"{role}_right" for role in roles),
    )


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a sample (item_id, unit, task, right), for comparing two models sample by sample."""
    samples = _samples(form, items, verdicts)
    if form != "mc":
        samples = _with_order(samples)
    columns = {
        "entail": {"strict": "both", "classic": "above"},
        "similarity": {"classic": "above"},
        "mc": {"mc_both": "both"},
    }[form]
    return {
        metric: samples.select("item_id", "unit", "task", pl.col(column).alias("right"))
        for metric, column in columns.items()
        if metric != "classic" or samples["pos_score"].is_not_null().any()
    }


def _with_order(samples: pl.DataFrame) -> pl.DataFrame:
    """Whether the positive caption scores above the negative; a missing score is no order."""
    return samples.with_columns(above=(pl.col("pos_score") > pl.col("neg_score")).fill_null(False))


def _entailment(samples: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """StrictVLE, ClassicVLE where there are scores, and the positive / conditional negative analysis."""
    samples = _with_order(samples)
    found = _by_test(samples, "strict", "both", None, resampling)
    found += _by_test(samples, "positive", "pos_right", None, resampling)
    found += _by_test(samples, "negative", "both", "pos_right", resampling)
    if samples["pos_score"].is_not_null().any():
        found += _by_test(samples, "classic", "above", None, resampling)
    return found


def _multiple_choice(samples: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """Accuracy with the positive caption as A, as B, in both orders, and the bias B minus A."""
    found = _by_test(samples, "mc_a", "a_right", None, resampling)
    found += _by_test(samples, "mc_b", "b_right", None, resampling)
    found += _by_test(samples, "mc_both", "both", None, resampling)
    for group, rows in _groups(samples):
        found.append(measure("mc_bias", group, rows, _bias(rows), resampling, difference))
    seven = samples.filter(pl.col("task").is_in(TESTS))
    ratios = [ratio for test in TESTS for ratio in _bias(seven, only=test)]
    found.append(measure("mc_bias", AVERAGE, seven, ratios, resampling, _mean_difference))
    return found


def _bias(rows: pl.DataFrame, only: str | None = None) -> list[tuple[pl.Series, pl.Series]]:
    inside = _inside(rows, only)
    return [(rows["b_right"].cast(pl.Float64) * inside, inside), (rows["a_right"].cast(pl.Float64) * inside, inside)]


def _mean_difference(ratios: Ratios) -> Ratios:
    return mean(ratios[:, 0::2] - ratios[:, 1::2])


def _by_test(
    samples: pl.DataFrame, metric: str, right: str, among: str | None, resampling: Resampling
) -> list[Measure]:
    """A share for each test, and the mean of the seven: each test counts the same, Control does not count."""
    found = [measure(metric, group, rows, [_ratio(rows, right, among)], resampling) for group, rows in _groups(samples)]
    seven = samples.filter(pl.col("task").is_in(TESTS))
    ratios = [_ratio(seven, right, among, only=test) for test in TESTS]
    return [*found, measure(metric, AVERAGE, seven, ratios, resampling, mean)]


def _groups(samples: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(test, samples.filter(pl.col("task") == test)) for test in (CONTROL, *TESTS)]


def _ratio(rows: pl.DataFrame, right: str, among: str | None, only: str | None = None) -> tuple[pl.Series, pl.Series]:
    below = _inside(rows, only) * (rows[among].cast(pl.Float64) if among else ones(rows))
    return rows[right].cast(pl.Float64) * below, below


def _inside(rows: pl.DataFrame, only: str | None) -> pl.Series:
    """1 for the rows of a test, 0 for the others; 1 for all when no test is named."""
    return ones(rows) if only is None else (rows["task"] == only).cast(pl.Float64)


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    return items.filter(pl.col("task").is_in(TESTS) if group == AVERAGE else pl.col("task") == group)
