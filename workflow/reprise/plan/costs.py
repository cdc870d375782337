"""Estimate the tokens and the time of runs from the measured times of earlier runs.

A user decides from these estimates whether to start jobs. A quantity without a measurement is None, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import polars as pl

from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.names import compute_shard
from reprise.core.paths import ManifestKind
from reprise.core.schemas import CLIP_MANIFEST, CLIPS, SOURCES, read_table
from reprise.core.store import Store
from reprise.fetch.settings import NetworkRoute
from reprise.models.local.device_memory import estimate_memory
from reprise.models.local.weights import LOAD_TIME_METHODS, WEIGHT_PATTERN, list_fetched_files, snapshot_folder
from reprise.plan.runs import Plan

# Source of an estimate: the run itself, a run of its model on the same benchmark, or another run of its model.
EstimateSource = Literal["itself", "benchmark", "model"]
SOURCES_BY_RELIABILITY: Sequence[EstimateSource] = ("itself", "benchmark", "model")


class Workload(NamedTuple):
    """Amount of work of a run."""

    requests: int
    clips: int
    frames: float | None  # of all clips together, each clip counted once; None if unknown

    @property
    def frames_per_clip(self) -> float | None:
        """Return the mean number of frames of a clip, or None if unknown."""
        return self.frames / self.clips if self.frames is not None and self.clips else None


class RunTiming(NamedTuple):
    """Work and times of a run, over the clips whose times are known."""

    workload: Workload
    clip_work_s: float  # work done once for each clip while the device is idle: waiting for frames and encoding them
    request_work_s: float
    is_encoded_once: bool
    mean_prompt_tokens: float | None = None  # mean over the prompts


class Estimate(NamedTuple):
    """Estimated duration, with its source."""

    seconds: float
    source: EstimateSource


def summarize_timings(timings: pl.DataFrame, frames: Mapping[str, int], tokens: float | None) -> RunTiming | None:
    """Return the measured work and times of a run, or None if no time is known.

    Args:
        timings: Table of timings of the run.
        frames: Number of frames of each clip.
        tokens: Mean number of tokens of a prompt.
    """
    timed = timings.filter(
        pl.col("seconds").is_not_null(), pl.col("requests") > 0, pl.col("clip_id").is_in(list(frames))
    )
    if timed.is_empty():
        return None
    rows = timed.with_columns(pl.col("seconds", "waiting", "encode").fill_null(0.0))
    encode_s = float(rows["encode"].sum())
    return RunTiming(
        Workload(int(rows["requests"].sum()), rows.height, sum(frames[clip] for clip in rows["clip_id"])),
        clip_work_s=encode_s + float(rows["waiting"].sum()),
        request_work_s=float(rows["seconds"].sum()) - encode_s,
        is_encoded_once=encode_s > 0,
        mean_prompt_tokens=tokens,
    )


def estimate(workload: Workload, measurements: Mapping[EstimateSource, Sequence[RunTiming]]) -> Estimate | None:
    """Return the estimated duration from the mean over the most reliable runs, or None if no run allows an estimate."""
    if not workload.requests:
        return Estimate(0.0, "itself")
    for source in SOURCES_BY_RELIABILITY:
        times = [
            seconds for run in measurements.get(source, ()) if (seconds := estimate_seconds(run, workload)) is not None
        ]
        if times:
            return Estimate(fmean(times), source)
    return None


def estimate_seconds(timing: RunTiming, workload: Workload) -> float | None:
    """Return how long a workload takes at the speed of a measured run, or None if their frames cannot be compared.

    Work that is done once for each clip grows with the number of frames. So does each request, unless the clip is
    encoded once for all its requests.
    """
    frame_ratio = _frame_ratio(timing, workload)
    if frame_ratio is None or not timing.workload.requests:
        return None
    request_s = (
        timing.request_work_s
        / timing.workload.requests
        * workload.requests
        * (1 if timing.is_encoded_once else frame_ratio)
    )
    return timing.clip_work_s / timing.workload.clips * workload.clips * frame_ratio + request_s


def estimate_tokens(workload: Workload, measurements: Iterable[RunTiming]) -> float | None:
    """Return the tokens of all prompts, as the mean over measured runs.

    Tokens of the text are assumed to grow with the number of frames too.
    """
    if not workload.requests:
        return 0.0
    sums = [
        timing.mean_prompt_tokens * workload.requests * frame_ratio
        for timing in measurements
        if timing.mean_prompt_tokens is not None and (frame_ratio := _frame_ratio(timing, workload)) is not None
    ]
    return fmean(sums) if sums else None


def _frame_ratio(timing: RunTiming, workload: Workload) -> float | None:
    """Return the ratio of frames per clip, or None if it is unknown or only one of the runs is text-only."""
    frames, measured_frames = workload.frames_per_clip, timing.workload.frames_per_clip
    if frames is None or measured_frames is None or (frames == 0) != (measured_frames == 0):
        return None
    return frames / measured_frames if measured_frames else 1.0


MB = 10**6


class WeightsSize(NamedTuple):
    """Bytes of a model's weights."""

    loaded_bytes: int | None  # on the device
    download_bytes: int | None


