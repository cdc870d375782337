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


def order_loss(benchmark: BenchmarkProfile) -> ScoreEstimate | None:
    """Return the smaller of the losses from shuffled and from reversed frames, in percent of the best score.

    The interval of the smaller of two quantities runs from the smaller of the lower ends to the smaller of the upper
    ends. None if a condition is missing or was not measured.
    """
    results = [benchmark.condition(condition) for condition in (SHUFFLED, REVERSED)]
    differences = [result.difference for result in results if result and result.difference]
    if len(differences) < len(results) or any(entry.outcome == Outcome.NOT_MEASURED for entry in differences):
        return None
    scale = 100 / benchmark.question_best
    lows, highs = (
        [end for end in ends if end is not None]
        for ends in zip(*((entry.low, entry.high) for entry in differences), strict=True)
    )
    has_interval = len(lows) == len(highs) == len(differences)
    return ScoreEstimate(
        value=scale * min(entry.value for entry in differences),
        low=scale * min(lows) if has_interval else None,
        high=scale * min(highs) if has_interval else None,
    )


def rank_on_benchmark(profiles: Sequence[TemporalProfile], name: str) -> list[RankedModel]:
    """Rank the models that have a benchmark by their loss on it, the largest first."""
    ranked = [
        RankedModel(profile, order_loss(benchmark))
        for profile in profiles
        if (benchmark := profile.benchmark(name)) and benchmark.questions
    ]
    return sorted(ranked, key=_rank)


def common_benchmarks(profiles: Sequence[TemporalProfile]) -> list[str]:
    """Return the benchmarks on which every model has a loss."""
    names = dict.fromkeys(benchmark.name for profile in profiles for benchmark in profile.benchmarks)

    def has_loss(profile: TemporalProfile, name: str) -> bool:
        benchmark = profile.benchmark(name)
        return benchmark is not None and benchmark.questions > 0 and order_loss(benchmark) is not None

    return [name for name in names if all(has_loss(profile, name) for profile in profiles)]


def rank_overall(profiles: Sequence[TemporalProfile]) -> list[RankedModel]:
    """Rank the models by their mean loss over the benchmarks that all of them have."""
    names = common_benchmarks(profiles)
    return sorted((RankedModel(profile, _mean_loss(profile, names)) for profile in profiles), key=_rank)


def _mean_loss(profile: TemporalProfile, names: Sequence[str]) -> ScoreEstimate | None:
    """Return the mean loss. Benchmarks share no clip, so the distances of its ends combine like independent errors."""
    losses = [loss for name in names if (benchmark := profile.benchmark(name)) and (loss := order_loss(benchmark))]
    if not losses:
        return None
    value = sum(loss.value for loss in losses) / len(losses)
    if any(loss.low is None or loss.high is None for loss in losses):
        return ScoreEstimate(value=value)
    below = sqrt(sum((loss.value - loss.low) ** 2 for loss in losses if loss.low is not None)) / len(losses)
    above = sqrt(sum((loss.high - loss.value) ** 2 for loss in losses if loss.high is not None)) / len(losses)
    return ScoreEstimate(value=value, low=value - below, high=value + above)


def _rank(model: RankedModel) -> tuple[bool, float, str]:
    return model.loss is None, -(model.loss.value if model.loss else 0.0), model.profile.title
