"""Estimate the tokens and the time of runs from the runs that were timed before.

Before a job runs, no log has its rate; a person decides here whether to start. What nobody measured is None, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import polars as pl

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.names import shard_of
from reprise.core.paths import Ledger
from reprise.core.schemas import CLIP_LEDGER, CLIPS, SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.settings import Remote
from reprise.models.local.devices import needed
from reprise.models.local.weights import ON_LOADING, WEIGHTS, fetched_files, snapshot_folder
from reprise.plan.runs import Plan

# From the run itself, from a run of its model that asks the like of the same videos, from another run of its model.
Sure = Literal["itself", "benchmark", "model"]
BY_SURENESS: Sequence[Sure] = ("itself", "benchmark", "model")


class Load(NamedTuple):
    questions: int
    clips: int
    frames: float | None  # of all clips together, each clip's counted once; None where nobody knows

    @property
    def frames_a_clip(self) -> float | None:
        return self.frames / self.clips if self.frames is not None and self.clips else None


class Measured(NamedTuple):
    """What a run took, over those of its clips whose times are known."""

    load: Load
    once_s: float  # of what is done once a clip while the device has nothing else: waiting for frames, encoding them
    asking_s: float
    is_encoded_once: bool
    tokens: float | None = None  # of a prompt, in the mean


class Estimate(NamedTuple):
    seconds: float
    sure: Sure


def measured(timings: pl.DataFrame, frames: Mapping[str, int], tokens: float | None) -> Measured | None:
    """What a run's table of timings says; `frames` of each clip. None where no time is known."""
    known = timings.filter(
        pl.col("seconds").is_not_null(), pl.col("requests") > 0, pl.col("clip_id").is_in(list(frames))
    )
    if known.is_empty():
        return None
    rows = known.with_columns(pl.col("seconds", "waiting", "encode").fill_null(0.0))
    encoded = float(rows["encode"].sum())
    return Measured(
        Load(int(rows["requests"].sum()), rows.height, sum(frames[clip] for clip in rows["clip_id"])),
        once_s=encoded + float(rows["waiting"].sum()),
        asking_s=float(rows["seconds"].sum()) - encoded,
        is_encoded_once=encoded > 0,
        tokens=tokens,
    )


def estimate(load: Load, found: Mapping[Sure, Sequence[Measured]]) -> Estimate | None:
    """Return how long this will take by the mean of the surest runs; None where no run says anything."""
    if not load.questions:
        return Estimate(0.0, "itself")
    for sure in BY_SURENESS:
        times = [seconds for run in found.get(sure, ()) if (seconds := seconds_by(run, load)) is not None]
        if times:
            return Estimate(fmean(times), sure)
    return None


def seconds_by(one: Measured, load: Load) -> float | None:
    """How long this takes by what one run took; None where that run says nothing of it.

    What is done once a clip grows with its frames; so do its questions, unless the clip is encoded once for all.
    """
    longer = _longer(one, load)
    if longer is None or not one.load.questions:
        return None
    asking = one.asking_s / one.load.questions * load.questions * (1 if one.is_encoded_once else longer)
    return one.once_s / one.load.clips * load.clips * longer + asking


def tokens_by(load: Load, found: Iterable[Measured]) -> float | None:
    """Tokens of all prompts, in the mean of what was found; those of the text are taken to grow with the frames too."""
    if not load.questions:
        return 0.0
    sums = [
        one.tokens * load.questions * longer
        for one in found
        if one.tokens is not None and (longer := _longer(one, load)) is not None
    ]
    return fmean(sums) if sums else None


def _longer(one: Measured, load: Load) -> float | None:
    """How many times as many frames a clip has; None between runs of which one is blind, or that nobody knows."""
    mine, other = load.frames_a_clip, one.load.frames_a_clip
    if mine is None or other is None or (mine == 0) != (other == 0):
        return None
    return mine / other if other else 1.0


MB = 10**6


class Weights(NamedTuple):
    """Bytes of a model's weights."""

    loaded: int | None  # where they are used
    to_fetch: int | None


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


def data_left(plan: Plan, benchmark: str) -> dict[str, tuple[int, float | None]] | None:
    """How many videos and clips shards that are not made yet will fetch and make, at most, and their bytes: the store
    may have some of it; None where nobody knows, before the release is read."""
    path = plan.results.items(benchmark).with_name("clips.parquet")
    if not path.is_file():
        return None
    clips = read_table(path, CLIPS)
    shards = [shard_of(unit, plan.config.suite.shards) for unit in clips["unit"]]
    clips = clips.with_columns(pl.Series("shard", shards, dtype=pl.Int64))
    sources = clips.filter(~_is_made(plan, "sources", benchmark))
    named = (set(sources["source_id"]) | set(sources.filter(kind="images")["parts"].explode())) - {"", None}
    made = clips.filter(~_is_made(plan, "clips", benchmark), pl.col("kind") != "whole")
    route = plan.config.suite.benchmarks[benchmark].route
    source_bytes = _mean_bytes(plan, "sources", benchmark, SOURCES)
    if source_bytes is None and isinstance(route, Remote):
        source_bytes = route.mb_per_source * MB
    return {
        "videos": (len(named), _times(len(named), source_bytes)),
        "clips": (made.height, _times(made.height, _mean_bytes(plan, "clips", benchmark, CLIP_LEDGER))),
    }


def _is_made(plan: Plan, stage: Ledger, benchmark: str) -> pl.Expr:
    shards = range(plan.config.suite.shards)
    return pl.col("shard").is_in([one for one in shards if plan.results.ledger(stage, benchmark, one).is_file()])


def _mean_bytes(plan: Plan, stage: Ledger, benchmark: str, schema: pl.Schema) -> float | None:
    paths = [path for name, _, path in plan.results.found_ledgers(stage) if name == benchmark]
    sizes = [size for path in paths for size in read_table(path, schema).filter(status="ok")["bytes"].drop_nulls()]
    return fmean(sizes) if sizes else None


def _times(count: int, each: float | None) -> float | None:
    return 0.0 if not count else None if each is None else count * each
