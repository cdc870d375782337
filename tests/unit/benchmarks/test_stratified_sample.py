"""Test the stratified sample of clusters: its size, the share of each kind, and nested samples."""

from collections import Counter
from itertools import pairwise

import polars as pl
from reprise.benchmarks.stratified_sample import sample_clusters

COUNT_BY_KIND = {"action": 60, "object": 30, "viewpoint": 10}


def test_every_kind_has_its_share_and_a_larger_sample_contains_a_smaller_one() -> None:
    """A cluster has one clip and two items with different tasks; all its items name its kind."""
    clusters = [(f"{kind}{number}", kind) for kind, count in COUNT_BY_KIND.items() for number in range(count)]
    clips = pl.DataFrame([{"clip_id": f"{cluster}.all", "cluster": cluster} for cluster, _ in clusters])
    groups_by_task = {"task0": (), "task1": ("odd",)}
    rows = [
        (f"{cluster}.all", task, [kind, *task_groups])
        for cluster, kind in clusters
        for task, task_groups in groups_by_task.items()
    ]
    items = pl.DataFrame(rows, schema=["clip_id", "task", "groups"], orient="row")
    samples = [sample_clusters(items, clips, count) for count in range(1, 101)]
    assert [len(sample) for sample in samples] == list(range(1, 101))
    for count in (10, 20, 50, 100):
        count_by_kind = Counter(cluster.rstrip("0123456789") for cluster in samples[count - 1])
        assert all(abs(count_by_kind[kind] - share * count / 100) <= 1 for kind, share in COUNT_BY_KIND.items())
    assert all(set(small) < set(large) for small, large in pairwise(samples))
    assert sample_clusters(items, clips, 1000) == samples[99]
    reordered_sample = sample_clusters(items.reverse(), clips.reverse(), 10)
    assert reordered_sample == samples[9] != sorted(samples[99])[:10], (
        "the sample is random and does not depend on the order"
    )
    unrelated = items.head(3).with_columns(groups=pl.Series([[], ["g"], []]), task=pl.Series(["x", "y", "z"]))
    assert len(sample_clusters(unrelated, clips, 2)) == 2, "clusters without a common kind are sampled too"
