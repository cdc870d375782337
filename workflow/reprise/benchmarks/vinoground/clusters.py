"""Join the pairs whose videos come from the same source videos."""

from collections import defaultdict
from collections.abc import Collection, Mapping


def join_pairs(videos_by_pair: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the cluster of each pair, which has the name of its first pair.

    Pairs share a cluster if they share a source video, directly or through other pairs.
    """
    pairs_by_video = defaultdict[str, list[str]](list)
    for pair, videos in videos_by_pair.items():
        for video in videos:
            pairs_by_video[video].append(pair)
    cluster_by_pair: dict[str, str] = {}
    for cluster in videos_by_pair:
        pending = [cluster]
        while pending:
            pair = pending.pop()
            if pair not in cluster_by_pair:
                cluster_by_pair[pair] = cluster
                pending += [other for video in videos_by_pair[pair] for other in pairs_by_video[video]]
    return cluster_by_pair
