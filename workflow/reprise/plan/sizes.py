"""What weights, videos and clips take: of memory, and of the disk as far as they are not there yet.

A size is read from what is there, or declared in a route's settings; any other is None, and never 0.
"""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.names import shard_of
from reprise.core.paths import Ledger
from reprise.core.schemas import CLIP_LEDGER, CLIPS, SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.settings import Remote
from reprise.models.local.placement import needed
from reprise.models.local.quantised import ON_LOADING
from reprise.models.local.weights import WEIGHTS, fetched_files, snapshot_folder
from reprise.plan.runs import Plan

MB = 10**6


class Weights(NamedTuple):
    """Bytes of a model's weights."""

    loaded: int | None
    """where they are used"""
    to_fetch: int | None


class Data(NamedTuple):
    """What of a benchmark's videos and clips is not there yet, and its bytes."""

    sources: int
    sources_bytes: float | None
    clips: int
    clips_bytes: float | None


# --- weights ---------------------------------------------------------------------------------------------------------


def weights_of(model: Model, store: Store) -> Weights | None:
    """The sizes that files and indices say; None for a model without weights."""
    if model.checkpoint is not None:
        return Weights(_loaded(model, Path(model.checkpoint)), 0)
    if model.repo is None:
        return None
    folder = snapshot_folder(model.repo, str(model.revision), store)
    if fetched_files(folder):
        return Weights(_loaded(model, folder), 0)
    if model.weights_bytes is None:
        return Weights(None, None)
    there = sum(path.stat().st_size for path in folder.glob(WEIGHTS))
    # They take as much where they are used as in their files?
    is_loaded_as_it_is = model.dtype == "checkpoint" and model.settings.get("quantised") not in ON_LOADING
    return Weights(model.weights_bytes if is_loaded_as_it_is else None, max(0, model.weights_bytes - there))


def _loaded(model: Model, folder: Path) -> int | None:
    """What the headers of the files say; None where one is missing or damaged."""
    try:
        return needed(folder, model.dtype, model.quantised).weights or None
    except UserError:
        return None


# --- videos ----------------------------------------------------------------------------------------------------------


def data_left(plan: Plan, benchmark: str) -> Data | None:
    """What shards that are not made yet will fetch and make, at most: the store may have some of it; None where
    nobody knows, before the release is read."""
    path = plan.results.items(benchmark).with_name("clips.parquet")
    if not path.is_file():
        return None
    clips = read_table(path, CLIPS)
    shards = plan.config.suite.shards
    shard = pl.Series("shard", [shard_of(unit, shards) for unit in clips["unit"]], dtype=pl.Int64)
    clips = clips.with_columns(shard)
    sources = clips.filter(~_is_made(plan, "sources", benchmark))
    named = set(sources["source_id"]) | set(sources.filter(kind="images")["parts"].explode())
    named -= {"", None}
    made = clips.filter(~_is_made(plan, "clips", benchmark), pl.col("kind") != "whole")
    route = plan.config.suite.benchmarks[benchmark].route
    source_bytes = _mean_bytes(plan, "sources", benchmark, SOURCES)
    if source_bytes is None and isinstance(route, Remote):
        source_bytes = route.mb_per_source * MB
    return Data(
        len(named), _times(len(named), source_bytes),
        made.height, _times(made.height, _mean_bytes(plan, "clips", benchmark, CLIP_LEDGER)),
    )  # fmt: skip


def _is_made(plan: Plan, stage: Ledger, benchmark: str) -> pl.Expr:
    """Whether a clip's shard of a stage is there."""
    shards = range(plan.config.suite.shards)
    return pl.col("shard").is_in([one for one in shards if plan.results.ledger(stage, benchmark, one).is_file()])


def _mean_bytes(plan: Plan, stage: Ledger, benchmark: str, schema: pl.Schema) -> float | None:
    """Of those of the benchmark that are there."""
    paths = [path for name, _, path in plan.results.found_ledgers(stage) if name == benchmark]
    sizes = [read_table(path, schema).filter(pl.col("status") == "ok")["bytes"] for path in paths]
    mean = pl.concat(sizes).mean() if sizes else None
    return float(mean) if isinstance(mean, int | float) else None


def _times(count: int, each: float | None) -> float | None:
    return 0.0 if not count else None if each is None else count * each
