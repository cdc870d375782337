"""Long videos: clips of one source in a row; each negative replaces the caption of one clip by one of its negatives."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from reprise.construction.draws import rank, shuffled
from reprise.construction.filters import Row, kept
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.negatives import CENTRAL


class LongVideo(NamedTuple):
    """A part of a source video, from its earliest clip to the end of its latest one."""

    dataset: str
    video: str
    start_s: float
    end_s: float
    clips: tuple[str, ...]
    caption: str
    negatives: tuple[str, ...]


def long_videos(reviewed: pl.DataFrame, settings: TemporalBenchSettings) -> list[LongVideo]:
    """One of each source video with two clips or more, in the order of their names."""
    by_video: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in kept(reviewed).filter(pl.col("level") != CENTRAL).iter_rows(named=True):
        if settings.columns is None or row["dataset"] in settings.long_datasets:
            by_video.setdefault((row["dataset"], row["video"]), {}).setdefault(row["clip"], []).append(row)
    chosen = {name: _in_a_row(clips, settings) for name, clips in sorted(by_video.items())}
    return [_joined(name, clips, settings) for name, clips in chosen.items() if len(clips) > 1]


def _in_a_row(clips: Mapping[str, list[Row]], settings: TemporalBenchSettings) -> list[list[Row]]:
    """The clips that were drawn, by their time; one that begins before the end of another is left out."""
    drawn = set(shuffled(list(clips), settings.seed)[: settings.long_clips])
    ordered = sorted((rows for name, rows in clips.items() if name in drawn), key=lambda rows: rows[0]["start_s"])
    found: list[list[Row]] = []
    for rows in ordered:
        if not found or rows[0]["start_s"] >= found[-1][0]["end_s"]:
            found.append(rows)
    return found


def _joined(name: tuple[str, str], clips: Sequence[list[Row]], settings: TemporalBenchSettings) -> LongVideo:
    captions = [rows[0]["caption"] for rows in clips]
    options = [(place, row) for place, rows in enumerate(clips) for row in rows]
    drawn = sorted(options, key=lambda one: rank(settings.seed, *name, one[1]["sample_id"]))[: settings.long_negatives]
    negatives = [" ".join([*captions[:place], row["negative"], *captions[place + 1 :]]) for place, row in drawn]
    start, end = clips[0][0]["start_s"], clips[-1][0]["end_s"]
    parts = tuple(rows[0]["clip"] for rows in clips)
    return LongVideo(*name, start, end, parts, " ".join(captions), tuple(negatives))
