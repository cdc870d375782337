"""Stage `infer`: run inference for one run, clip by clip; each response is cached as soon as it arrives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.copies import open_model
from reprise.models.inference.job import InferenceJob
from reprise.models.inference.money.prices import Budget, Price
from reprise.models.inference.outcomes import QueryableModel
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.response_cache import (
    ClipRequests,
    Failures,
    ResponseCache,
    get_failures_path,
    get_response_cache_path,
    lock_response_cache,
)
from reprise.models.inference.workers import ModelCopy
from reprise.models.keys import ModelRunKey, RunKey
from reprise.stages.answers import write_answers
from reprise.stages.clip_requests import (
    filter_available_clips,
    find_scored_options,
    gather_clip_requests,
    gather_text_requests,
)
from reprise.stages.command import In, Out, Site


def main(
    settings: ModelRunKey,
    requests: In[Path],
    frames: In[list[Path]],
    manifests: In[list[Path]],
    partition_name: list[str],
    store: Site[Store],
    attempts: Site[int],
    budget: Site[list[float]],
    threads: int,
    log: Path,
    responses: Out[Path],
    timings: Out[Path],
) -> None:
    partition = Partition.parse(partition_name[0]) if partition_name else WHOLE_RUN
    request_table = read_table(requests, REQUESTS)
    with_labels = ADAPTERS[settings.answers.adapter].needs_labels
    if frames:
        manifest = pl.concat([read_table(path, CLIP_MANIFEST) for path in manifests])
        plans = pl.concat([read_table(path, FRAME_PLAN) for path in frames])
        batches = gather_clip_requests(request_table, plans, manifest, store, partition, with_labels=with_labels)
        # The options are those of the whole run, because the server needs the same options for each partition.
        options = find_scored_options(filter_available_clips(request_table, manifest))
    else:
        batches = gather_text_requests(request_table, with_labels=with_labels)
        options = find_scored_options(request_table)
    with lock_response_cache(store, settings.key, partition):
        cache = ResponseCache(get_response_cache_path(store, settings.key))
        failures = Failures(get_failures_path(store, settings.key), attempts)
        entry_ids = [entry_id for batch in batches for entry_id in batch.entry_ids]
        has_pending = any(cache.get(entry_id) is None and failures.should_send(entry_id) for entry_id in entry_ids)
        server_log = log.with_suffix(".server.log")
        with open_model(
            settings,
            store,
            threads,
            is_needed=has_pending,
            option_sets=options,
            budget=Budget.from_numbers(budget),
            server_log=server_log,
            clips=[batch.clip for batch in batches],
        ) as model:
            response_rows, timing_rows = run_inference(batches, model, cache, failures, settings, partition)
        cache.sync()
    answers, timing_table = pl.DataFrame(response_rows, schema=RESPONSES), pl.DataFrame(timing_rows, schema=TIMINGS)
    write_answers(answers, timing_table, request_table, (responses, timings), partition)


def run_inference(
    batches: Sequence[ClipRequests],
    model: QueryableModel | Sequence[ModelCopy],
    response_cache: ResponseCache,
    failures: Failures,
    settings: RunKey,
    partition: Partition = WHOLE_RUN,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Send the pending requests to a model, or to its copies in parallel; return the rows of responses and timings."""
    job = InferenceJob(model if isinstance(model, Sequence) else [model], response_cache, failures, settings, partition)
    job.send_pending(batches)
    responses, timings = [], []
    price = settings.price if isinstance(settings, ModelRunKey) else None
    for batch in batches:
        timings.append(build_timing_row(batch, job.sent_counts[batch.clip.clip_id], response_cache, price))
        for request, digest, entry_id in zip(batch.requests, batch.prompt_digests, batch.entry_ids, strict=True):
            answer = response_cache.get(entry_id) or failures.get(entry_id)
            assert answer is not None
            responses.append(
                {
                    "request_id": request.request_id,
                    "item_id": request.item_id,
                    "role": request.role,
                    "text": answer.text,
                    "scores": list(answer.scores),
                    "frames_shown": answer.frames_shown,
                    "prompt_sha256": digest,
                    "tokens_in": answer.tokens_in,
                    "tokens_out": answer.tokens_out,
                    "error": answer.error,
                    "message": answer.message,
                    "key": settings.key,
                }
            )
    return responses, timings


def build_timing_row(
    batch: ClipRequests, sent_count: int, response_cache: ResponseCache, price: Price | None = None
) -> dict[str, Any]:
    """Return the time and the cost of all responses about a clip, including cached ones of earlier jobs."""
    cached_responses = [
        response
        for entry_id in dict.fromkeys(batch.entry_ids)
        if (response := response_cache.get_response(entry_id)) is not None
    ]
    durations = [response.seconds for response in cached_responses if response.seconds is not None]
    step_seconds: dict[str, float | None] = {}
    for step in ("decode", "preprocess", "waiting", "encode"):  # These are done once per clip.
        times = [response.step_seconds[step] for response in cached_responses if step in response.step_seconds]
        step_seconds[step] = sum(times) if times else None
    usages = [response.answer.token_usage for response in cached_responses]
    return {
        "clip_id": batch.clip.clip_id,
        "requests": len(batch.requests),
        "seconds": sum(durations) if len(durations) == len(cached_responses) else None,
        "resumed": len(batch.requests) - sent_count,
        "served": sorted({response.answer.served_model for response in cached_responses} - {""}),
        "tokens_in": sum(usage.input for usage in usages),
        "tokens_out": sum(usage.output for usage in usages),
        "usd": None if price is None else sum(map(price.compute_usd, usages)),
        **step_seconds,
    }
