"""Pure statistics: clustered intervals, exact tests, paired comparisons, chance levels in closed form.

Nothing here reads a file or knows a benchmark's table. No data gives None, never 0; a NaN is a ValueError.
"""

from reprise.stats.binomial import Alternative, binomial_p
from reprise.stats.chance import (
    PairChance,
    chance_all_above,
    chance_all_right,
    chance_classic,
    chance_pair_answers,
    chance_pair_similarities,
    chance_strict,
)
from reprise.stats.clusters import clustered_estimate, clustered_interval
from reprise.stats.intervals import BoundedMean, Difference, Interval
from reprise.stats.paired import PairedComparison, compare_paired, sign_flip_p

__all__ = [
    "Alternative",
    "BoundedMean",
    "Difference",
    "Interval",
    "PairChance",
    "PairedComparison",
    "binomial_p",
    "chance_all_above",
    "chance_all_right",
    "chance_classic",
    "chance_pair_answers",
    "chance_pair_similarities",
    "chance_strict",
    "clustered_estimate",
    "clustered_interval",
    "compare_paired",
    "sign_flip_p",
]
