"""Stage `infer`: one run's questions to its model, clip by clip, every answer journaled as it comes."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import MachineError, run_command
from reprise.core.keyfile import read_key
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.store import Store
from reprise.models.asking.ahead import Asked
from reprise.models.asking.copies import CopyLostError, answered, tell
from reprise.models.asking.failures import Failures, failures_path
from reprise.models.asking.first_questions import OptionShare, Start
from reprise.models.asking.journal import Journal, asking_alone, journal_path
from reprise.models.asking.machine import model_on
from reprise.models.asking.money.prices import Budget, Price
from reprise.models.asking.outcomes import DEVICE_ERROR, Model
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.progress import ProgressLine
from reprise.models.asking.served import Arrived, Due, ServedModel, served_by, used_by
from reprise.models.asking.suspects import Suspects
from reprise.models.asking.workers import Worker
from reprise.models.base import Answer, Clip, Request
from reprise.models.keys import ModelRunKey, RunKey
from reprise.stages.answers import write_answers
from reprise.stages.arguments import arguments
from reprise.stages.works import Work, about, gather_text_work, gather_work, of_piece, scored_options, shares_of

HEARING_SECONDS = 0.5
# Columns of the timings: what is done once for a clip.
PARTS = ("decode", "preprocess", "waiting", "encode")


def main() -> None:
    args = arguments(
        "Ask a model the questions of a run.",
        key=Path, requests=Path, frames=[Path], ledgers=[Path], store=Path, threads=int, attempts=int, out=Path,
        timings=Path, log=Path, budget=[float], piece=[Piece.parse],
    )  # fmt: skip
    key = read_key(args.key, ModelRunKey)
    store = Store(args.store)
    piece = args.piece[0] if args.piece else WHOLE
    requests = read_table(args.requests, REQUESTS)
    if args.frames:
        ledger = pl.concat([read_table(path, CLIP_LEDGER) for path in args.ledgers])
        plans = pl.concat([read_table(path, FRAME_PLAN) for path in args.frames])
        works = gather_work(requests, plans, of_piece(ledger, piece), store)
        options = scored_options(about(requests, ledger))  # of the whole run: a server is started alike for each piece
    else:
        works = gather_text_work(requests)
        options = scored_options(requests)
    budget = Budget.of(args.budget)
    with asking_alone(store, key.key, piece):
        journal = Journal(journal_path(store, key.key))
        failures = Failures(failures_path(store, key.key), args.attempts)
        is_needed = any(journal.get(one) is None and failures.is_due(one) for work in works for one in work.entries)
        server_log = args.log.with_suffix(".server.log")
        with model_on(
            key, store, args.threads, is_needed=is_needed, options=options, budget=budget, server_log=server_log
        ) as model:
            responses, timings = ask_all(works, model, journal, failures, key, piece)
        journal.sync()
    write_answers(pl.DataFrame(responses, schema=RESPONSES), pl.DataFrame(timings, schema=TIMINGS), requests, args)


def ask_all(
    works: Sequence[Work],
    model: Model | Sequence[Worker],
    journal: Journal,
    failures: Failures,
    key: RunKey,
    piece: Piece = WHOLE,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ask what has no answer yet and is due of a model, or of its copies at once; rows of responses and of timings."""
    models = model if isinstance(model, Sequence) else [model]
    asking = Asking(models, journal, failures, key, piece)
    asking.ask_due(works)
    responses, timings = [], []
    price = key.price if isinstance(key, ModelRunKey) else None
    for work in works:
        timings.append(timing(work, asking.asked[work.clip.clip_id], journal, price))
        for request, digest, entry in zip(work.requests, work.digests, work.entries, strict=True):
            answer = journal.get(entry) or failures.get(entry)
            assert answer is not None
            responses.append(_response(request, digest, answer, key.key))
    return responses, timings


