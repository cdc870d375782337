"""Draw a stratified sample of a benchmark: whole clusters, with the same mix of strata as in the full benchmark."""

from collections import defaultdict
from hashlib import sha256

import polars as pl

Stratum = tuple[tuple[str, ...], tuple[str, ...]]
"""tasks of a cluster, and the groups that all of its items share"""


def sample_clusters(items: pl.DataFrame, clips: pl.DataFrame, cluster_count: int) -> list[str]:
    """Return the ids of `cluster_count` clusters, sampled evenly over the strata.

    The clusters of each stratum get evenly spaced positions from 0 to 1 in a pseudo-random order, and the clusters with
    the lowest positions are selected. A larger sample therefore contains every smaller one. Each stratum has
    its own pseudo-random offset, because otherwise a small sample would have one cluster of each stratum.
    """
    clusters_by_stratum = defaultdict[Stratum, list[str]](list)
    rows = items.select("clip_id", "task", "groups").join(clips.select("clip_id", "cluster"), on="clip_id")
    for cluster, tasks, item_groups in rows.group_by("cluster", maintain_order=True).agg("task", "groups").iter_rows():
        shared_groups = set.intersection(*map(set, item_groups))
        clusters_by_stratum[tuple(sorted(set(tasks))), tuple(sorted(shared_groups))].append(cluster)
    # Equal positions are ordered by the name of the cluster.
    positions = {
        cluster: ((rank + _hash_fraction(str(stratum))) / len(clusters), cluster)
        for stratum, clusters in clusters_by_stratum.items()
        for rank, cluster in enumerate(sorted(clusters, key=_hash_fraction))
    }
    clusters_by_position = sorted(positions, key=positions.__getitem__)
    return sorted(clusters_by_position[:cluster_count])


def _hash_fraction(name: str) -> float:
    """Return a pseudo-random number from 0 to 1 that depends only on the name."""
    return int(sha256(name.encode()).hexdigest()[:13], 16) / 16**13
