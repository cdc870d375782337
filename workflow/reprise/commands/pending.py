"""Estimate pending requests and the times of inference, from existing tables and response caches."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

from reprise.commands.shared import load_clip_requests
from reprise.core.errors import UserError
from reprise.core.paths import ScoredRun
from reprise.core.schemas import CLIPS, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.settings import Settings
from reprise.media.sampling import count_pictures
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.response_cache import (
    ClipRequests,
    Failures,
    ResponseCache,
    get_failures_path,
    get_response_cache_path,
)
from reprise.models.keys import RunKey
from reprise.plan.answers import ModelJob, iter_jobs
from reprise.plan.costs import (
    Estimate,
    EstimateSource,
    RunTiming,
    Workload,
    estimate_duration,
    estimate_tokens,
    summarize_timings,
)
from reprise.plan.forecast import (
    forecast_gpu_seconds,
    forecast_prompt_tokens,
    forecast_workload,
    is_encoded_once,
    size_of_model,
)
from reprise.plan.runs import Plan
from reprise.plan.states import PendingJob
from reprise.stages.clip_requests import gather_text_requests
from reprise.stages.infer import build_timing_row

SHORT_ANSWER_TOKENS = 32  # maximum tokens of an answer that names an option


class JobEstimate(NamedTuple):
    """Pending requests of an inference job with their estimated time."""

    pending_job: PendingJob
    workload: Workload | None  # pending requests; None while their number is unknown
    n_answered: int = 0
    is_upper_bound: bool = False  # whether the workload is an upper bound, because some clips may be missing
    prompt_tokens: float | None = None  # tokens of all pending prompts
    time: Estimate | None = None

    @property
    def scored_run(self) -> ScoredRun:
        return self.pending_job.job.scored_run

    @property
    def request_count(self) -> int | None:
        return None if self.workload is None else self.workload.request_count

    @property
    def frame_count(self) -> float | None:
        return None if self.workload is None else self.workload.frame_count


class JobEstimator:
    """Estimator of the pending requests of a suite; each table and response cache is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        self._plan, self._settings = plan, settings
        # (table of requests, sampling, whether labels are needed) -> requests about each clip; None without clips yet.
        self._batches: dict[tuple[Path, str, bool], list[ClipRequests] | None] = {}
        self._caches: dict[str, ResponseCache] = {}  # digest of a run's key -> its response cache
        self._jobs = list(iter_jobs(plan))
        self._timings = {
            job.scored_run: timing for job in self._jobs if (timing := self._table_timing(job)) is not None
        }

    def estimate_job(self, pending_job: PendingJob) -> JobEstimate:
        """Return the pending requests of a job with their tokens and time."""
        pending = self._count_pending(pending_job)
        if pending.workload is None:
            return pending
        timings = self.find_timings(pending_job.job)
        tokens = estimate_tokens(pending.workload, timings["itself"] or [*timings["benchmark"], *timings["model"]])
        time = estimate_duration(pending.workload, timings)
        if not pending_job.job.is_text_only:
            tokens = self._forecast_tokens(pending_job.job, pending.workload) if tokens is None else tokens
            time = self._forecast_time(pending_job.job, pending.workload) if time is None else time
        return pending._replace(prompt_tokens=tokens, time=time)

    def _forecast_tokens(self, job: ModelJob, workload: Workload) -> float | None:
        """Return the prompt tokens of a job by arithmetic, or None if they are unknown."""
        model = self._plan.config.models[_get_slug(job)]
        return forecast_prompt_tokens(self._plan, job.scored_run.run, model, workload.request_count)

    def _forecast_time(self, job: ModelJob, workload: Workload) -> Estimate | None:
        """Return the time of a model on a GPU by arithmetic, or None if it is unknown."""
        model = self._plan.config.models[_get_slug(job)]
        size = size_of_model(self._plan, model) if model.gpus else None
        if size is None:
            return None
        seconds = forecast_gpu_seconds(
            self._plan, job.scored_run.run, workload, size.parameters, encoded_once=is_encoded_once(model)
        )
        return None if seconds is None else Estimate(seconds, "arithmetic")

    # Pending requests

    def _count_pending(self, pending_job: PendingJob) -> JobEstimate:
        """Return the pending requests of a job, without tokens and time.

        The number comes from the requests about existing clips, else from the table of requests, else from the counts
        that the benchmark's file states. It is an upper bound in the last two cases.
        """
        job = pending_job.job
        cache, batches = self._get_cache(job), self._get_batches(job)
        if batches is None:  # The clips and their frames do not exist yet.
            requests = _read_table(job.requests_path, REQUESTS)
            if requests is None:
                forecast = None if job.is_text_only else forecast_workload(self._plan, job.scored_run.run)
                if forecast is None:
                    return JobEstimate(pending_job, None, len(cache))
                count = max(0, forecast.request_count - len(cache))
                frames = forecast.frame_count if self._has_frames(job) else 0.0
                forecast = forecast._replace(request_count=count, frame_count=frames)
                return JobEstimate(pending_job, forecast, len(cache), is_upper_bound=True)
            clips = requests["clip_id"].unique()
            frames = self._frames_by_rule(job, clips) if self._has_frames(job) else 0.0
            workload = Workload(max(0, requests.height - len(cache)), len(clips), frames)
            return JobEstimate(pending_job, workload, len(cache), is_upper_bound=True)
        failures = Failures(
            get_failures_path(self._plan.store, self._get_key(job)), self._plan.config.suite.answer_attempts
        )
        n_answered, pending = 0, Workload(0, 0, 0.0)
        for batch in batches:
            unanswered = [entry_id for entry_id in batch.entry_ids if cache.get(entry_id) is None]
            n_answered += len(batch.entry_ids) - len(unanswered)
            if new_requests := sum(map(failures.should_send, unanswered)):
                pictures = batch.clip.picture_count if self._has_frames(job) else 0
                pending = Workload(
                    pending.request_count + new_requests,
                    pending.clip_count + 1,
                    (pending.frame_count or 0.0) + pictures,
                )
        return JobEstimate(pending_job, pending, n_answered)

    def _frames_by_rule(self, job: ModelJob, clips: pl.Series) -> float | None:
        """Return the total number of frames that the job's sampling selects of the clips, a grid as one frame.

        The result is None if the number depends on clip lengths that are unknown.
        """
        run = job.scored_run.run
        rule = self._plan.config.main.samplings[run.sampling]
        count = count_pictures(rule)
        if count is not None:
            return float(count * len(clips))
        spans = _read_table(self._plan.results.items(run.benchmark).with_name("clips.parquet"), CLIPS)
        if "fps" not in rule or spans is None:
            return None
        requested_spans = spans.filter(pl.col("clip_id").is_in(clips.implode()))
        lengths = (requested_spans["end_s"] - requested_spans["start_s"]).to_list()
        return None if None in lengths else float(rule["fps"] * sum(lengths))

    # Times of earlier inference

    def find_timings(self, job: ModelJob) -> dict[EstimateSource, list[RunTiming]]:
        """Return the timings from which the time of a job can be estimated, by their origin.

        `itself` is the job, `benchmark` other jobs of its model on its benchmark with the same type of requests, and
        `model` all other jobs of its model. Only jobs with answers of similar length count.
        """
        timing = self._cache_timing(job) or self._timings.get(job.scored_run)
        timings: dict[EstimateSource, list[RunTiming]] = {
            "itself": [timing] if timing else [],
            "benchmark": [],
            "model": [],
        }
        request_type, length = self._request_class(job)
        for candidate in self._jobs:
            candidate_type, candidate_length = self._request_class(candidate)
            is_timed = candidate.scored_run in self._timings and candidate.scored_run != job.scored_run
            if is_timed and candidate_length == length and _get_slug(candidate) == _get_slug(job):
                is_same_benchmark = candidate.scored_run.run.benchmark == job.scored_run.run.benchmark
                is_similar = is_same_benchmark and candidate_type == request_type
                timings["benchmark" if is_similar else "model"].append(self._timings[candidate.scored_run])
        return timings

    def _request_class(self, job: ModelJob) -> tuple[str, str]:
        """Return the request type and the class of answer lengths of a job, which dominate the time per request."""
        run = job.scored_run.run
        if job.title:  # A side package's job; its protocol is the kind of job, not a protocol of the benchmark.
            return run.protocol, run.protocol
        protocol = self._plan.config.benchmarks[run.benchmark].protocols[run.protocol]
        if job.scored_run.judge:
            return protocol.request_type, "judge"
        if protocol.request_type == "similarity":
            return protocol.request_type, protocol.request_type
        is_short = protocol.request_type == "score" or protocol.max_tokens <= SHORT_ANSWER_TOKENS
        return protocol.request_type, "short" if is_short else f"{protocol.max_tokens} tokens"

    def _table_timing(self, job: ModelJob) -> RunTiming | None:
        """Return the timing of a finished job from its tables."""
        timings = _read_table(job.responses_path.with_suffix(".timings.parquet"), TIMINGS)
        answers = _read_table(job.responses_path, RESPONSES)
        if timings is None or answers is None:
            return None
        return self._summarize(job, timings, answers.filter(error="")["tokens_in"].to_list())

    def _cache_timing(self, job: ModelJob) -> RunTiming | None:
        """Return the timing of the cached responses of a job, which may be interrupted."""
        cache, batches = self._get_cache(job), self._get_batches(job)
        if not len(cache) or batches is None:
            return None
        rows, tokens = [], []
        for batch in batches:
            answers = [answer for entry_id in batch.entry_ids if (answer := cache.get(entry_id)) is not None]
            rows.append(build_timing_row(batch, sent_count=0, response_cache=cache) | {"requests": len(answers)})
            tokens += [answer.tokens_in for answer in answers]
        return self._summarize(job, pl.DataFrame(rows, schema=TIMINGS), tokens)

    def _summarize(self, job: ModelJob, timings: pl.DataFrame, tokens: list[int]) -> RunTiming | None:
        """Return the timing of a job from its clip times and prompt tokens.

        Without token counts, the mean is unknown for a model with weights or a remote model, and zero for others.
        """
        model, batches = self._plan.config.models[_get_slug(job)], self._get_batches(job)
        token_counts = list(filter(None, tokens))
        mean_prompt_tokens = fmean(token_counts) if token_counts else None
        frame_count_by_clip = dict.fromkeys(timings["clip_id"], 0)
        if self._has_frames(job) and batches is not None:
            frame_count_by_clip = {batch.clip.clip_id: batch.clip.picture_count for batch in batches}
        elif self._has_frames(job):
            count = count_pictures(self._plan.config.main.samplings[job.scored_run.run.sampling])
            frame_count_by_clip = {} if count is None else dict.fromkeys(frame_count_by_clip, count)
        return summarize_timings(
            timings, frame_count_by_clip, mean_prompt_tokens if model.has_weights or model.is_remote else 0.0
        )

    # Tables and response caches

    def _has_frames(self, job: ModelJob) -> bool:
        """Return whether the model processes frames, unlike a judge or a baseline."""
        return not job.is_text_only and self._plan.config.models[_get_slug(job)].has_weights

    def _get_key(self, job: ModelJob) -> str:
        """Return the digest of the settings that shape the answers of a job."""
        key = self._settings[job.settings_name]
        assert isinstance(key, RunKey)
        return key.key

    def _get_cache(self, job: ModelJob) -> ResponseCache:
        """Return the response cache of a job."""
        key = self._get_key(job)
        if key not in self._caches:
            self._caches[key] = ResponseCache(get_response_cache_path(self._plan.store, key))
        return self._caches[key]

    def _get_batches(self, job: ModelJob) -> list[ClipRequests] | None:
        """Return the requests about each clip, or None if they do not exist yet."""
        with_labels = ADAPTERS[self._plan.config.models[_get_slug(job)].adapter].needs_labels
        key = job.requests_path, "" if job.scored_run.judge else job.scored_run.run.sampling, with_labels
        if key not in self._batches:
            self._batches[key] = self._gather_requests(job, with_labels)
        return self._batches[key]

    def _gather_requests(self, job: ModelJob, with_labels: bool) -> list[ClipRequests] | None:
        """Return the requests about each clip from the existing tables, or None if they do not exist yet."""
        if job.is_text_only:
            requests = _read_table(job.requests_path, REQUESTS)
            return None if requests is None else gather_text_requests(requests, with_labels=with_labels)
        try:
            return load_clip_requests(self._plan, job.scored_run.run)
        except UserError:  # Requests, frames or clips do not exist yet, or the frames are outdated.
            return None


def _get_slug(job: ModelJob) -> str:
    """Return the model that a job queries: the judge of a judged run, or the run's model."""
    return job.scored_run.judge or job.scored_run.run.model


def _read_table(path: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """Return a table, or None if it is missing, damaged or from another version."""
    try:
        return read_table(path, schema) if path.is_file() else None
    except UserError:
        return None