class Asking:
    """One job's questions to its model, or to copies of it, each of which is asked about a share of the clips; what
    became of them is in the journal and among the failures."""

    def __init__(
        self, models: Sequence[Model | Worker], journal: Journal, failures: Failures, key: RunKey, piece: Piece
    ) -> None:
        self._models = models
        self._journal = journal
        self._failures = failures
        self._share = OptionShare(key)
        self._start = Start(
            key.run,
            is_over=len(journal) > 0,
            answers_elsewhere=journal.count_now,
            other_pieces=None if piece == WHOLE else self._of_other_pieces,
        )
        self._own: frozenset[str] = frozenset()
        self._suspects = Suspects(journal, piece)
        self.asked = Counter[str]()
        """how many questions of each clip"""
        self._lock = threading.Lock()
        self._is_ending = False

    def ask_due(self, works: Sequence[Work]) -> None:
        """Ask what is due: a server about many clips at a time, any other model clip by clip."""
        self._own = frozenset(entry for work in works for entry in work.entries)
        progress = ProgressLine(sum(len(work.requests) for work in works))
        if any(map(self._is_due, self._own)):
            self._look_at_earlier_answers(works)
        else:
            self._share.is_over = True  # nothing is left to be spent; the run's health says it
        if isinstance(self._models[0], ServedModel):
            self._ask_server(self._models[0], works, progress)
        else:
            self._ask_by_clip(works, progress)
        self._start.end()
        if not self._share.is_over:
            self._share.end()
        self._failures.write()

    def _look_at_earlier_answers(self, works: Sequence[Work]) -> None:
        for work in works:
            for entry, request in zip(work.entries, work.requests, strict=True):
                answer = self._journal.get(entry)
                if answer is not None:
                    self._share.note(work.clip.clip_id, request, answer)

    def _of_other_pieces(self) -> Failures:
        return self._failures.elsewhere(self._own)

    def _ask_by_clip(self, works: Sequence[Work], progress: ProgressLine) -> None:
        """Ask clip by clip, and at last, one by one, the questions at which a job was killed."""
        suspects = self._suspects
        suspects.count(self._failures)
        shares = shares_of(works, len(self._models))
        for model, share in zip(self._models, shares, strict=True):
            tell(model, (one for one in map(self._upcoming, share) if one.requests))
        with suspects.noted():
            if len(shares) == 1:
                self._ask_share(0, works, progress)
            else:
                self._ask_at_once(shares, progress)
            for work in works:
                for entry, request in zip(work.entries, work.requests, strict=True):
                    if entry in suspects.entries:
                        self._ask(work, {entry: request}, 0)

    def _ask_server(self, model: ServedModel, works: Sequence[Work], progress: ProgressLine) -> None:
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

    def _keep(self, entry: str, given: Arrived) -> None:
        """Write an answer or a failure down."""
        if given.answer.error:
            self._start.note(given.clip.clip_id, {entry: given.answer}, is_answered=False)
            self._failures.add(entry, given.answer)
        else:
            parts = {name: round(value, 6) for name, value in given.parts.items()}
            self._journal.add(entry, given.answer, round(given.seconds, 6), parts)
            self._start.note(given.clip.clip_id, {}, is_answered=True)
            self._failures.answered(entry)
            self._share.note(given.clip.clip_id, given.request, given.answer)
        if self._start.is_over:
            self._failures.write()

    def _upcoming(self, work: Work) -> Asked:
        return Asked(work.clip, tuple(self._due(self._unsuspected(work)).values()))

    def _ask_at_once(self, shares: Sequence[Sequence[Work]], progress: ProgressLine) -> None:
        """Each share in a thread; when one fails, the others end with the clips that they are asked about."""
        with ThreadPoolExecutor(len(shares), thread_name_prefix="asking") as threads:
            try:
                asked = [threads.submit(self._ask_share, by, share, progress) for by, share in enumerate(shares)]
                self._is_ending = _is_ended_early(asked)
            except BaseException:  # such as Ctrl-C
                self._is_ending = True
                for model in self._models:
                    if isinstance(model, Worker):
                        model.close()
                raise
        for one in asked:
            one.result()

    def _ask_share(self, by: int, works: Sequence[Work], progress: ProgressLine) -> None:
        for work in works:
            if self._is_ending:
                return
            self._ask(work, self._unsuspected(work), by)
            with self._lock:
                progress.advance(len(work.requests))
        self._suspects.asked(by)

    def _unsuspected(self, work: Work) -> dict[str, Request]:
        questions = self._questions(work).items()
        return {entry: request for entry, request in questions if entry not in self._suspects.entries}

    def _questions(self, work: Work) -> dict[str, Request]:
        return dict(zip(work.entries, work.requests, strict=True))

    def _ask(self, work: Work, questions: Mapping[str, Request], by: int) -> None:
        """Ask those of a clip's questions that have no answer and are due."""
        with self._lock:
            pending = self._due(questions)
            if not pending:
                return
            work.check()
            self._suspects.asking(pending, by)
        try:
            failed = ask_clip(work.clip, pending, self._models[by], self._journal)
        except CopyLostError:
            if not self._is_ending:
                self._suspects.killed(by)
            raise
        with self._lock:
            self._note(work, pending, failed)

    def _note(self, work: Work, pending: Mapping[str, Request], failed: Mapping[str, Answer]) -> None:
        """What became of the questions."""
        self.asked[work.clip.clip_id] += len(pending)
        self._start.note(work.clip.clip_id, failed, is_answered=len(failed) < len(pending))
        for entry, request in pending.items():
            if entry in failed:
                self._failures.add(entry, failed[entry])
            else:
                self._failures.answered(entry)
            answer = self._journal.get(entry)
            if answer is not None:
                self._share.note(work.clip.clip_id, request, answer)
        _stop_on_lost_device(failed, self._failures)
        if self._start.is_over:
            self._failures.write()

    def _due(self, questions: Mapping[str, Request]) -> dict[str, Request]:
        return {entry: request for entry, request in questions.items() if self._is_due(entry)}

    def _is_due(self, entry: str) -> bool:
        return self._journal.get(entry) is None and self._failures.is_due(entry)


