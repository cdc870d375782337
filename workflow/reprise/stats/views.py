"""One model's scores under several views of the same samples, and what a view changes, clustered by video.

The score is the unweighted mean over strata (VELOCITI's tests) of the mean over their samples; most have one stratum.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reprise.stats.clusters import clustered_estimate
from reprise.stats.intervals import FloatArray
from reprise.stats.paired import sign_flip_p

ROUNDING = 1e-9  # values that differ by less are equal


@dataclass(frozen=True)
class Estimate:
    """A score or a difference, from -1 to 1, with its interval; None for fewer than two clusters."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Change:
    """What a view changes, against another view of the same samples."""

    estimate: Estimate
    p: float
    """two-sided, by swapping the two views cluster by cluster"""
    lost: int
    """samples whose value is lower: of right and wrong, right that becomes wrong"""
    gained: int


@dataclass(frozen=True)
class Samples:
    """Samples that were asked under every view: their values from 0 to 1, view by view."""

    values: Mapping[str, FloatArray]
    strata: NDArray[np.str_]
    clusters: NDArray[np.str_]

    def score(self, view: str, level: float) -> Estimate:
        """The score under a view."""
        inside = self._inside()
        ratios = [(self.values[view] * one, one) for one in inside]
        found = clustered_estimate(ratios, self.clusters, lambda shares: shares.mean(axis=1))
        ends = found.interval(level) if found else (None, None)
        return Estimate(float(np.mean([above.sum() / below.sum() for above, below in ratios])), *ends)

    def change(self, view: str, against: str, level: float) -> Change:
        """The score under a view minus that under another one, sample by sample."""
        inside = self._inside()
        ratios = [(self.values[name] * one, one) for name in (view, against) for one in inside]
        count = len(inside)
        found = clustered_estimate(
            ratios, self.clusters, lambda shares: shares[:, :count].mean(axis=1) - shares[:, count:].mean(axis=1)
        )
        ends = found.interval(level) if found else (None, None)
        differences = self.values[view] - self.values[against]
        weights = np.sum([one / one.sum() for one in inside], axis=0) / count
        # Right and wrong answers of one stratum stay whole numbers, whose p-value is exact.
        p = sign_flip_p(differences if count == 1 else differences * weights, self.clusters)
        lost, gained = ((sign * differences > ROUNDING).sum() for sign in (-1, 1))
        return Change(Estimate(float(differences @ weights), *ends), p, int(lost), int(gained))

    def _inside(self) -> list[FloatArray]:
        """For each stratum, which samples are in it."""
        return [(self.strata == name).astype(np.float64) for name in np.unique(self.strata)]
