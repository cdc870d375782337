"""Join the clusters of items whose clips come from the same source video, where the release names it."""

from collections.abc import Iterator

import polars as pl


class _Groups:
    """Disjoint groups of names (union-find); the root of a group is its representative."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def root(self, name: str) -> str:
        parent = self._parents.setdefault(name, name)
        while parent != name:
            name, parent = parent, self._parents[parent]
        return name

    def join(self, first: str, second: str) -> None:
        self._parents[self.root(second)] = self.root(first)


def join_source_clusters(items: pl.DataFrame, clips: pl.DataFrame) -> dict[str, str]:
    """Return the joined cluster of each cluster of items.

    Two clusters are joined if their items' clips are cut from one source video, directly or through other clusters. A
    pair of Vinoground may thus be joined with the next pair, and clips of one video in VELOCITI form one cluster.

    Args:
        items: Table with the columns `cluster` and `clip_id`.
        clips: Table of the release's clips, `clips.parquet`.
    """
    rows_by_clip = {row["clip_id"]: row for row in clips.iter_rows(named=True)}

    def sources(clip_id: str) -> Iterator[str]:
        """Yield names of the source videos of a clip and of its parts, and of the clips' own clusters."""
        row = rows_by_clip.get(clip_id)
        if row is not None and row["kind"] != "images":
            yield f"cluster {row['cluster']}"
            if row["source_id"]:
                yield f"source {row['source_id']}"
            for part in row["parts"] or ():
                if part != clip_id:
                    yield from sources(part)

    groups = _Groups()
    for cluster, clip_id in items.select("cluster", "clip_id").unique(maintain_order=True).iter_rows():
        for source in sources(clip_id):
            groups.join(f"cluster of items {cluster}", source)
    return {cluster: groups.root(f"cluster of items {cluster}") for cluster in items["cluster"].unique().sort()}
