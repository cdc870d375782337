"""Draw a stratified sample of a benchmark: whole clusters, with the same mix of kinds as in the full benchmark."""

from collections import defaultdict
from hashlib import sha256

import polars as pl

Stratum = tuple[tuple[str, ...], tuple[str, ...]]


def sample_clusters(items: pl.DataFrame, clips: pl.DataFrame, count: int) -> list[str]:
    """Return the ids of `count` clusters, sampled evenly over their kinds.

    A cluster's kind is the set of its tasks and of the groups that all of its items share. The clusters of each kind
    get evenly spaced positions from 0 to 1 in a pseudo-random order, and the clusters with the lowest positions are
    selected. A larger sample therefore contains every smaller one.
    """
    clusters_by_kind = defaultdict[Stratum, list[str]](list)
    rows = items.select("clip_id", "task", "groups").join(clips.select("clip_id", "cluster"), on="clip_id")
    for cluster, tasks, groups in rows.group_by("cluster", maintain_order=True).agg("task", "groups").iter_rows():
        clusters_by_kind[tuple(sorted(set(tasks))), tuple(sorted(set.intersection(*map(set, groups))))].append(cluster)
    positions = {
        cluster: ((rank + _hash_fraction(str(kind))) / len(clusters), cluster)
        for kind, clusters in clusters_by_kind.items()
        for rank, cluster in enumerate(sorted(clusters, key=_hash_fraction))
    }
    return sorted(sorted(positions, key=positions.__getitem__)[:count])


def _hash_fraction(name: str) -> float:
    """Return a pseudo-random number from 0 to 1 that depends on the name only, not on the machine."""
    return int(sha256(name.encode()).hexdigest()[:13], 16) / 16**13
