"""All that a run asks about each of its clips, from the tables of its questions, its frames and its clips."""

from collections.abc import Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import split_at_frames, with_frame_count
from reprise.benchmarks.rows import grouped
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.store import Store
from reprise.media.ledgers import clip_file
from reprise.models.asking.journal import NO_FRAMES, Work, frames_digest
from reprise.models.asking.lazy import Options
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.base import Clip, Request


def scored_options(requests: pl.DataFrame) -> Options:
    return tuple(sorted(set(map(tuple, requests.filter(pl.col("ask") == "score")["options"].unique()))))


def gather_work(
    requests: pl.DataFrame,
    plans: pl.DataFrame,
    ledger: pl.DataFrame,
    store: Store,
    piece: Piece = WHOLE,
    *,
    with_labels: bool = False,
) -> list[Work]:
    """Return the questions of each clip that exists, or of a piece of them, in the order of the clips.

    Only with `with_labels` do the requests hold the expected answers (`AdapterInfo.reads_labels`).
    """
    found = {row["clip_id"]: row for row in ledger.filter(pl.col("status") == "ok").iter_rows(named=True)}
    is_its = [piece == WHOLE or piece.has(recipe) for recipe in ledger["recipe"]]
    its = ledger.filter(pl.Series(is_its, dtype=pl.Boolean))
    planned = {row["clip_id"]: row for row in about(plans, its).iter_rows(named=True)}
    works = []
    for name, rows in _by_clip(about(requests, its)).items():
        shown = found.get(planned[name]["shown_clip"] or name) if name in planned else None
        if shown is None:
            raise UserError(f"clip '{name}' has no frame plan. Delete the frames table of this sampling and run again.")
        clip = Clip(
            clip_id=name,
            path=store.root / shown["object"],
            indices=tuple(planned[name]["indices"]),
            times_s=tuple(planned[name]["times_s"]),
            questions=len(rows),
            grid=tuple(planned[name]["grid"]) if planned[name]["grid"] else None,
        )
        asked = tuple(_request(row, len(clip.indices), with_labels) for row in rows)
        frames = frames_digest(shown["sha256"], clip.indices, clip.times_s, clip.grid)
        if shown is not found[name]:
            frames = value_digest([found[name]["sha256"], frames])
        works.append(Work(clip, frames, asked, partial(clip_file, store, shown)))
    return works


def about(rows: pl.DataFrame, ledger: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("clip_id").is_in(ledger.filter(pl.col("status") == "ok")["clip_id"].implode()))


def gather_text_work(requests: pl.DataFrame, *, with_labels: bool = False) -> list[Work]:
    """Return questions about texts alone, such as a judge's; an answer is reused whatever clip it was about."""
    return [
        Work(Clip(name, None, (), ()), NO_FRAMES, tuple(_request(row, 0, with_labels) for row in rows))
        for name, rows in _by_clip(requests).items()
    ]


def _by_clip(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The rows of each clip's questions, in the order of both; polars would make a table a clip, which takes longer."""
    return grouped(requests.iter_rows(named=True), itemgetter("clip_id"))


def _request(row: Mapping[str, Any], frames: int, with_labels: bool) -> Request:
    lead, prompt = split_at_frames(with_frame_count(row["prompt"], frames))
    return Request(
        request_id=row["request_id"],
        item_id=row["item_id"],
        role=row["role"],
        ask=row["ask"],
        system=with_frame_count(row["system"], frames),
        prompt=prompt,
        options=tuple(row["options"]),
        expected=row["expected"] if with_labels else "",
        max_tokens=row["max_tokens"],
        lead=lead,
    )
