"""Estimate the tokens and the time of runs from the measured times of earlier runs.

Users decide from these estimates whether to start jobs. A quantity without a measurement is therefore None, never 0.
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
from reprise.models.local.weights import LOAD_TIME_METHODS, WEIGHT_PATTERN, get_snapshot_folder, list_fetched_files
from reprise.plan.runs import Plan

# Basis of an estimate: the same run, a run of its model on the same benchmark, another run of its model, or arithmetic
# without a measurement (`plan/forecast.py`).
EstimateSource = Literal["itself", "benchmark", "model", "arithmetic"]
SOURCES_BY_RELIABILITY: Sequence[EstimateSource] = ("itself", "benchmark", "model")  # the most reliable first


class Workload(NamedTuple):
    """Amount of work of a run."""

    request_count: int
    clip_count: int
    frame_count: float | None  # sum over all clips, None if unknown

    @property
    def frames_per_clip(self) -> float | None:
        """Return the mean number of frames of a clip, or None if unknown."""
        return self.frame_count / self.clip_count if self.frame_count is not None and self.clip_count else None


class RunTiming(NamedTuple):
    """Measured times of a run, and the workload of the clips whose times are known."""

    workload: Workload
    clip_work_s: float  # waiting for the frames and encoding them, as a sum over all clips
    request_work_s: float  # all other work, as a sum over all requests
    is_encoded_once: bool  # whether a clip is encoded once for all its requests
    mean_prompt_tokens: float | None = None


class Estimate(NamedTuple):
    """Estimated duration, and the kind of run that it is based on."""

    seconds: float
    source: EstimateSource


def summarize_timings(
    timings: pl.DataFrame, frame_count_by_clip: Mapping[str, int], mean_prompt_tokens: float | None
) -> RunTiming | None:
    """Return the measured work and times of a run, or None if no time is known.

    Args:
        timings: Timings of the run.
        frame_count_by_clip: Number of frames of each clip.
        mean_prompt_tokens: Mean number of tokens of a prompt, if known.
    """
    timed_rows = timings.filter(
        pl.col("seconds").is_not_null(), pl.col("requests") > 0, pl.col("clip_id").is_in(list(frame_count_by_clip))
    )
    if timed_rows.is_empty():
        return None
    rows = timed_rows.with_columns(pl.col("seconds", "waiting", "encode").fill_null(0.0))
    encode_s = float(rows["encode"].sum())
    frame_count = sum(frame_count_by_clip[clip] for clip in rows["clip_id"])
    return RunTiming(
        Workload(int(rows["requests"].sum()), rows.height, frame_count),
        clip_work_s=encode_s + float(rows["waiting"].sum()),
        request_work_s=float(rows["seconds"].sum()) - encode_s,
        is_encoded_once=encode_s > 0,
        mean_prompt_tokens=mean_prompt_tokens,
    )


def estimate_duration(
    workload: Workload, measurements: Mapping[EstimateSource, Sequence[RunTiming]]
) -> Estimate | None:
    """Return the mean estimate from the most reliable measured runs, or None if no run allows an estimate."""
    if not workload.request_count:
        return Estimate(0.0, "itself")
    for source in SOURCES_BY_RELIABILITY:
        estimates = [estimate_seconds(timing, workload) for timing in measurements.get(source, ())]
        durations = [seconds for seconds in estimates if seconds is not None]
        if durations:
            return Estimate(fmean(durations), source)
    return None


def estimate_seconds(timing: RunTiming, workload: Workload) -> float | None:
    """Return how long a workload takes at the speed of a measured run, or None if the runs' frames are not comparable.

    The work per clip grows with the number of frames. So does the work per request, unless a clip is encoded once for
    all its requests.
    """
    frame_ratio = _frame_ratio(timing, workload)
    if frame_ratio is None or not timing.workload.request_count:
        return None
    request_s = timing.request_work_s / timing.workload.request_count * workload.request_count
    if not timing.is_encoded_once:
        request_s *= frame_ratio
    clip_s = timing.clip_work_s / timing.workload.clip_count * workload.clip_count * frame_ratio
    return clip_s + request_s


def estimate_tokens(workload: Workload, measurements: Iterable[RunTiming]) -> float | None:
    """Return the estimated number of tokens of all prompts: the mean of the estimates from measured runs.

    The estimate assumes that the number of tokens is proportional to the number of frames, although a prompt also has
    text.
    """
    if not workload.request_count:
        return 0.0
    estimates = [
        timing.mean_prompt_tokens * workload.request_count * frame_ratio
        for timing in measurements
        if timing.mean_prompt_tokens is not None and (frame_ratio := _frame_ratio(timing, workload)) is not None
    ]
    return fmean(estimates) if estimates else None


def _frame_ratio(timing: RunTiming, workload: Workload) -> float | None:
    """Return the ratio of frames per clip, or None if it is unknown or if just one of both runs is text-only."""
    frames, measured_frames = workload.frames_per_clip, timing.workload.frames_per_clip
    if frames is None or measured_frames is None or (frames == 0) != (measured_frames == 0):
        return None
    return frames / measured_frames if measured_frames else 1.0


MB = 10**6

# --- weights ---------------------------------------------------------------------------------------------------------


class WeightsSize(NamedTuple):
    """Sizes of a model's weights; None if unknown."""

    loaded_bytes: int | None  # memory on the device
    download_bytes: int | None  # bytes that are not fetched yet


