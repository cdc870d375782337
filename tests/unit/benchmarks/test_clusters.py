"""Test the clusters of items, which confidence intervals count as one observation."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.scoring import RunAnswers
from reprise.benchmarks.vinoground.clusters import join_pairs
from reprise.benchmarks.vinoground.scores import SCORES
from reprise.core.schemas import VERDICTS
from reprise.stats.intervals import clustered_estimate

from tests.unit.benchmarks.releases import pair_row, vinoground_release
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import verdict_row


def test_pairs_that_share_a_video_are_one_cluster_also_through_others() -> None:
    """Pair 1 shares a video with pair 2, and pair 2 with pair 3; pairs 5 and 6 name no video."""
    videos = {"1": ["x", "y"], "4": ["w", "w"], "3": ["v", "z"], "2": ["y", "z"], "5": [], "6": []}
    assert join_pairs(videos) == {"1": "1", "2": "1", "3": "1", "4": "4", "5": "5", "6": "6"}
    assert join_pairs({str(number): ["x"] for number in range(5000)}) == dict.fromkeys(map(str, range(5000)), "0")


@pytest.mark.parametrize("clips", ["ids", "release"])
def test_scores_count_pairs_and_intervals_source_videos(tmp_path: Path, clips: str) -> None:
    """Two of four pairs are cut from one video, which one of them names by a link. They are right."""
    videos = ("https://youtu.be/aaaaaaaaaaa", "aaaaaaaaaaa", "ccccccccccc", "ddddddddddd")
    rows = [pair_row(index, pos_vid=video, neg_vid=video) for index, video in enumerate(videos)]
    vinoground = BenchmarkPipeline("vinoground")
    clip_table, items = vinoground.annotations(vinoground_release(tmp_path, rows), clips)
    assert vinoground.statistics(items, clip_table)["pairs", "all"] == 4
    assert dict(items.select("pair", "cluster").iter_rows()) == {"0": "0", "1": "0", "2": "2", "3": "3"}
    verdicts = [
        verdict_row(f"{item}#{task}_{half}", right=pair in ("0", "1"))
        for item, task, pair in items.select("item_id", "task", "pair").iter_rows()
        for half in [item.split("/")[0].split("_")[1]]
    ]
    measures = SCORES["questions"].compute_measures(RunAnswers(items, pl.DataFrame(verdicts, schema=VERDICTS)), 0.95)
    group = next(measure for measure in measures if (measure.metric, measure.group) == ("group", "all"))
    estimate = clustered_estimate([([1, 1, 0, 0], [1, 1, 1, 1])], ["0", "0", "2", "3"], lambda shares: shares[:, 0])
    assert estimate is not None
    low, high = estimate.interval(0.95)
    assert (group.value, group.requested, group.low, group.high) == pytest.approx((50.0, 4, 100 * low, 100 * high))
