"""Rank models by their sensitivity to the order of frames, per benchmark and over the benchmarks that all have."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from reprise.media.ablations import REVERSED, SHUFFLED
from reprise.temporal.profile import BenchmarkProfile, ScoreEstimate, TemporalProfile
from reprise.temporal.rules import Outcome


class RankedModel(NamedTuple):
    """A model with the loss by which it is ranked, in percent of the best score."""

    profile: TemporalProfile
    loss: ScoreEstimate | None


def order_loss(benchmarks: Sequence[BenchmarkProfile]) -> ScoreEstimate | None:
    """Return the smaller of the mean losses from shuffled and from reversed frames, in percent of the best score.

    The interval of the smaller of two quantities runs from the smaller of the lower ends to the smaller of the upper
    ends. The result is None if a condition is missing or was not measured.
    """
    shuffled_loss, reversed_loss = (_mean_loss(benchmarks, condition) for condition in (SHUFFLED, REVERSED))
    if shuffled_loss is None or reversed_loss is None:
        return None
    losses = (shuffled_loss, reversed_loss)
    lows, highs = [loss.low for loss in losses], [loss.high for loss in losses]
    return ScoreEstimate(
        value=min(loss.value for loss in losses),
        low=None if None in lows else min(low for low in lows if low is not None),
        high=None if None in highs else min(high for high in highs if high is not None),
    )


def _mean_loss(benchmarks: Sequence[BenchmarkProfile], condition: str) -> ScoreEstimate | None:
    """Return the mean loss under one condition. Errors of different benchmarks are assumed to be independent."""
    differences = []
    for benchmark in benchmarks:
        result = benchmark.condition(condition)
        if result is None or result.difference is None or result.difference.outcome == Outcome.NOT_MEASURED:
            return None
        scale = 100 / benchmark.question_best
        difference = result.difference
        ends = [None if end is None else scale * end for end in (difference.low, difference.high)]
        differences.append(ScoreEstimate(value=scale * difference.value, low=ends[0], high=ends[1]))
    if not differences:
        return None
    value = sum(difference.value for difference in differences) / len(differences)
    if any(difference.low is None or difference.high is None for difference in differences):
        return ScoreEstimate(value=value)
    # Independent errors add up in squares.
    below = sqrt(sum((loss.value - loss.low) ** 2 for loss in differences if loss.low is not None))
    above = sqrt(sum((loss.high - loss.value) ** 2 for loss in differences if loss.high is not None))
    return ScoreEstimate(value=value, low=value - below / len(differences), high=value + above / len(differences))


def rank_on_benchmark(profiles: Sequence[TemporalProfile], name: str) -> list[RankedModel]:
    """Rank the models that have a benchmark by their loss on it, the largest first."""
    ranked = [
        RankedModel(profile, order_loss([benchmark]))
        for profile in profiles
        if (benchmark := profile.benchmark(name)) and benchmark.questions
    ]
    return sorted(ranked, key=_sort_key)


def is_broken(profile: TemporalProfile) -> bool:
    """Return whether a run of the profile looks broken; such a profile has no overall rank."""
    return any(benchmark.problems for benchmark in profile.benchmarks)


def common_benchmarks(profiles: Sequence[TemporalProfile]) -> list[str]:
    """Return the benchmarks on which every model has a loss; models with a broken run do not count."""
    profiles = [profile for profile in profiles if not is_broken(profile)]
    names = dict.fromkeys(benchmark.name for profile in profiles for benchmark in profile.benchmarks)

    def has_loss(profile: TemporalProfile, name: str) -> bool:
        benchmark = profile.benchmark(name)
        return benchmark is not None and benchmark.questions > 0 and order_loss([benchmark]) is not None

    return [name for name in names if all(has_loss(profile, name) for profile in profiles)]


def rank_overall(profiles: Sequence[TemporalProfile]) -> list[RankedModel]:
    """Rank the models by their loss, averaged over the benchmarks that all of them have."""
    names = common_benchmarks(profiles)
    ranked = []
    for profile in profiles:
        benchmarks = [benchmark for name in names if (benchmark := profile.benchmark(name))]
        ranked.append(RankedModel(profile, None if is_broken(profile) else order_loss(benchmarks)))
    return sorted(ranked, key=_sort_key)


def _sort_key(model: RankedModel) -> tuple[bool, float, str]:
    """Sort by the largest loss first, models without a loss last."""
    return model.loss is None, -(model.loss.value if model.loss else 0.0), model.profile.title
