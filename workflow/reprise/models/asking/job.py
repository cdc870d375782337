"""One job's questions to its model: asked clip by clip or many at a time, every answer journaled as it comes. What the
first questions of a run show of all is found out before the others are asked."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from statistics import mean

from reprise.core.errors import MachineError, UserError
from reprise.core.log import Progress, log
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.models.adapters import ADAPTERS, SHARE
from reprise.models.asking.copies import CopyLostError, answered, tell
from reprise.models.asking.journal import Failures, Journal, Suspects, Work
from reprise.models.asking.outcomes import DEVICE_ERROR, Model
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.reasons import TRANSIENT, in_words
from reprise.models.asking.workers import Copy
from reprise.models.base import Answer, Due, Request, ServedModel
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.settings import HALF

PROGRESS_SECONDS = 10.0
# A model that has answered nothing yet is given up when this many questions, about two clips at least, fail alike.
FIRST_QUESTIONS = 8
ADVICE = {
    "out_of_memory": "Use a larger device, give the job more memory, or show the model fewer frames.",
    "beyond_context": "Show the model fewer frames, or smaller ones (`settings.max_pixels` in its file).",
}


class ProgressLine:
    """A line in the log every few seconds: how far, how fast, how long still.

    The first clip counts for nothing where others follow: its time is that of the model's loading too.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._before = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        now = time.monotonic()
        self._done += count
        if self._done == count and self._done < self._total:
            self._start, self._before = now, count
        elif now - self._last >= PROGRESS_SECONDS or self._done == self._total:
            self._last = now
            rate = (self._done - self._before) / max(now - self._start, 1e-9)
            left = (self._total - self._done) / rate if rate else 0.0
            log.info(str(Progress(self._done, self._total, rate, left)))


class FirstFailures:
    """What became of them until one of them is answered."""

    def __init__(self, run: str, journal: Journal, piece: Piece) -> None:
        self._run, self._journal, self._piece = run, journal, piece
        self._failed: list[tuple[str, Answer]] = []
        self.is_over = len(journal) > 0

    def note(self, clip: str, failed: Iterable[Answer], *, is_answered: bool) -> None:
        """What became of a clip's questions; a UserError when enough of them have failed alike."""
        if self.is_over:
            return
        self.is_over = is_answered
        self._failed += [(clip, answer) for answer in failed if answer.error not in MEDIA_STATUSES]
        if not is_answered and len(self._failed) >= FIRST_QUESTIONS and len({name for name, _ in self._failed}) > 1:
            self._decide()

    def end(self) -> None:
        """A UserError if all failed alike, be they few; the few of a piece of a run say nothing of the model."""
        if not self.is_over and (self._piece == WHOLE or len(self._failed) >= FIRST_QUESTIONS):
            self._decide()

    def _decide(self) -> None:
        """A UserError if nothing was answered and all that failed did so alike."""
        is_alike = len({answer.error for _, answer in self._failed}) == 1
        if is_alike and not len(Journal(self._journal.path)):  # read again: jobs that ask other pieces write there too
            _, first = self._failed[0]
            otherwise = (
                "Run the same command again when the cause has passed."
                if first.error in TRANSIENT
                else "Correct the model's file or its adapter, then run the same command again."
            )
            raise UserError(
                f"{self._run}: the first {len(self._failed)} questions all failed: "
                f"{in_words(first.error, first.message)}. Nothing was recorded. "
                f"{ADVICE.get(first.error, otherwise)}"
            )
        self.is_over = True


