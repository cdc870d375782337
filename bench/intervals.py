"""Benchmark intervals: 100 metrics of 10,000 items from 2,000 videos, in closed form and by a bootstrap over videos."""

import numpy as np
from numpy.typing import NDArray
from reprise.stats.intervals import clustered_estimate
from reprise.stats.measures import take_first

from bench.rounds import Ratio, medians

GROUPS, METRICS, ITEMS, VIDEOS, RESAMPLES = 10, 10, 10_000, 2_000, 2_000
RESAMPLES_PER_BATCH = 500  # This number of resamples fits into the memory of the scoring stage.


def ratio() -> Ratio:
    """Return the CPU time of the closed form relative to a bootstrap whose resamples a group's metrics share."""
    generator = np.random.default_rng(0)
    videos = generator.integers(VIDEOS, size=ITEMS)
    # Ten groups of decreasing size, each a tenth of the items smaller, like the groups by data set and category.
    masks = [generator.random(ITEMS) < 1 - number / GROUPS for number in range(GROUPS)]
    # A group has right and wrong answers, one row for each metric, and the video of each item.
    groups = [(generator.random((METRICS, int(mask.sum()))) < 0.6, videos[mask]) for mask in masks]

    def run_closed_form() -> None:
        """Compute the interval of every metric of every group in closed form."""
        for answers, clusters in groups:
            for right in answers:
                estimate = clustered_estimate([(right, np.ones(len(right)))], clusters, take_first)
                assert estimate is not None
                estimate.interval(0.95)

    def run_bootstrap() -> None:
        for answers, clusters in groups:
            bootstrap(answers, clusters)

    cpu_s = medians({"closed form": run_closed_form, "bootstrap": run_bootstrap}, rounds=3)
    return Ratio("intervals in closed form / by shared bootstrap draws", cpu_s["closed form"] / cpu_s["bootstrap"], 1)


def bootstrap(answers: NDArray[np.bool_], videos: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return percentile intervals of the share of each row of answers, from draws of videos with replacement."""
    names, video_of_item = np.unique(videos, return_inverse=True)
    sums = np.array([np.bincount(video_of_item, weights=right) for right in answers], dtype=np.float32)
    item_counts = np.bincount(video_of_item).astype(np.float32)
    generator = np.random.default_rng(0)
    shares = []
    for _ in range(RESAMPLES // RESAMPLES_PER_BATCH):
        picks = generator.integers(len(names), size=(RESAMPLES_PER_BATCH, len(names)))
        counts = np.array([np.bincount(pick, minlength=len(names)) for pick in picks], dtype=np.float32)
        shares.append(sums @ counts.T / (counts @ item_counts))
    intervals: NDArray[np.float64] = np.quantile(np.concatenate(shares, axis=1), [0.025, 0.975], axis=1)
    return intervals
