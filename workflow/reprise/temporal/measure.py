"""Compute a temporal profile from the verdicts on a model's answers under each condition.

A score is the unweighted mean over tests of the mean over their samples. VELOCITI has seven tests, most benchmarks one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import RunAnswers, filter_group
from reprise.core.errors import reject_unknown
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, read_table
from reprise.stats.intervals import FloatArray, Statistic, clustered_estimate
from reprise.stats.paired import ROUNDING, sign_flip_p
from reprise.temporal.findings import describe_finding, find_verdict
from reprise.temporal.profile import (
    CONDITIONS,
    LADDER,
    PART_OF,
    PLANNED,
    BenchmarkProfile,
    BenchmarkProfileKey,
    Change,
    ConditionResult,
    ProfiledModel,
    ProfilePart,
    ScoreDefinition,
    ScoreEstimate,
    TemporalProfile,
    TemporalProfileKey,
)

SAMPLES = pl.Schema({"item_id": pl.String, "cluster": pl.String, "task": pl.String, "value": pl.Float64})
TIME_DEPENDENT_SCHEMA = pl.Schema(
    dict.fromkeys(("benchmark", "sample", "cluster", "task"), pl.String()) | dict.fromkeys(CONDITIONS, pl.Float64())
)


def build_profile(key: TemporalProfileKey) -> tuple[TemporalProfile, pl.DataFrame]:
    profiles = [measure_benchmark(benchmark, key.level) for benchmark in key.benchmarks]
    profile = TemporalProfile(
        **key.model_dump(include=set(ProfiledModel.model_fields)),
        benchmarks=tuple(benchmark for benchmark, _ in profiles),
    )
    return profile, pl.concat([pl.DataFrame(schema=TIME_DEPENDENT_SCHEMA), *(rows for _, rows in profiles)])


def measure_benchmark(key: BenchmarkProfileKey, level: float) -> tuple[BenchmarkProfile, pl.DataFrame]:
    samples_by_condition = {
        condition: sample_values(key, path)
        for condition in CONDITIONS
        if (path := key.conditions.get(condition)) is not None
    }
    common, excluded = align_samples(samples_by_condition)
    conditions = list(samples_by_condition) if common.height else []
    reason = "left out by the suite's `temporal_ablations`" if common.height else "no sample"
    best = load_scores(key.name).SCORES[key.form].max_score
    samples = Samples(
        {condition: common[condition].to_numpy() for condition in conditions},
        common["task"].to_numpy(),
        common["cluster"].to_numpy(),
        best,
    )
    rows = select_time_dependent_samples(common, key.name)
    benchmark = BenchmarkProfile(
        **key.model_dump(include=set(ScoreDefinition.model_fields)),
        best=best,
        chance=compute_chance(key),
        samples=common.height,
        excluded=excluded,
        clusters=common["cluster"].n_unique(),
        conditions=tuple(
            ConditionResult(
                condition=condition,
                run=key.runs.get(condition, ""),
                score=samples.score(condition, level),
                change=samples.change(condition, PLANNED, level)
                if PLANNED in conditions and condition != PLANNED
                else None,
            )
            for condition in conditions
        ),
        missing={
            condition: key.missing.get(condition, reason) for condition in CONDITIONS if condition not in conditions
        },
        parts=compute_parts(samples, level),
        published=key.published,
        only_as_planned=rows.height if PLANNED in conditions and len(conditions) > 1 else None,
    )
    benchmark = benchmark.model_copy(update={"verdict": find_verdict(benchmark, level)})
    return benchmark.model_copy(update={"sentence": describe_finding(benchmark, level)}), rows


def sample_values(key: BenchmarkProfileKey, path: Path) -> pl.DataFrame:
    """Return the value of each sample of a run, from 0 to 1; failed and unparsed answers are wrong."""
    scores = load_scores(key.name)
    items = filter_group(read_table(key.items, ITEMS, skipped_columns=("texts",)), key.group, scores.GROUPS)
    outcomes = scores.SCORES[key.form].compute_outcomes(RunAnswers(items, read_table(path, VERDICTS)))
    reject_unknown("score", [key.score], outcomes, f"{path}: the temporal profile of {key.name}")
    return outcomes[key.score].select("item_id", "cluster", "task", value="right").cast(SAMPLES)


def align_samples(values: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Join the samples that were run under every condition, one column per condition; also count the excluded ones."""
    common = pl.concat([pl.DataFrame(schema=SAMPLES), *values.values()]).drop("value").unique("item_id")
    total = common.height
    for condition, rows in values.items():
        common = common.join(rows.select("item_id", pl.col("value").alias(condition)), on="item_id", how="inner")
    return common.sort("item_id"), total - common.height


