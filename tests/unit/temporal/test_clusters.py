"""Clusters of items join if their clips share a source video."""

from typing import Any

import polars as pl
from reprise.core.schemas import CLIPS
from reprise.temporal.clusters import join_source_clusters


def clip(clip_id: str, cluster: str, source_id: str = "", kind: str = "trim", *parts: str) -> dict[str, Any]:
    spans = {"start_s": None, "end_s": None}
    return {"clip_id": clip_id, "cluster": cluster, "kind": kind, "source_id": source_id, "parts": list(parts)} | spans


def joined(items: list[tuple[str, str]], *clips: dict[str, Any]) -> list[set[str]]:
    rows = pl.DataFrame(items, schema={"cluster": pl.String, "clip_id": pl.String}, orient="row")
    mapping = join_source_clusters(rows, pl.DataFrame(list(clips), schema=CLIPS))
    members: dict[str, set[str]] = {}
    for cluster, representative in mapping.items():
        members.setdefault(representative, set()).add(cluster)
    return sorted(members.values(), key=min)


def test_clips_of_one_video_are_one_cluster() -> None:
    clips = [clip("u.0-10", "u", "u"), clip("u.10-20", "u", "u"), clip("w.0-10", "w", "w")]
    assert joined([("a", "u.0-10"), ("b", "u.10-20"), ("c", "w.0-10")], *clips) == [{"a", "b"}, {"c"}]


def test_pairs_that_share_a_video_are_one_cluster_through_others() -> None:
    """Pair 1 shares a video with pair 2, and pair 2 with pair 3; a concatenation belongs to its pair."""
    clips = [
        *(clip(f"{pair}.{half}", pair, source) for pair, half, source in (
            ("1", "pos", "x"), ("1", "neg", "y"), ("2", "pos", "y"), ("2", "neg", "z"), ("3", "pos", "z"), ("4", "pos", "w"),
        )),
        clip("1.joined", "1", "", "concat", "1.pos", "1.neg"),
    ]  # fmt: skip
    items = [("1", "1.joined"), ("2", "2.pos"), ("2", "2.neg"), ("3", "3.pos"), ("4", "4.pos")]
    assert joined(items, *clips) == [{"1", "2", "3"}, {"4"}]


def test_images_join_nothing() -> None:
    clips = [clip(f"{name}.still", name, "", "images", "same.png") for name in ("p", "q")]
    assert joined([("p", "p.still"), ("q", "q.still")], *clips) == [{"p"}, {"q"}]
