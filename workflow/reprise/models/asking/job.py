"""The inference job: it sends the pending requests of a run to its model and writes each answer to the response cache.

It stops early if the first requests of a run all fail, or if the model's first answers hardly name an option.
"""

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
from reprise.models.asking.copies import CopyLostError, announce, answered
from reprise.models.asking.journal import Failures, Journal, Suspects, Work
from reprise.models.asking.outcomes import DEVICE_ERROR, Model
from reprise.models.asking.pieces import WHOLE, Piece
from reprise.models.asking.reasons import TRANSIENT, in_words
from reprise.models.asking.workers import Copy
from reprise.models.base import Answer, Due, Request, ServedModel
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.settings import HALF

PROGRESS_SECONDS = 10.0
# The job aborts when this many requests, of at least two clips, fail alike before the model has answered any.
FIRST_QUESTIONS = 8
ADVICE = {
    "out_of_memory": "Use a larger device, give the job more memory, or show the model fewer frames.",
    "beyond_context": "Show the model fewer frames, or smaller ones (`settings.max_pixels` in its file).",
}


class ProgressLine:
    """A log line every few seconds with the number of completed requests, the rate and the remaining time.

    Where several clips follow, the rate excludes the first one, because its time includes loading the model.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._excluded = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        now = time.monotonic()
        self._done += count
        if self._done == count and self._done < self._total:
            self._start, self._excluded = now, count
        elif now - self._last >= PROGRESS_SECONDS or self._done == self._total:
            self._last = now
            rate = (self._done - self._excluded) / max(now - self._start, 1e-9)
            remaining_s = (self._total - self._done) / rate if rate else 0.0
            log.info(str(Progress(self._done, self._total, rate, remaining_s)))


class FirstFailures:
    """A check that aborts the job if the first requests of a run all fail alike; the first answer ends it."""

    def __init__(self, run: str, journal: Journal, piece: Piece) -> None:
        self._run, self._journal, self._piece = run, journal, piece
        self._failed: list[tuple[str, Answer]] = []
        self.is_over = len(journal) > 0

    def note(self, clip: str, failed: Iterable[Answer], *, is_answered: bool) -> None:
        """Record the outcome of a clip's requests; raise a UserError when enough requests have failed alike."""
        if self.is_over:
            return
        self.is_over = is_answered
        self._failed += [(clip, answer) for answer in failed if answer.error not in MEDIA_STATUSES]
        if not is_answered and len(self._failed) >= FIRST_QUESTIONS and len({name for name, _ in self._failed}) > 1:
            self._decide()

    def end(self) -> None:
        """Raise a UserError if all requests failed alike, however few.

        A few failures in one partition of a run do not show that the model is at fault.
        """
        if not self.is_over and (self._piece == WHOLE or len(self._failed) >= FIRST_QUESTIONS):
            self._decide()

    def _decide(self) -> None:
        """Raise a UserError if there is no answer and all failures have the same reason."""
        is_alike = len({answer.error for _, answer in self._failed}) == 1
        # The file is read again because the jobs of other partitions write to it too.
        if is_alike and not len(Journal(self._journal.path)):
            _, first = self._failed[0]
            default_advice = (
                "Run the same command again when the cause has passed."
                if first.error in TRANSIENT
                else "Correct the model's file or its adapter, then run the same command again."
            )
            raise UserError(
                f"{self._run}: the first {len(self._failed)} questions all failed: "
                f"{in_words(first.error, first.message)}. Nothing was recorded. "
                f"{ADVICE.get(first.error, default_advice)}"
            )
        self.is_over = True


