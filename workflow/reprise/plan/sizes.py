"""What weights, videos and clips take: of memory, and of the disk as far as they are not there yet.

A size is read from what is there, or declared in a route's settings; any other is None, and never 0.
"""

import json
import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import polars as pl
from safetensors import SafetensorError, safe_open

from reprise.config.model import Model
from reprise.core.paths import Ledger
from reprise.core.schemas import CLIP_LEDGER, CLIPS, SOURCES, read_table
from reprise.core.shards import shard_of
from reprise.core.store import Store
from reprise.fetch.settings import Remote
from reprise.models.weights import WEIGHTS, fetched_files, snapshot_folder
from reprise.plan.runs import Plan

INDEX = "*.safetensors.index.json"
# Bytes of a number where a model's file says in which type it is loaded; by `checkpoint` it is as stored.
LOADED = {"float32": 4, "bfloat16": 2, "float16": 2}
FLOATS = ("F64", "F32", "F16", "BF16")  # what is loaded in another type; other kinds of numbers stay as they are
BITS = re.compile(r"\d+")
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
        return Weights(loaded_bytes(Path(model.checkpoint), model.dtype), 0)
    if model.repo is None:
        return None
    folder = snapshot_folder(model.repo, str(model.revision), store)
    if fetched_files(folder):
        return Weights(loaded_bytes(folder, model.dtype), 0)
    whole = _indexed_bytes(folder)
    if whole is None:
        return Weights(None, None)
    there = sum(path.stat().st_size for path in folder.glob(WEIGHTS))
    return Weights(whole if model.dtype not in LOADED else None, max(0, whole - there))


def loaded_bytes(folder: Path, dtype: str) -> int | None:
    """What weights take once they are loaded, by the headers of their files; None where one cannot be read."""
    files = sorted(folder.glob(WEIGHTS))
    try:
        return sum(_loaded_bytes(path, dtype) for path in files) if files else None
    except (OSError, SafetensorError):
        return None


def _loaded_bytes(path: Path, dtype: str) -> int:
    with safe_open(path, framework="numpy") as weights:
        parts = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118  no mapping
        return sum(prod(part.get_shape()) * _bytes_of(part.get_dtype(), dtype) for part in parts)


def _bytes_of(stored: str, dtype: str) -> int:
    if stored in FLOATS and dtype in LOADED:
        return LOADED[dtype]
    bits = BITS.search(stored)
    return int(bits[0]) // 8 if bits else 1


def _indexed_bytes(folder: Path) -> int | None:
    """What the index of a snapshot says that all its weights take."""
    for path in sorted(folder.glob(INDEX)):
        try:
            return int(json.loads(path.read_text(encoding="utf-8"))["metadata"]["total_size"])
        except (ValueError, KeyError, TypeError):
            return None
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
    named = {name for row in sources.iter_rows(named=True) for name in (row["source_id"], *_pictures(row)) if name}
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


def _pictures(clip: dict[str, Sequence[str]]) -> Sequence[str]:
    return clip["parts"] if str(clip["kind"]) == "images" else ()


def _mean_bytes(plan: Plan, stage: Ledger, benchmark: str, schema: pl.Schema) -> float | None:
    """Of those of the benchmark that are there."""
    paths = [path for name, _, path in plan.results.found_ledgers(stage) if name == benchmark]
    sizes = [read_table(path, schema).filter(pl.col("status") == "ok")["bytes"] for path in paths]
    mean = pl.concat(sizes).mean() if sizes else None
    return float(mean) if isinstance(mean, int | float) else None


def _times(count: int, each: float | None) -> float | None:
    return 0.0 if not count else None if each is None else count * each