@dataclass(frozen=True)
class Samples:
    """Samples that were run under every condition, with their values from 0 to 1 by condition."""

    values: Mapping[str, FloatArray]
    tests: NDArray[np.str_]
    clusters: NDArray[np.str_]
    best: float

    def score(self, condition: str, level: float) -> ScoreEstimate:
        ratios = [(self.values[condition] * weights, weights) for weights in self._test_memberships()]
        value = float(np.mean([numerator.sum() / denominator.sum() for numerator, denominator in ratios]))
        return self._estimate(value, ratios, lambda shares: shares.mean(axis=1), level)

    def change(self, condition: str, baseline: str, level: float) -> Change:
        """Return the score under one condition minus that under another, over the same samples."""
        members = self._test_memberships()
        count, ratios = (
            len(members),
            [
                (self.values[name] * test_weights, test_weights)
                for name in (condition, baseline)
                for test_weights in members
            ],
        )
        differences = self.values[condition] - self.values[baseline]
        sample_weights = np.sum([test_weights / test_weights.sum() for test_weights in members], axis=0) / count
        number = self._estimate(
            float(differences @ sample_weights),
            ratios,
            lambda shares: shares[:, :count].mean(axis=1) - shares[:, count:].mean(axis=1),
            level,
        )
        # With one test, unweighted differences stay whole numbers, so that the p-value is exact.
        p = sign_flip_p(differences if count == 1 else differences * sample_weights, self.clusters)
        regressions, improvements = (int((sign * differences > ROUNDING).sum()) for sign in (-1, 1))
        return Change(**number.model_dump(), p=p, regressions=regressions, improvements=improvements)

    def _test_memberships(self) -> list[FloatArray]:
        """Return one membership vector per test: 1.0 for the samples in it, else 0.0."""
        return [(self.tests == name).astype(np.float64) for name in np.unique(self.tests)]

    def _estimate(
        self, value: float, ratios: list[tuple[FloatArray, FloatArray]], statistic: Statistic, level: float
    ) -> ScoreEstimate:
        """Return a value on the score's own scale with its interval; fewer than two clusters give none."""
        estimate = clustered_estimate(ratios, self.clusters, statistic)
        low, high = (self.best * bound for bound in estimate.interval(level)) if estimate else (None, None)
        return ScoreEstimate(value=self.best * value, low=low, high=high)


def compute_parts(samples: Samples, level: float) -> tuple[ProfilePart, ...]:
    """Split the planned score into parts that add up to it; a negative part stays negative."""
    steps = [condition for condition in LADDER if condition in samples.values]
    if PLANNED not in steps:
        return ()
    names = {condition: tuple(PART_OF[step] for step in LADDER[: LADDER.index(condition) + 1]) for condition in steps}
    parts = [ProfilePart(names=names[steps[0]], number=samples.score(steps[0], level))]
    for previous, current in pairwise(steps):
        change = samples.change(current, previous, level)
        number = ScoreEstimate(value=change.value, low=change.low, high=change.high)
        parts.append(ProfilePart(names=names[current][len(names[previous]) :], number=number, p=change.p))
    return tuple(parts)


def compute_chance(key: BenchmarkProfileKey) -> float | None:
    """Return the score of random answers: a constant of the form or the benchmark, or computed from the data."""
    scores = load_scores(key.name)
    constant = scores.SCORES[key.form].chance.get(key.score, scores.CHANCE.get(key.score))
    if constant is not None or key.statistics is None:
        return constant
    rows = read_table(key.statistics, METRICS).filter(metric=f"chance.{key.form}.{key.score}", group=key.group)
    return rows["value"][0] if rows.height else None


def select_time_dependent_samples(common: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Return the samples that score higher as planned than under every ablation that was run."""
    ablations = [condition for condition in CONDITIONS if condition in common.columns and condition != PLANNED]
    if PLANNED not in common.columns or not ablations:
        return pl.DataFrame(schema=TIME_DEPENDENT_SCHEMA)
    margin = pl.col(PLANNED) - pl.max_horizontal(ablations)
    rows = common.filter(margin > ROUNDING).sort(margin, "item_id", descending=[True, False])
    missing_conditions = {
        condition: pl.lit(None, dtype=pl.Float64) for condition in CONDITIONS if condition not in common.columns
    }
    return rows.with_columns(benchmark=pl.lit(benchmark), sample="item_id", **missing_conditions).select(
        list(TIME_DEPENDENT_SCHEMA)
    )