def _is_ended_early(asked: Sequence[Future[None]]) -> bool:
    """Wait for the first failure, or for the end of all; in between, so that Ctrl-C is heard."""
    while True:
        done, busy = wait(asked, timeout=HEARING_SECONDS, return_when=FIRST_EXCEPTION)
        if not busy or any(one.exception() for one in done):
            return bool(busy)


def ask_clip(clip: Clip, pending: Mapping[str, Request], model: Model | Worker, journal: Journal) -> dict[str, Answer]:
    """Ask about one clip and journal the answers; returns the failures."""
    failed: dict[str, Answer] = {}
    entries = {request.request_id: entry for entry, request in pending.items()}
    for (request, answer, seconds), parts in answered(model, clip, list(pending.values())):
        entry = entries[request.request_id]
        failed.pop(entry, None)
        if answer.error:
            journal.withdraw(entry)
            failed[entry] = answer
        else:
            journal.add(entry, answer, round(seconds, 6), {name: round(value, 6) for name, value in parts.items()})
    return failed


def _stop_on_lost_device(failed: Mapping[str, Answer], failures: Failures) -> None:
    """End the job when it has lost its GPU, not without a note of the question that did it."""
    lost = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
    if lost is not None:
        failures.write()
        raise MachineError(f"the GPU is lost to this job: {lost.message}. Run the same command again.")


def timing(work: Work, asked: int, journal: Journal, price: Price | None = None) -> dict[str, Any]:
    """How long the answers about a clip took and what they cost, whenever they were asked."""
    answered = [entry for entry in dict.fromkeys(work.entries) if journal.get(entry) is not None]
    seconds = [journal.seconds(entry) for entry in answered]
    known = [one for one in seconds if one is not None]
    parts = [journal.parts(entry) for entry in answered]
    used = [used_by(journal.get(entry)) for entry in answered]
    return {
        "clip_id": work.clip.clip_id,
        "requests": len(work.requests),
        "seconds": sum(known) if len(known) == len(seconds) else None,
        "resumed": len(work.requests) - asked,
        "served": sorted({served for entry in answered if (served := served_by(journal.get(entry)))}),
        "tokens_in": sum(one.input for one in used),
        "tokens_out": sum(one.output for one in used),
        "usd": None if price is None else sum(map(price.usd, used)),
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


if __name__ == "__main__":
    run_command(main)