class OptionShare:
    """How much the options of the first questions hold: of the probability of a score's first token together, or of the
    chosen answers, of which one that was cut before it began with an option is none.

    Of a model that begins its answers with other words, such as a thought, the table would look like any other.
    """

    def __init__(self, key: RunKey) -> None:
        self._run, self._least = key.run, 0.0
        if isinstance(key, ModelRunKey) and ADAPTERS[key.answers.adapter].beside_answers >= {SHARE}:
            self._least = float(key.serving.get(SHARE, HALF))
        self._shares: list[float] = []
        self._clips: set[str] = set()
        self._ask = ""
        self.is_over = self._least == 0

    def note(self, clip: str, request: Request, answer: Answer) -> None:
        """An answer, be it of an earlier job; a UserError when those of enough questions hold too little."""
        if self.is_over or request.ask not in {"score", "choose"} or answer.error:
            return
        self._ask = request.ask
        self._shares.append(sum(answer.scores) if answer.scores else float(not _is_cut(request, answer)))
        self._clips.add(clip)
        if len(self._shares) >= FIRST_QUESTIONS and len(self._clips) > 1:
            self.end()

    def end(self) -> None:
        """A UserError if the options of the questions so far hold too little, be they few."""
        share = mean(self._shares) if self._shares and not self.is_over else 1.0
        self.is_over = True
        if share >= self._least:
            return
        first, least = f"the first {len(self._shares)} questions", f"{100 * self._least:g} %"
        if self._ask == "choose":
            raise UserError(
                f"{self._run}: {100 * (1 - share):.0f} % of the answers to {first} were cut before they name an "
                f"option; {least} must not be: words of a thought would be read as answers. Have the server take "
                "thoughts out of its answers (vLLM: `--reasoning-parser`), or give the model more tokens "
                "(`settings.max_tokens` in its file). Where it is known to be right, lower `settings.option_share`."
            )
        raise UserError(
            f"{self._run}: the options hold {100 * share:.2g} % of the probability of an answer's first token, in the "
            f"mean of {first}; at least {least} are wanted, or scores say nothing. Does the model think, or write "
            "something before its answer? See `reprise check`; set `template_arguments` in its file, or ask it by a "
            "protocol with `ask: choose` or `ask: write`. Where it is known to be right, lower `settings.option_share`."
        )


def _is_cut(request: Request, answer: Answer) -> bool:
    """Whether an answer was cut that did not begin with an option; one that may have a single token never is."""
    options = "|".join(map(re.escape, request.options))
    begins = re.match(rf"\W*({options})(?!\w)", answer.text, re.IGNORECASE)
    return 1 < request.max_tokens == answer.tokens_out and not begins


