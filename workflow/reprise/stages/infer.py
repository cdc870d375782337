"""Stage `infer`: one run's questions to its model, clip by clip, every answer journaled as it comes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import final_prompt_digest, with_frame_count
from reprise.core.errors import UserError, run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import (
    CLIP_LEDGER,
    FRAME_PLAN,
    REQUESTS,
    RESPONSES,
    TIMINGS,
    read_table,
    write_table,
)
from reprise.core.store import Store
from reprise.media.errors import MediaError
from reprise.media.ledgers import clip_file
from reprise.models.adapters import load_adapter
from reprise.models.adapters.base import Adapter, Answer, AnswerError, Clip, ModelSpec, Request
from reprise.models.devices import take_gpus
from reprise.models.journal import Journal, asking_alone, entry_id, journal_path
from reprise.models.keys import ModelRunKey
from reprise.models.weights import weights_folder
from reprise.stages.arguments import arguments

PROGRESS_SECONDS = 10.0
NO_CLIP = ""


@dataclass(frozen=True)
class Work:
    """All that is asked about one clip."""

    clip: Clip
    recipe: str
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """Stops the job where the clip's file is not what its ledger names: nobody is asked about damaged frames."""


class LazyModel:
    """The model, loaded when the first answer is missing: a run whose answers are all journaled loads none."""

    def __init__(self, key: ModelRunKey, store: Store, threads: int) -> None:
        self._key = key
        self._store = store
        self._threads = threads
        self._adapter: Adapter | None = None

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        if self._adapter is None:
            self._adapter = self._load()
        return self._adapter.answers(clip, requests)

    def _load(self) -> Adapter:
        answers = self._key.answers
        self._locks = take_gpus(self._key.gpus, self._store.root / "locks")
        spec = ModelSpec(
            folder=weights_folder(self._key, self._store),
            device="cuda" if self._key.gpus else "cpu",
            threads=self._threads,
            dtype=answers.dtype,
            attention=answers.attention,
            trust_remote_code=answers.trust_remote_code,
            settings=answers.settings,
        )
        log.info(f"loading the model of {self._key.run} by adapter {answers.adapter}")
        adapter: Adapter = load_adapter(answers.adapter)(spec)
        return adapter


def main() -> None:
    args = arguments(
        "Ask a model the questions of a run.",
        key=Path, requests=Path, frames=[Path], ledgers=[Path], store=Path, threads=int, out=Path, timings=Path,
    )  # fmt: skip
    key = read_key(args.key, ModelRunKey)
    store = Store(args.store)
    requests = read_table(args.requests, REQUESTS)
    if args.frames:
        ledger = pl.concat([read_table(path, CLIP_LEDGER) for path in args.ledgers])
        plans = pl.concat([read_table(path, FRAME_PLAN) for path in args.frames])
        works = gather_work(requests, plans, ledger, store)
    else:
        works = gather_text_work(requests)
    with asking_alone(store, key.key):
        journal = Journal(journal_path(store, key.key))
        responses, timings = ask_all(works, LazyModel(key, store, args.threads), journal, key.key)
        journal.sync()
    order = requests.select("request_id").with_row_index("place")
    table = pl.DataFrame(responses, schema=RESPONSES).join(order, on="request_id", how="left").sort("place")
    write_table(pl.DataFrame(timings, schema=TIMINGS), args.timings, TIMINGS, args.made_under)
    write_table(table, args.out, RESPONSES, args.made_under)
    failed = table.filter(pl.col("error") != "").height
    log.info(f"{table.height} answers, {failed} failed, {requests.height - table.height} questions without a clip")


