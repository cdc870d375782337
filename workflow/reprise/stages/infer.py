"""Stage `infer`: run inference for one run, clip by clip, and store each answer in the response cache at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.copies import model_on
from reprise.models.asking.job import Asking
from reprise.models.asking.journal import Failures, Journal, Work, asking_alone, failures_path, journal_path
from reprise.models.asking.money.prices import Budget, Price
from reprise.models.asking.outcomes import Model
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.workers import Copy
from reprise.models.keys import ModelRunKey, RunKey
from reprise.stages.answers import write_answers
from reprise.stages.command import In, Out, Site
from reprise.stages.works import gather_text_work, gather_work, rows_of_available_clips, scored_options


def main(
    settings: ModelRunKey,
    requests: In[Path],
    frames: In[list[Path]],
    ledgers: In[list[Path]],
    piece: list[str],
    store: Site[Store],
    attempts: Site[int],
    budget: Site[list[float]],
    threads: int,
    log: Path,
    responses: Out[Path],
    timings: Out[Path],
) -> None:
    partition = Piece.parse(piece[0]) if piece else WHOLE
    request_table = read_table(requests, REQUESTS)
    with_labels = ADAPTERS[settings.answers.adapter].reads_labels
    if frames:
        manifest = pl.concat([read_table(path, CLIP_LEDGER) for path in ledgers])
        plans = pl.concat([read_table(path, FRAME_PLAN) for path in frames])
        works = gather_work(request_table, plans, manifest, store, partition, with_labels=with_labels)
        # Use the whole run, so that the server has the same options in each partition.
        options = scored_options(rows_of_available_clips(request_table, manifest))
    else:
        works = gather_text_work(request_table, with_labels=with_labels)
        options = scored_options(request_table)
    with asking_alone(store, settings.key, partition):
        journal = Journal(journal_path(store, settings.key))
        failures = Failures(failures_path(store, settings.key), attempts)
        is_needed = any(
            journal.get(entry) is None and failures.is_due(entry) for work in works for entry in work.entries
        )
        server_log = log.with_suffix(".server.log")
        with model_on(
            settings,
            store,
            threads,
            is_needed=is_needed,
            options=options,
            budget=Budget.of(budget),
            server_log=server_log,
            clips=[work.clip for work in works],
        ) as model:
            response_rows, timing_rows = ask_all(works, model, journal, failures, settings, partition)
        journal.sync()
    answers, timing_table = pl.DataFrame(response_rows, schema=RESPONSES), pl.DataFrame(timing_rows, schema=TIMINGS)
    write_answers(answers, timing_table, request_table, (responses, timings), partition)


def ask_all(
    works: Sequence[Work],
    model: Model | Sequence[Copy],
    journal: Journal,
    failures: Failures,
    key: RunKey,
    partition: Piece = WHOLE,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run inference for pending requests with a model, or with its copies in parallel; return responses and timings."""
    job = Asking(model if isinstance(model, Sequence) else [model], journal, failures, key, partition)
    job.ask_due(works)
    responses, timings = [], []
    price = key.price if isinstance(key, ModelRunKey) else None
    for work in works:
        timings.append(timing(work, job.asked[work.clip.clip_id], journal, price))
        for request, digest, entry in zip(work.requests, work.digests, work.entries, strict=True):
            answer = journal.get(entry) or failures.get(entry)
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
                    "key": key.key,
                }
            )
    return responses, timings


def timing(work: Work, queried: int, journal: Journal, price: Price | None = None) -> dict[str, Any]:
    """Return the time and the cost of the answers about a clip, including those of earlier jobs."""
    cached = [response for entry in dict.fromkeys(work.entries) if (response := journal.known(entry)) is not None]
    durations = [response.seconds for response in cached if response.seconds is not None]
    usages = [response.answer.used for response in cached]
    return {
        "clip_id": work.clip.clip_id,
        "requests": len(work.requests),
        "seconds": sum(durations) if len(durations) == len(cached) else None,
        "resumed": len(work.requests) - queried,
        "served": sorted({response.answer.served for response in cached} - {""}),
        "tokens_in": sum(usage.input for usage in usages),
        "tokens_out": sum(usage.output for usage in usages),
        "usd": None if price is None else sum(map(price.usd, usages)),
        **{
            name: sum(times)
            if (times := [response.parts[name] for response in cached if name in response.parts])
            else None
            for name in ("decode", "preprocess", "waiting", "encode")  # These are done once per clip.
        },
    }
