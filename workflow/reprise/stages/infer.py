"""Stage `infer`: one run's questions to its model, clip by clip, every answer journaled as it comes."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import final_prompt_digest, with_frame_count
from reprise.core.errors import MachineError, UserError, run_command
from reprise.core.job_logs import Progress
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
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.media.ledgers import clip_file
from reprise.models.adapters.base import Answer, Clip, Request
from reprise.models.ahead import Asked
from reprise.models.answering import DEVICE_ERROR, Model, ask
from reprise.models.failures import Failures, failures_path
from reprise.models.journal import Journal, asking_alone, entry_id, journal_path
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.lazy import PreparingModel, lazy_model
from reprise.models.reasons import REASONS, TRANSIENT
from reprise.models.served import Due, Given, ServedModel, served_by
from reprise.models.suspects import Suspects
from reprise.stages.arguments import arguments

PROGRESS_SECONDS = 10.0
NO_CLIP = ""
# Columns of the timings: what is done once for a clip.
PARTS = ("decode", "preprocess", "waiting", "encode")
# A model that has answered nothing yet is given up when this many questions, about two clips at least, fail alike.
FIRST_QUESTIONS = 8


@dataclass(frozen=True)
class Work:
    """All that is asked about one clip."""

    clip: Clip
    recipe: str
    requests: tuple[Request, ...]
    check: Callable[[], object] = str
    """Stops the job where the clip's file is not what its ledger names: nobody is asked about damaged frames."""

    @cached_property
    def digests(self) -> list[str]:
        """Of each question, what the model is really asked."""
        return [prompt_digest(request) for request in self.requests]

    @cached_property
    def entries(self) -> list[str]:
        """Of each question, its entry in the journal."""
        return [entry_id(self.recipe, digest) for digest in self.digests]