def measure_weights(model: Model, store: Store) -> WeightsSize | None:
    """Return the sizes of a model's weights, or None if the model has no weights."""
    if model.checkpoint is not None:
        return WeightsSize(_estimate_loaded_bytes(model, Path(model.checkpoint)), 0)
    if model.repo is None:
        return None
    folder = get_snapshot_folder(model.repo, str(model.revision), store)
    if list_fetched_files(folder):
        return WeightsSize(_estimate_loaded_bytes(model, folder), 0)
    if model.weights_bytes is None:
        return WeightsSize(None, None)
    fetched_bytes = sum(path.stat().st_size for path in folder.glob(WEIGHT_PATTERN))
    # Weights that are converted while they are loaded differ in size from their files.
    is_stored_size = model.dtype == "checkpoint" and model.settings.get("quantised") not in LOAD_TIME_METHODS
    return WeightsSize(model.weights_bytes if is_stored_size else None, max(0, model.weights_bytes - fetched_bytes))


def _estimate_loaded_bytes(model: Model, folder: Path) -> int | None:
    """Return the loaded size according to the headers of the files, or None if a file is missing or damaged."""
    try:
        return estimate_memory(folder, model.dtype, model.quantised).weight_bytes or None
    except UserError:
        return None


# --- videos ----------------------------------------------------------------------------------------------------------


def estimate_pending_data(plan: Plan, benchmark: str) -> dict[str, tuple[int, float | None]] | None:
    """Estimate the data that jobs still have to fetch and cut.

    Return a mapping of `videos` and `clips` to their number and their bytes; bytes are None if unknown. These are upper
    bounds, because the store may already have some of the files. The result is None as long as the release is not
    converted to clips.
    """
    path = plan.results.items(benchmark).with_name("clips.parquet")
    if not path.is_file():
        return None
    clips = read_table(path, CLIPS)
    shards = [compute_shard(cluster, plan.config.suite.shards) for cluster in clips["cluster"]]
    clips = clips.with_columns(pl.Series("shard", shards, dtype=pl.Int64))
    pending_clips = clips.filter(~_has_manifest(plan, "sources", benchmark))
    # A clip of images has its sources in `parts`; other clips have one source in `source_id`.
    image_ids = pending_clips.filter(kind="images")["parts"].explode()
    source_ids = (set(pending_clips["source_id"]) | set(image_ids)) - {"", None}
    uncut_clips = clips.filter(~_has_manifest(plan, "clips", benchmark), pl.col("kind") != "whole")
    route = plan.config.suite.benchmarks[benchmark].route
    source_bytes = _mean_bytes(plan, "sources", benchmark, SOURCES)
    if source_bytes is None and isinstance(route, NetworkRoute):
        source_bytes = route.mb_per_source * MB
    clip_bytes = _mean_bytes(plan, "clips", benchmark, CLIP_MANIFEST)
    return {
        "videos": (len(source_ids), _multiply_or_none(len(source_ids), source_bytes)),
        "clips": (uncut_clips.height, _multiply_or_none(uncut_clips.height, clip_bytes)),
    }


def _has_manifest(plan: Plan, stage: ManifestKind, benchmark: str) -> pl.Expr:
    """Return an expression that is true for rows of shards whose manifest exists."""
    shards = range(plan.config.suite.shards)
    return pl.col("shard").is_in(
        [shard for shard in shards if plan.results.manifest(stage, benchmark, shard).is_file()]
    )


def _mean_bytes(plan: Plan, stage: ManifestKind, benchmark: str, schema: pl.Schema) -> float | None:
    """Return the mean size of the files that a stage's manifests list, or None if they list no file."""
    paths = [path for name, _, path in plan.results.existing_manifests(stage) if name == benchmark]
    sizes = [size for path in paths for size in read_table(path, schema).filter(status="ok")["bytes"].drop_nulls()]
    return fmean(sizes) if sizes else None


def _multiply_or_none(count: int, bytes_each: float | None) -> float | None:
    if not count:
        return 0.0
    return None if bytes_each is None else count * bytes_each
