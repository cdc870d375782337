"""Stage `infer`: one run's questions to its model, clip by clip, every answer journaled as it comes."""

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
from reprise.stages.works import about, gather_text_work, gather_work, scored_options


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
    asked_of = Piece.parse(piece[0]) if piece else WHOLE
    asked = read_table(requests, REQUESTS)
    with_labels = ADAPTERS[settings.answers.adapter].reads_labels
    if frames:
        ledger = pl.concat([read_table(path, CLIP_LEDGER) for path in ledgers])
        plans = pl.concat([read_table(path, FRAME_PLAN) for path in frames])
        works = gather_work(asked, plans, ledger, store, asked_of, with_labels=with_labels)
        options = scored_options(about(asked, ledger))  # of the whole run: a server is started alike for each piece
    else:
        works = gather_text_work(asked, with_labels=with_labels)
        options = scored_options(asked)
    with asking_alone(store, settings.key, asked_of):
        journal = Journal(journal_path(store, settings.key))
        failures = Failures(failures_path(store, settings.key), attempts)
        is_needed = any(journal.get(one) is None and failures.is_due(one) for work in works for one in work.entries)
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
            answered_rows, timed_rows = ask_all(works, model, journal, failures, settings, asked_of)
        journal.sync()
    answers, timed = pl.DataFrame(answered_rows, schema=RESPONSES), pl.DataFrame(timed_rows, schema=TIMINGS)
    write_answers(answers, timed, asked, (responses, timings), asked_of)


def ask_all(
    works: Sequence[Work],
    model: Model | Sequence[Copy],
    journal: Journal,
    failures: Failures,
    key: RunKey,
    piece: Piece = WHOLE,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ask what has no answer yet and is due of a model, or of its copies at once; rows of responses and of timings."""
    asking = Asking(model if isinstance(model, Sequence) else [model], journal, failures, key, piece)
    asking.ask_due(works)
    responses, timings = [], []
    price = key.price if isinstance(key, ModelRunKey) else None
    for work in works:
        timings.append(timing(work, asking.asked[work.clip.clip_id], journal, price))
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


def timing(work: Work, asked: int, journal: Journal, price: Price | None = None) -> dict[str, Any]:
    """How long the answers about a clip took and what they cost, whenever they were asked."""
    answered = [found for entry in dict.fromkeys(work.entries) if (found := journal.known(entry)) is not None]
    known = [one.seconds for one in answered if one.seconds is not None]
    used = [one.answer.used for one in answered]
    return {
        "clip_id": work.clip.clip_id,
        "requests": len(work.requests),
        "seconds": sum(known) if len(known) == len(answered) else None,
        "resumed": len(work.requests) - asked,
        "served": sorted({one.answer.served for one in answered} - {""}),
        "tokens_in": sum(one.input for one in used),
        "tokens_out": sum(one.output for one in used),
        "usd": None if price is None else sum(map(price.usd, used)),
        **{
            name: sum(took) if (took := [one.parts[name] for one in answered if name in one.parts]) else None
            for name in ("decode", "preprocess", "waiting", "encode")  # what is done once for a clip
        },
    }
