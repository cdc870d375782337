"""One job's questions to its model: asked clip by clip or many at a time, every answer journaled as it comes."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from reprise.core.errors import MachineError
from reprise.models.asking.ahead import Asked
from reprise.models.asking.copies import CopyLostError, answered, tell
from reprise.models.asking.failures import Failures
from reprise.models.asking.first_questions import FirstFailures, OptionShare
from reprise.models.asking.journal import Journal
from reprise.models.asking.outcomes import DEVICE_ERROR, Model
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.progress import ProgressLine
from reprise.models.asking.suspects import Suspects
from reprise.models.asking.work import Work, shares_of
from reprise.models.asking.workers import Worker
from reprise.models.base import Answer, Arrived, Clip, Due, Request, ServedModel
from reprise.models.keys import RunKey

HEARING_SECONDS = 0.5


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
        self._first = FirstFailures(
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
        self._first.end()
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
            self._first.note(given.clip.clip_id, {entry: given.answer}, is_answered=False)
            self._failures.add(entry, given.answer)
        else:
            parts = {name: round(value, 6) for name, value in given.parts.items()}
            self._journal.add(entry, given.answer, round(given.seconds, 6), parts)
            self._first.note(given.clip.clip_id, {}, is_answered=True)
            self._failures.answered(entry)
            self._share.note(given.clip.clip_id, given.request, given.answer)
        if self._first.is_over:
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
        self._first.note(work.clip.clip_id, failed, is_answered=len(failed) < len(pending))
        for entry, request in pending.items():
            if entry in failed:
                self._failures.add(entry, failed[entry])
            else:
                self._failures.answered(entry)
            answer = self._journal.get(entry)
            if answer is not None:
                self._share.note(work.clip.clip_id, request, answer)
        _stop_on_lost_device(failed, self._failures)
        if self._first.is_over:
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