class OptionShare:
    """A check that aborts the job if the first answers hardly name an option.

    For `score`, it measures the probability that all options together have as the first token. For `choose`, it
    measures the share of answers that were not truncated before they began with an option. Without this check, the
    table of a model that begins its answers with other words, such as a thought, looks like any other.
    """

    def __init__(self, key: RunKey) -> None:
        self._run, self._threshold = key.run, 0.0
        if isinstance(key, ModelRunKey) and ADAPTERS[key.answers.adapter].beside_answers >= {SHARE}:
            self._threshold = float(key.serving.get(SHARE, HALF))
        self._shares: list[float] = []
        self._clips: set[str] = set()
        self._ask = ""
        self.is_over = self._threshold == 0

    def note(self, clip: str, request: Request, answer: Answer) -> None:
        """Record an answer of this job or an earlier one; raise a UserError if enough answers have too low a share."""
        if self.is_over or request.ask not in {"score", "choose"} or answer.error:
            return
        self._ask = request.ask
        self._shares.append(sum(answer.scores) if answer.scores else float(not _is_cut(request, answer)))
        self._clips.add(clip)
        if len(self._shares) >= FIRST_QUESTIONS and len(self._clips) > 1:
            self.end()

    def end(self) -> None:
        """Raise a UserError if the share of the answers so far is too low, however few they are."""
        share = mean(self._shares) if self._shares and not self.is_over else 1.0
        self.is_over = True
        if share >= self._threshold:
            return
        first, threshold = f"the first {len(self._shares)} questions", f"{100 * self._threshold:g} %"
        if self._ask == "choose":
            raise UserError(
                f"{self._run}: {100 * (1 - share):.0f} % of the answers to {first} were cut before they name an "
                f"option; {threshold} must not be: words of a thought would be read as answers. Have the server take "
                "thoughts out of its answers (vLLM: `--reasoning-parser`), or give the model more tokens "
                "(`settings.max_tokens` in its file). Where it is known to be right, lower `settings.option_share`."
            )
        raise UserError(
            f"{self._run}: the options hold {100 * share:.2g} % of the probability of an answer's first token, in the "
            f"mean of {first}; at least {threshold} are wanted, or scores say nothing. Does the model think, or write "
            "something before its answer? See `reprise check`; set `template_arguments` in its file, or ask it by a "
            "protocol with `ask: choose` or `ask: write`. Where it is known to be right, lower `settings.option_share`."
        )


def _is_cut(request: Request, answer: Answer) -> bool:
    """Return whether an answer was truncated before it named an option; an answer limited to one token never is."""
    options = "|".join(map(re.escape, request.options))
    begins = re.match(rf"\W*({options})(?!\w)", answer.text, re.IGNORECASE)
    return 1 < request.max_tokens == answer.tokens_out and not begins