def gather_work(requests: pl.DataFrame, plans: pl.DataFrame, ledger: pl.DataFrame, store: Store) -> list[Work]:
    """The questions of each clip that exists, in the order of the clips."""
    found = {row["clip_id"]: row for row in ledger.filter(pl.col("status") == "ok").iter_rows(named=True)}
    planned = {row["clip_id"]: row for row in plans.iter_rows(named=True)}
    works = []
    for (clip_id,), rows in requests.group_by("clip_id", maintain_order=True):
        name = str(clip_id)
        if name not in found:
            continue
        if name not in planned:
            raise UserError(f"clip '{name}' has no frame plan. Delete the frames table of this sampling and run again.")
        clip = Clip(
            clip_id=name,
            path=store.root / found[name]["object"],
            indices=tuple(planned[name]["indices"]),
            times_s=tuple(planned[name]["times_s"]),
        )
        asked = tuple(_request(row, len(clip.indices)) for row in rows.iter_rows(named=True))
        works.append(Work(clip, found[name]["recipe"], asked, partial(clip_file, store, found[name])))
    return works


def gather_text_work(requests: pl.DataFrame) -> list[Work]:
    """Questions about texts alone, such as a judge's; an answer is reused whatever clip it was about."""
    return [
        Work(Clip(str(clip_id), None, (), ()), NO_CLIP, tuple(_request(row, 0) for row in rows.iter_rows(named=True)))
        for (clip_id,), rows in requests.group_by("clip_id", maintain_order=True)
    ]


def _request(row: Mapping[str, Any], frames: int) -> Request:
    return Request(
        request_id=row["request_id"],
        item_id=row["item_id"],
        role=row["role"],
        ask=row["ask"],
        system=with_frame_count(row["system"], frames),
        prompt=with_frame_count(row["prompt"], frames),
        options=tuple(row["options"]),
        expected=row["expected"],
        max_tokens=row["max_tokens"],
    )


def prompt_digest(request: Request) -> str:
    """Digest of what the model is really asked."""
    settings = {"ask": request.ask, "options": request.options, "max_tokens": request.max_tokens}
    return final_prompt_digest(request.system, request.prompt, settings)


def ask_all(
    works: Sequence[Work], model: LazyModel, journal: Journal, key: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ask what the journal does not hold yet; rows of responses and of timings."""
    responses, timings = [], []
    total = sum(len(work.requests) for work in works)
    progress = Progress(total)
    for work in works:
        digests = [prompt_digest(request) for request in work.requests]
        entries = [entry_id(work.recipe, digest) for digest in digests]
        pending = {
            entry: request for entry, request in zip(entries, work.requests, strict=True) if journal.get(entry) is None
        }
        if pending:
            work.check()
        start = time.monotonic()
        failed = ask_clip(work.clip, pending, model, journal)
        timings.append(
            {
                "clip_id": work.clip.clip_id,
                "requests": len(work.requests),
                "seconds": time.monotonic() - start,
                "resumed": len(work.requests) - len(pending),
            }
        )
        for request, digest, entry in zip(work.requests, digests, entries, strict=True):
            answer = journal.get(entry) or failed[entry]
            responses.append(_response(request, digest, answer, key))
        progress.advance(len(work.requests))
    return responses, timings


def ask_clip(clip: Clip, pending: Mapping[str, Request], model: LazyModel, journal: Journal) -> dict[str, Answer]:
    """Ask about one clip and journal the answers; returns the failures, which are never journaled."""
    failed: dict[str, Answer] = {}
    if not pending:
        return failed
    try:
        for entry, answer in zip(pending, model.answers(clip, list(pending.values())), strict=True):
            if answer.error:
                failed[entry] = answer
            else:
                journal.add(entry, answer)
    except (AnswerError, MediaError) as error:
        log.info(f"{clip.clip_id}: {error}")
        unanswered = [entry for entry in pending if journal.get(entry) is None and entry not in failed]
        failed |= {entry: Answer(error=error.status) for entry in unanswered}
    return failed


def _response(request: Request, digest: str, answer: Answer, key: str) -> dict[str, Any]:
    return {
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
        "key": key,
    }


class Progress:
    """A line in the log every few seconds: how far, how fast, how long still."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._last >= PROGRESS_SECONDS or self._done == self._total:
            self._last = now
            rate = self._done / max(now - self._start, 1e-9)
            left = (self._total - self._done) / rate
            log.info(f"{self._done} of {self._total} requests, {rate:.1f} a second, about {left:.0f} s left")


if __name__ == "__main__":
    run_command(main)