# --- weights ---------------------------------------------------------------------------------------------------------


def measure_weights(model: Model, store: Store) -> WeightsSize | None:
    """Return the sizes according to files and indices, or None for a model without weights."""
    if model.checkpoint is not None:
        return WeightsSize(_loaded_bytes(model, Path(model.checkpoint)), 0)
    if model.repo is None:
        return None
    folder = snapshot_folder(model.repo, str(model.revision), store)
    if list_fetched_files(folder):
        return WeightsSize(_loaded_bytes(model, folder), 0)
    if model.weights_bytes is None:
        return WeightsSize(None, None)
    fetched_bytes = sum(path.stat().st_size for path in folder.glob(WEIGHT_PATTERN))
    # Weights that are converted on loading take another size than their files.
    is_stored_size = model.dtype == "checkpoint" and model.settings.get("quantised") not in LOAD_TIME_METHODS
    return WeightsSize(model.weights_bytes if is_stored_size else None, max(0, model.weights_bytes - fetched_bytes))


def _loaded_bytes(model: Model, folder: Path) -> int | None:
    """Return the size according to the headers of the files, or None if a file is missing or damaged."""
    try:
        return estimate_memory(folder, model.dtype, model.quantised).weights or None
    except UserError:
        return None


# --- videos ----------------------------------------------------------------------------------------------------------


def estimate_pending_data(plan: Plan, benchmark: str) -> dict[str, tuple[int, float | None]] | None:
    """Return the number of videos to fetch and clips to cut in pending shards, and their bytes.

    These are upper bounds, because the store may have some of them. The result is None until the release is read.
    """
    path = plan.results.items(benchmark).with_name("clips.parquet")
    if not path.is_file():
        return None
    clips = read_table(path, CLIPS)
    shards = [compute_shard(cluster, plan.config.suite.shards) for cluster in clips["cluster"]]
    clips = clips.with_columns(pl.Series("shard", shards, dtype=pl.Int64))
    sources = clips.filter(~_has_manifest(plan, "sources", benchmark))
    source_ids = (set(sources["source_id"]) | set(sources.filter(kind="images")["parts"].explode())) - {"", None}
    uncut = clips.filter(~_has_manifest(plan, "clips", benchmark), pl.col("kind") != "whole")
    route = plan.config.suite.benchmarks[benchmark].route
    source_bytes = _mean_bytes(plan, "sources", benchmark, SOURCES)
    if source_bytes is None and isinstance(route, NetworkRoute):
        source_bytes = route.mb_per_source * MB
    return {
        "videos": (len(source_ids), _times(len(source_ids), source_bytes)),
        "clips": (
            uncut.height,
            _times(uncut.height, _mean_bytes(plan, "clips", benchmark, CLIP_MANIFEST)),
        ),
    }


def _has_manifest(plan: Plan, stage: ManifestKind, benchmark: str) -> pl.Expr:
    """Return an expression that is true for rows of shards whose manifest exists."""
    shards = range(plan.config.suite.shards)
    return pl.col("shard").is_in(
        [shard for shard in shards if plan.results.manifest(stage, benchmark, shard).is_file()]
    )


def _mean_bytes(plan: Plan, stage: ManifestKind, benchmark: str, schema: pl.Schema) -> float | None:
    """Return the mean size of the files in a stage's manifests, or None without any."""
    paths = [path for name, _, path in plan.results.existing_manifests(stage) if name == benchmark]
    sizes = [size for path in paths for size in read_table(path, schema).filter(status="ok")["bytes"].drop_nulls()]
    return fmean(sizes) if sizes else None


def _times(count: int, bytes_each: float | None) -> float | None:
    return 0.0 if not count else None if bytes_each is None else count * bytes_each