class Asking:
    """One job's questions to its model, or to copies of it, each of which is asked about a share of the clips; what
    became of them is in the journal and among the failures."""

    def __init__(
        self, models: Sequence[Model | Copy], journal: Journal, failures: Failures, key: RunKey, piece: Piece
    ) -> None:
        self._models, self._journal, self._failures = models, journal, failures
        self._share = OptionShare(key)
        self._first = FirstFailures(key.run, journal, piece)
        self._suspects = Suspects(journal, piece)
        self.asked = Counter[str]()
        """how many questions of each clip"""
        self._lock = threading.Lock()
        self._is_ending = False

    def ask_due(self, works: Sequence[Work]) -> None:
        """Ask what is due: a server about many clips at a time, any other model clip by clip."""
        progress = ProgressLine(sum(len(work.requests) for work in works))
        # Where nothing is left to be spent, the run's health says it.
        self._share.is_over |= not any(self._due(work.questions) for work in works)
        for work in works:
            self._look_at_answers(work, work.questions)
        if isinstance(self._models[0], ServedModel):
            self._ask_server(self._models[0], works, progress)
        else:
            self._ask_by_clip(works, progress)
        self._first.end()
        self._share.end()
        self._failures.write()

    def _look_at_answers(self, work: Work, questions: Mapping[str, Request]) -> None:
        for entry, request in questions.items():
            answer = None if self._share.is_over else self._journal.get(entry)
            if answer is not None:
                self._share.note(work.clip.clip_id, request, answer)

    def _ask_by_clip(self, works: Sequence[Work], progress: ProgressLine) -> None:
        """Ask clip by clip, and at last, one by one, the questions at which a job was killed."""
        suspects = self._suspects
        suspects.count(self._failures)
        shares = shares_of(works, len(self._models))
        for model, share in zip(self._models, shares, strict=True):
            upcoming = (Due(work.clip, tuple(self._due(self._unsuspected(work)).values())) for work in share)
            tell(model, (one for one in upcoming if one.requests))
        with suspects.noted():
            if len(shares) == 1:
                self._ask_share(0, works, progress)
            else:
                self._ask_at_once(shares, progress)
            for work in works:
                for entry, request in work.questions.items():
                    if entry in suspects.entries:
                        self._ask(work, {entry: request}, 0)

    def _ask_server(self, model: ServedModel, works: Sequence[Work], progress: ProgressLine) -> None:
        """Send all questions; no question to a server can kill the job."""
        entries: dict[str, str] = {}
        sent = set[str]()
        dues = []
        for work in works:
            due = {entry: one for entry, one in self._due(work.questions).items() if entry not in sent}
            sent |= due.keys()
            entries |= {one.request_id: entry for entry, one in due.items()}
            self.asked[work.clip.clip_id] += len(due)
            progress.advance(len(work.requests) - len(due))
            if due:
                dues.append(Due(work.clip, tuple(due.values()), work.check))
        for given in model.answers_in_any_order(dues):
            entry, clip = entries[given.request.request_id], given.clip.clip_id
            if given.answer.error:
                self._first.note(clip, [given.answer], is_answered=False)
                self._failures.add(entry, given.answer)
            else:
                self._journal.add(entry, given.answer, given.seconds, given.parts)
                self._first.note(clip, [], is_answered=True)
                self._failures.answered(entry)
                self._share.note(clip, given.request, given.answer)
            if self._first.is_over:
                self._failures.write()
            progress.advance(1)

    def _ask_at_once(self, shares: Sequence[Sequence[Work]], progress: ProgressLine) -> None:
        """Each share in a thread; when one fails, the others end with the clips that they are asked about."""
        with ThreadPoolExecutor(len(shares), thread_name_prefix="asking") as threads:
            try:
                asked = [threads.submit(self._ask_share, by, share, progress) for by, share in enumerate(shares)]
                _, busy = wait(asked, return_when=FIRST_EXCEPTION)
                self._is_ending = bool(busy)
            except BaseException:  # such as Ctrl-C
                self._is_ending = True
                for model in self._models:
                    if isinstance(model, Copy):
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
        return {entry: one for entry, one in work.questions.items() if entry not in self._suspects.entries}

    def _ask(self, work: Work, questions: Mapping[str, Request], by: int) -> None:
        """Ask those of a clip's questions that have no answer and are due, and journal the answers."""
        with self._lock:
            pending = self._due(questions)
            if not pending:
                return
            work.check()
            self._suspects.asking(pending, by)
        failed: dict[str, Answer] = {}
        entries = {request.request_id: entry for entry, request in pending.items()}
        try:
            for (request, answer, seconds), parts in answered(self._models[by], work.clip, list(pending.values())):
                entry = entries[request.request_id]
                failed.pop(entry, None)
                if answer.error:
                    self._journal.withdraw(entry)
                    failed[entry] = answer
                else:
                    self._journal.add(entry, answer, seconds, parts)
        except CopyLostError:
            if not self._is_ending:
                self._suspects.killed(by)
            raise
        with self._lock:
            self.asked[work.clip.clip_id] += len(pending)
            self._first.note(work.clip.clip_id, failed.values(), is_answered=len(failed) < len(pending))
            for entry in pending:
                if entry in failed:
                    self._failures.add(entry, failed[entry])
                else:
                    self._failures.answered(entry)
            self._look_at_answers(work, pending)
            lost = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
            if lost is not None or self._first.is_over:
                self._failures.write()
            if lost is not None:  # it is noted which question did it
                raise MachineError(f"the GPU is lost to this job: {lost.message}. Run the same command again.")

    def _due(self, questions: Mapping[str, Request]) -> dict[str, Request]:
        return {
            entry: request
            for entry, request in questions.items()
            if self._journal.get(entry) is None and self._failures.is_due(entry)
        }


def shares_of(works: Sequence[Work], count: int) -> list[list[Work]]:
    """The clips in so many shares, always the same; those with the same frames are in one."""
    places: dict[str, int] = {}
    shares: list[list[Work]] = [[] for _ in range(count)]
    for work in works:
        place = places.setdefault(work.frames_digest or work.clip.clip_id, len(places))
        shares[place % count].append(work)
    return shares