class Asking:
    """The requests of one job to its model, or to several copies of it that each take a share of the clips.

    Answers are written to the response cache, failures to the file of failures.
    """

    def __init__(
        self, models: Sequence[Model | Copy], journal: Journal, failures: Failures, key: RunKey, piece: Piece
    ) -> None:
        self._models, self._journal, self._failures = models, journal, failures
        self._option_share = OptionShare(key)
        self._first_failures = FirstFailures(key.run, journal, piece)
        self._suspects = Suspects(journal, piece)
        self.asked = Counter[str]()
        """number of requests sent for each clip"""
        self._lock = threading.Lock()
        self._is_ending = False

    def ask_due(self, works: Sequence[Work]) -> None:
        """Send all pending requests: to a server for many clips at a time, to any other model clip by clip."""
        progress = ProgressLine(sum(len(work.requests) for work in works))
        # A job without pending requests has nothing to abort. The run's health check reports a low share then.
        self._option_share.is_over |= not any(self._pending(work.questions) for work in works)
        for work in works:
            self._check_option_share(work, work.questions)
        if isinstance(self._models[0], ServedModel):
            self._ask_server(self._models[0], works, progress)
        else:
            self._ask_by_clip(works, progress)
        self._first_failures.end()
        self._option_share.end()
        self._failures.write()

    def _check_option_share(self, work: Work, requests: Mapping[str, Request]) -> None:
        for entry, request in requests.items():
            answer = None if self._option_share.is_over else self._journal.get(entry)
            if answer is not None:
                self._option_share.note(work.clip.clip_id, request, answer)

    def _ask_by_clip(self, works: Sequence[Work], progress: ProgressLine) -> None:
        """Send requests clip by clip; send those during which an earlier job was killed last, one by one."""
        suspects = self._suspects
        suspects.count(self._failures)
        shares = split_works(works, len(self._models))
        for model, share in zip(self._models, shares, strict=True):
            upcoming = (Due(work.clip, tuple(self._pending(self._unsuspected(work)).values())) for work in share)
            announce(model, (batch for batch in upcoming if batch.requests))
        with suspects.recorded():
            if len(shares) == 1:
                self._ask_share(0, works, progress)
            else:
                self._ask_shares(shares, progress)
            for work in works:
                for entry, request in work.questions.items():
                    if entry in suspects.entries:
                        self._ask(work, {entry: request}, 0)

    def _ask_server(self, model: ServedModel, works: Sequence[Work], progress: ProgressLine) -> None:
        """Send all pending requests to a server; no suspects are recorded because a request cannot kill this job."""
        entries: dict[str, str] = {}
        sent = set[str]()
        batches = []
        for work in works:
            pending = {entry: request for entry, request in self._pending(work.questions).items() if entry not in sent}
            sent |= pending.keys()
            entries |= {request.request_id: entry for entry, request in pending.items()}
            self.asked[work.clip.clip_id] += len(pending)
            progress.advance(len(work.requests) - len(pending))
            if pending:
                batches.append(Due(work.clip, tuple(pending.values()), work.check))
        for response in model.answers_in_any_order(batches):
            entry, clip = entries[response.request.request_id], response.clip.clip_id
            if response.answer.error:
                self._first_failures.note(clip, [response.answer], is_answered=False)
                self._failures.add(entry, response.answer)
            else:
                self._journal.add(entry, response.answer, response.seconds, response.parts)
                self._first_failures.note(clip, [], is_answered=True)
                self._failures.resolve(entry)
                self._option_share.note(clip, response.request, response.answer)
            if self._first_failures.is_over:
                self._failures.write()
            progress.advance(1)

    def _ask_shares(self, shares: Sequence[Sequence[Work]], progress: ProgressLine) -> None:
        """Send each share in a thread of its own; when one fails, the others stop after their current clips."""
        with ThreadPoolExecutor(len(shares), thread_name_prefix="asking") as threads:
            try:
                futures = [
                    threads.submit(self._ask_share, copy_index, share, progress)
                    for copy_index, share in enumerate(shares)
                ]
                _, unfinished = wait(futures, return_when=FIRST_EXCEPTION)
                self._is_ending = bool(unfinished)
            except BaseException:  # Ctrl-C raises a KeyboardInterrupt here.
                self._is_ending = True
                for model in self._models:
                    if isinstance(model, Copy):
                        model.close()
                raise
        for future in futures:
            future.result()

    def _ask_share(self, copy_index: int, works: Sequence[Work], progress: ProgressLine) -> None:
        for work in works:
            if self._is_ending:
                return
            self._ask(work, self._unsuspected(work), copy_index)
            with self._lock:
                progress.advance(len(work.requests))
        self._suspects.finish(copy_index)

    def _unsuspected(self, work: Work) -> dict[str, Request]:
        return {entry: request for entry, request in work.questions.items() if entry not in self._suspects.entries}

    def _ask(self, work: Work, requests: Mapping[str, Request], copy_index: int) -> None:
        """Send the pending ones of a clip's requests and write their answers to the response cache."""
        with self._lock:
            pending = self._pending(requests)
            if not pending:
                return
            work.check()
            self._suspects.begin(pending, copy_index)
        failed: dict[str, Answer] = {}
        entries = {request.request_id: entry for entry, request in pending.items()}
        try:
            for (request, answer, seconds), parts in answered(
                self._models[copy_index], work.clip, list(pending.values())
            ):
                entry = entries[request.request_id]
                failed.pop(entry, None)
                if answer.error:
                    self._journal.withdraw(entry)
                    failed[entry] = answer
                else:
                    self._journal.add(entry, answer, seconds, parts)
        except CopyLostError:
            if not self._is_ending:
                self._suspects.mark_killed(copy_index)
            raise
        with self._lock:
            self.asked[work.clip.clip_id] += len(pending)
            self._first_failures.note(work.clip.clip_id, failed.values(), is_answered=len(failed) < len(pending))
            for entry in pending:
                if entry in failed:
                    self._failures.add(entry, failed[entry])
                else:
                    self._failures.resolve(entry)
            self._check_option_share(work, pending)
            device_error = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
            if device_error is not None or self._first_failures.is_over:
                self._failures.write()
            if device_error is not None:  # The failure of the request that caused it is already recorded.
                raise MachineError(f"the GPU is lost to this job: {device_error.message}. Run the same command again.")

    def _pending(self, requests: Mapping[str, Request]) -> dict[str, Request]:
        return {
            entry: request
            for entry, request in requests.items()
            if self._journal.get(entry) is None and self._failures.is_due(entry)
        }


def split_works(works: Sequence[Work], count: int) -> list[list[Work]]:
    """Split the clips into this many shares, the same in every run; clips with the same frames stay together."""
    positions: dict[str, int] = {}
    shares: list[list[Work]] = [[] for _ in range(count)]
    for work in works:
        position = positions.setdefault(work.frames_digest or work.clip.clip_id, len(positions))
        shares[position % count].append(work)
    return shares
