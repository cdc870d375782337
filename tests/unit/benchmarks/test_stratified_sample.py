"""A part of a benchmark: as many clusters as are named, of every kind its share, and a larger part holds a smaller one."""

from collections import Counter
from itertools import pairwise

import polars as pl
from reprise.benchmarks.stratified_sample import sample_clusters

KINDS = {"action": 60, "object": 30, "viewpoint": 10}


def test_every_kind_has_its_share_and_a_larger_sample_contains_a_smaller_one() -> None:
    """A cluster has one clip and two items, of a task each; what its kind is, all its items say."""
    clusters = [(f"{kind}{number}", kind) for kind, count in KINDS.items() for number in range(count)]
    clips = pl.DataFrame([{"clip_id": f"{cluster}.all", "cluster": cluster} for cluster, _ in clusters])
    groups = {"task0": (), "task1": ("odd",)}
    rows = [(f"{cluster}.all", task, [kind, *more]) for cluster, kind in clusters for task, more in groups.items()]
    items = pl.DataFrame(rows, schema=["clip_id", "task", "groups"], orient="row")
    parts = [sample_clusters(items, clips, count) for count in range(1, 101)]
    assert [len(part) for part in parts] == list(range(1, 101))
    for count in (10, 20, 50, 100):
        found = Counter(cluster.rstrip("0123456789") for cluster in parts[count - 1])
        assert all(abs(found[kind] - share * count / 100) <= 1 for kind, share in KINDS.items())
    assert all(set(small) < set(large) for small, large in pairwise(parts))
    assert sample_clusters(items, clips, 1000) == parts[99]
    drawn = sample_clusters(items.reverse(), clips.reverse(), 10)
    assert drawn == parts[9] != sorted(parts[99])[:10], "it is drawn, the same everywhere"
    apart = items.head(3).with_columns(groups=pl.Series([[], ["g"], []]), task=pl.Series(["x", "y", "z"]))
    assert len(sample_clusters(apart, clips, 2)) == 2, "clusters without a kind in common are drawn all the same"