def main() -> None:
    args = arguments(
        "Ask a model the questions of a run.",
        key=Path, requests=Path, frames=[Path], ledgers=[Path], store=Path, threads=int, attempts=int, out=Path,
        timings=Path,
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
        failures = Failures(failures_path(store, key.key), args.attempts)
        with lazy_model(key, store, args.threads, workers=args.threads if key.gpus else 0) as model:
            responses, timings = ask_all(works, model, journal, failures, key)
        journal.sync()
    order = requests.select("request_id").with_row_index("place")
    table = pl.DataFrame(responses, schema=RESPONSES).join(order, on="request_id", how="left").sort("place")
    write_table(pl.DataFrame(timings, schema=TIMINGS), args.timings, TIMINGS, args.made_under)
    write_table(table, args.out, RESPONSES, args.made_under)
    reasons = Counter(table.filter(pl.col("error") != "")["error"])
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    log.info(
        f"{table.height} answers, {reasons.total()} failed{f' ({listed})' if listed else ''}, "
        f"{requests.height - table.height} questions without a clip"
    )


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
            questions=rows.height,
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
    works: Sequence[Work], model: Model, journal: Journal, failures: Failures, key: RunKey
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ask what has no answer yet and is due; rows of responses and of timings."""
    asking = Asking(model, journal, failures, key.run)
    asking.ask_due(works)
    responses, timings = [], []
    for work in works:
        timings.append(_timing(work, asking.asked[work.clip.clip_id], journal))
        for request, digest, entry in zip(work.requests, work.digests, work.entries, strict=True):
            answer = journal.get(entry) or failures.get(entry)
            assert answer is not None
            responses.append(_response(request, digest, answer, key.key))
    return responses, timings


class Asking:
    """One job's questions to its model; what became of them is in the journal and among the failures."""

    def __init__(self, model: Model, journal: Journal, failures: Failures, run: str) -> None:
        self._model = model
        self._journal = journal
        self._failures = failures
        self._start = Start(run, is_over=len(journal) > 0)
        self._suspects = Suspects(journal)
        self.asked = Counter[str]()
        """how many questions of each clip"""

    def ask_due(self, works: Sequence[Work]) -> None:
        """Ask what is due: a server about many clips at a time, any other model clip by clip."""
        progress = ProgressLine(sum(len(work.requests) for work in works))
        if isinstance(self._model, ServedModel):
            self._ask_server(self._model, works, progress)
        else:
            self._ask_by_clip(works, progress)
        self._start.end()
        self._failures.write()

    def _ask_by_clip(self, works: Sequence[Work], progress: "ProgressLine") -> None:
        """Ask clip by clip, and at last, one by one, the questions at which a job was killed."""
        suspects = self._suspects
        suspects.count(self._failures)
        if isinstance(self._model, PreparingModel):
            asked = (Asked(work.clip, tuple(self._due(self._unsuspected(work)).values())) for work in works)
            self._model.expect(one for one in asked if one.requests)
        with suspects.noted():
            for work in works:
                self._ask(work, self._unsuspected(work))
                progress.advance(len(work.requests))
            for work in works:
                for entry, request in zip(work.entries, work.requests, strict=True):
                    if entry in suspects.entries:
                        self._ask(work, {entry: request})

    def _ask_server(self, model: ServedModel, works: Sequence[Work], progress: "ProgressLine") -> None:
        """Send all questions; no question to a server can kill the job."""
        entries: dict[str, str] = {}
        sent = set[str]()
        dues = []
        for work in works:
            due = {entry: one for entry, one in self._due(self._questions(work)).items() if entry not in sent}
            sent |= due.keys()
            entries |= {one.request_id: entry for entry, one in due.items()}
            self.asked[work.clip.clip_id] += len(due)
            progress.advance(len(work.requests) - len(due))
            if due:
                dues.append(Due(work.clip, tuple(due.values()), work.check))
        for given in model.answers_in_any_order(dues):
            self._keep(entries[given.request.request_id], given)
            progress.advance(1)

    def _keep(self, entry: str, given: Given) -> None:
        """Write an answer or a failure down."""
        if given.answer.error:
            self._start.note(given.clip.clip_id, {entry: given.answer}, is_answered=False)
            self._failures.add(entry, given.answer)
        else:
            parts = {name: round(value, 6) for name, value in given.parts.items()}
            self._journal.add(entry, given.answer, round(given.seconds, 6), parts)
            self._start.note(given.clip.clip_id, {}, is_answered=True)
            self._failures.answered(entry)
        if self._start.is_over:
            self._failures.write()

    def _unsuspected(self, work: Work) -> dict[str, Request]:
        questions = self._questions(work).items()
        return {entry: request for entry, request in questions if entry not in self._suspects.entries}

    def _questions(self, work: Work) -> dict[str, Request]:
        return dict(zip(work.entries, work.requests, strict=True))

    def _ask(self, work: Work, questions: Mapping[str, Request]) -> None:
        """Ask those of a clip's questions that have no answer and are due."""
        pending = self._due(questions)
        if not pending:
            return
        work.check()
        self._suspects.asking(pending)
        failed = ask_clip(work.clip, pending, self._model, self._journal)
        self.asked[work.clip.clip_id] += len(pending)
        self._start.note(work.clip.clip_id, failed, is_answered=len(failed) < len(pending))
        for entry in pending:
            if entry in failed:
                self._failures.add(entry, failed[entry])
            else:
                self._failures.answered(entry)
        _stop_on_lost_device(failed, self._failures)
        if self._start.is_over:
            self._failures.write()

    def _due(self, questions: Mapping[str, Request]) -> dict[str, Request]:
        return {entry: request for entry, request in questions.items() if self._is_due(entry)}

    def _is_due(self, entry: str) -> bool:
        return self._journal.get(entry) is None and self._failures.is_due(entry)


def ask_clip(clip: Clip, pending: Mapping[str, Request], model: Model, journal: Journal) -> dict[str, Answer]:
    """Ask about one clip and journal the answers; returns the failures."""
    failed: dict[str, Answer] = {}
    entries = {request.request_id: entry for entry, request in pending.items()}
    for request, answer, seconds in ask(model, clip, list(pending.values())):
        entry = entries[request.request_id]
        failed.pop(entry, None)
        if answer.error:
            journal.withdraw(entry)
            failed[entry] = answer
        else:
            parts = model.spent() if isinstance(model, PreparingModel) else {}
            journal.add(entry, answer, round(seconds, 6), {name: round(value, 6) for name, value in parts.items()})
    return failed


def _stop_on_lost_device(failed: Mapping[str, Answer], failures: Failures) -> None:
    """End the job when it has lost its GPU, not without a note of the question that did it."""
    lost = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
    if lost is not None:
        failures.write()
        raise MachineError(f"the GPU is lost to this job: {lost.message}. Run the same command again.")


class Start:
    """The first questions of a model that has not answered anything yet: if all fail alike, so would the others."""

    def __init__(self, run: str, *, is_over: bool) -> None:
        self._run = run
        self._failed: list[tuple[str, Answer]] = []
        self.is_over = is_over

    def note(self, clip: str, failed: Mapping[str, Answer], *, is_answered: bool) -> None:
        """What became of a clip's questions; a UserError when enough of them have failed alike."""
        if self.is_over:
            return
        self.is_over = is_answered
        self._failed += [(clip, answer) for answer in failed.values() if answer.error not in MEDIA_STATUSES]
        if len(self._failed) >= FIRST_QUESTIONS and len({name for name, _ in self._failed}) > 1:
            self.end()

    def end(self) -> None:
        """A UserError if nothing was answered and all that failed did so alike."""
        if not self.is_over and len({answer.error for _, answer in self._failed}) == 1:
            _, first = self._failed[0]
            raise UserError(
                f"{self._run}: the first {len(self._failed)} questions all failed: {first.error} "
                f"({REASONS[first.error]}): {first.message}. Nothing was recorded. {_advice(first.error)}"
            )
        self.is_over = True


def _advice(error: str) -> str:
    if error == "out_of_memory":
        return "Use a larger device, give the job more memory, or show the model fewer frames."
    if error in TRANSIENT:
        return "Run the same command again when the cause has passed."
    return "Correct the model's file or its adapter, then run the same command again."


def _timing(work: Work, asked: int, journal: Journal) -> dict[str, Any]:
    """How long the answers about a clip took, whenever they were asked."""
    answered = [entry for entry in dict.fromkeys(work.entries) if journal.get(entry) is not None]
    seconds = [journal.seconds(entry) for entry in answered]
    known = [one for one in seconds if one is not None]
    parts = [journal.parts(entry) for entry in answered]
    return {
        "clip_id": work.clip.clip_id,
        "requests": len(work.requests),
        "seconds": sum(known) if len(known) == len(seconds) else None,
        "resumed": len(work.requests) - asked,
        "served": sorted({served for entry in answered if (served := served_by(journal.get(entry)))}),
        **{name: sum(found) if (found := [one[name] for one in parts if name in one]) else None for name in PARTS},
    }


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
        "message": answer.message,
        "key": key,
    }


class ProgressLine:
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
            log.info(str(Progress(self._done, self._total, rate, left)))


if __name__ == "__main__":
    run_command(main)
