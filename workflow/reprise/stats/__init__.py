"""Pure statistics: clustered intervals, exact tests, paired comparisons, chance levels in closed form.

Nothing here reads a file or knows a benchmark's table. No data gives None, never 0; a NaN is a ValueError.
"""

from reprise.stats.binomial import Alternative, binomial_p, clopper_pearson
from reprise.stats.chance import (
    PairChance,
    chance_all_above,
    chance_all_right,
    chance_classic,
    chance_pair_answers,
    chance_pair_similarities,
    chance_strict,
)
from reprise.stats.clusters import (
    Estimate,
    Interval,
    Ratio,
    clustered_difference_interval,
    clustered_interval,
    clustered_intervals,
    clustered_mean_of_groups_interval,
    clustered_ratio_interval,
    clustered_statistic_interval,
)
from reprise.stats.paired import PairedComparison, compare_paired, mcnemar_p, sign_flip_p

__all__ = [
    "Alternative",
    "Estimate",
    "Interval",
    "PairChance",
    "PairedComparison",
    "Ratio",
    "binomial_p",
    "chance_all_above",
    "chance_all_right",
    "chance_classic",
    "chance_pair_answers",
    "chance_pair_similarities",
    "chance_strict",
    "clopper_pearson",
    "clustered_difference_interval",
    "clustered_interval",
    "clustered_intervals",
    "clustered_mean_of_groups_interval",
    "clustered_ratio_interval",
    "clustered_statistic_interval",
    "compare_paired",
    "mcnemar_p",
    "sign_flip_p",
]
