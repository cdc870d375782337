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
from reprise.models.adapters import ADAPTERS, OPTION_SHARE
from reprise.models.base import Answer, PendingRequests, Request, ServedModel
from reprise.models.inference.copies import CopyLostError, announce, query_model
from reprise.models.inference.outcomes import DEVICE_ERROR, QueryableModel
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.reasons import TRANSIENT_REASONS, describe_failure
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache, Suspects
from reprise.models.inference.workers import ModelCopy
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.settings import DEFAULT_OPTION_SHARE

PROGRESS_SECONDS = 10.0
# The job aborts when this many requests, of at least two clips, fail alike before the model has answered any.
EARLY_CHECK_REQUESTS = 8
FAILURE_ADVICE = {
    "out_of_memory": "Use a larger device, give the job more memory, or send fewer frames.",
    "beyond_context": "Send fewer frames, or smaller ones (`settings.max_pixels` in the model's file).",
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


class EarlyFailureCheck:
    """A check that aborts the job if the first requests of a run all fail alike; the first answer ends it."""

    def __init__(self, run: str, cache: ResponseCache, partition: Partition) -> None:
        self._run, self._cache, self._partition = run, cache, partition
        self._failed: list[tuple[str, Answer]] = []
        self.is_over = len(cache) > 0

    def record(self, clip_id: str, failures: Iterable[Answer], *, is_answered: bool) -> None:
        """Record the outcome of a clip's requests; raise a UserError when enough requests have failed alike."""
        if self.is_over:
            return
        self.is_over = is_answered
        self._failed += [(clip_id, answer) for answer in failures if answer.error not in MEDIA_STATUSES]
        if (
            not is_answered
            and len(self._failed) >= EARLY_CHECK_REQUESTS
            and len({name for name, _ in self._failed}) > 1
        ):
            self._decide()

    def finish(self) -> None:
        """Raise a UserError if all requests failed alike, however few.

        A few failures in one partition of a run do not show that the model is at fault.
        """
        if not self.is_over and (self._partition == WHOLE_RUN or len(self._failed) >= EARLY_CHECK_REQUESTS):
            self._decide()

    def _decide(self) -> None:
        """Raise a UserError if there is no answer and all failures have the same reason."""
        is_alike = len({answer.error for _, answer in self._failed}) == 1
        # The file is read again because the jobs of other partitions write to it too.
        if is_alike and not len(ResponseCache(self._cache.path)):
            _, first = self._failed[0]
            default_advice = (
                "Run the same command again when the problem is resolved."
                if first.error in TRANSIENT_REASONS
                else "Correct the model's file or its adapter, then run the same command again."
            )
            raise UserError(
                f"{self._run}: the first {len(self._failed)} requests all failed: "
                f"{describe_failure(first.error, first.message)}. Nothing was recorded. "
                f"{FAILURE_ADVICE.get(first.error, default_advice)}"
            )
        self.is_over = True


class OptionShareCheck:
    """A check that aborts the job if the first answers hardly name an option.

    For `score`, it measures the probability that all options together have as the first token. For `choose`, it
    measures the share of answers that were not truncated before they began with an option. Without this check, scores
    of a model that begins its answers with other words, such as a thought, would look valid.
    """

    def __init__(self, key: RunKey) -> None:
        self._run, self._threshold = key.run, 0.0
        if isinstance(key, ModelRunKey) and ADAPTERS[key.answers.adapter].answer_neutral_settings >= {OPTION_SHARE}:
            self._threshold = float(key.serving.get(OPTION_SHARE, DEFAULT_OPTION_SHARE))
        self._shares: list[float] = []
        self._clips: set[str] = set()
        self._ask = ""
        self.is_over = self._threshold == 0

    def record(self, clip_id: str, request: Request, answer: Answer) -> None:
        """Record an answer of this job or an earlier one; raise a UserError if enough answers have too low a share."""
        if self.is_over or request.ask not in {"score", "choose"} or answer.error:
            return
        self._ask = request.ask
        self._shares.append(sum(answer.scores) if answer.scores else float(not _is_truncated(request, answer)))
        self._clips.add(clip_id)
        if len(self._shares) >= EARLY_CHECK_REQUESTS and len(self._clips) > 1:
            self.finish()

    def finish(self) -> None:
        """Raise a UserError if the share of the answers so far is too low, however few they are."""
        share = mean(self._shares) if self._shares and not self.is_over else 1.0
        self.is_over = True
        if share >= self._threshold:
            return
        first, threshold = f"the first {len(self._shares)} requests", f"{100 * self._threshold:g} %"
        if self._ask == "choose":
            raise UserError(
                f"{self._run}: {100 * (1 - share):.0f} % of the answers to {first} were truncated before they named an "
                f"option; at least {threshold} must name one, or words of a thought may be extracted as answers. "
                "Configure the server to remove thoughts (vLLM: `--reasoning-parser`), or allow more tokens "
                "(`settings.max_tokens` in the model's file). If this is expected, lower `settings.option_share`."
            )
        raise UserError(
            f"{self._run}: the options have {100 * share:.2g} % of the probability of the first token, averaged over "
            f"{first}; scores need at least {threshold}. The model may write a thought or other words before its "
            "answer: see `reprise check`. Set `template_arguments` in the model's file, or use a protocol with "
            "`ask: choose` or `ask: write`. If this is expected, lower `settings.option_share`."
        )


def _is_truncated(request: Request, answer: Answer) -> bool:
    """Return whether an answer was truncated before it named an option; an answer limited to one token never is."""
    options = "|".join(map(re.escape, request.options))
    begins_with_option = re.match(rf"\W*({options})(?!\w)", answer.text, re.IGNORECASE)
    return 1 < request.max_tokens == answer.tokens_out and not begins_with_option


class InferenceJob:
    """The requests of one job to its model, or to several copies of it that each take a share of the clips.

    Answers are written to the response cache, failures to the file of failures.
    """

    def __init__(
        self,
        models: Sequence[QueryableModel | ModelCopy],
        cache: ResponseCache,
        failures: Failures,
        key: RunKey,
        partition: Partition,
    ) -> None:
        self._models, self._cache, self._failures = models, cache, failures
        self._option_share = OptionShareCheck(key)
        self._first_failures = EarlyFailureCheck(key.run, cache, partition)
        self._suspects = Suspects(cache, partition)
        self.sent_counts = Counter[str]()
        """number of requests sent for each clip"""
        self._lock = threading.Lock()
        self._is_ending = False

    def send_pending(self, clip_requests: Sequence[ClipRequests]) -> None:
        """Send all pending requests: to a server for many clips at a time, to any other model clip by clip."""
        progress = ProgressLine(sum(len(batch.requests) for batch in clip_requests))
        # A job without pending requests has nothing to abort. The run's health check reports a low share then.
        self._option_share.is_over |= not any(self._pending(batch.requests_by_entry) for batch in clip_requests)
        for batch in clip_requests:
            self._check_option_share(batch, batch.requests_by_entry)
        if isinstance(self._models[0], ServedModel):
            self._query_server(self._models[0], clip_requests, progress)
        else:
            self._query_by_clip(clip_requests, progress)
        self._first_failures.finish()
        self._option_share.finish()
        self._failures.write()

    def _check_option_share(self, batch: ClipRequests, requests: Mapping[str, Request]) -> None:
        for entry, request in requests.items():
            answer = None if self._option_share.is_over else self._cache.get(entry)
            if answer is not None:
                self._option_share.record(batch.clip.clip_id, request, answer)

    def _query_by_clip(self, clip_requests: Sequence[ClipRequests], progress: ProgressLine) -> None:
        """Send requests clip by clip; send those during which an earlier job was killed last, one by one."""
        suspects = self._suspects
        suspects.record_killed(self._failures)
        shares = split_clip_requests(clip_requests, len(self._models))
        for model, share in zip(self._models, shares, strict=True):
            upcoming = (
                PendingRequests(batch.clip, tuple(self._pending(self._unsuspected(batch)).values())) for batch in share
            )
            announce(model, (pending for pending in upcoming if pending.requests))
        with suspects.save_on_exit():
            if len(shares) == 1:
                self._query_share(0, clip_requests, progress)
            else:
                self._query_shares(shares, progress)
            for batch in clip_requests:
                for entry, request in batch.requests_by_entry.items():
                    if entry in suspects.entries:
                        self._query_clip(batch, {entry: request}, 0)

    def _query_server(self, model: ServedModel, clip_requests: Sequence[ClipRequests], progress: ProgressLine) -> None:
        """Send all pending requests to a server; no suspects are recorded because a request cannot kill this job."""
        entries: dict[str, str] = {}
        sent = set[str]()
        pending_batches = []
        for batch in clip_requests:
            pending = {
                entry: request for entry, request in self._pending(batch.requests_by_entry).items() if entry not in sent
            }
            sent |= pending.keys()
            entries |= {request.request_id: entry for entry, request in pending.items()}
            self.sent_counts[batch.clip.clip_id] += len(pending)
            progress.advance(len(batch.requests) - len(pending))
            if pending:
                pending_batches.append(PendingRequests(batch.clip, tuple(pending.values()), batch.verify_clip))
        for response in model.answers_in_any_order(pending_batches):
            entry, clip = entries[response.request.request_id], response.clip.clip_id
            if response.answer.error:
                self._first_failures.record(clip, [response.answer], is_answered=False)
                self._failures.add(entry, response.answer)
            else:
                self._cache.add(entry, response.answer, response.seconds, response.step_seconds)
                self._first_failures.record(clip, [], is_answered=True)
                self._failures.resolve(entry)
                self._option_share.record(clip, response.request, response.answer)
            if self._first_failures.is_over:
                self._failures.write()
            progress.advance(1)

    def _query_shares(self, shares: Sequence[Sequence[ClipRequests]], progress: ProgressLine) -> None:
        """Send each share in a thread of its own; when one fails, the others stop after their current clips."""
        with ThreadPoolExecutor(len(shares), thread_name_prefix="inference") as threads:
            try:
                futures = [
                    threads.submit(self._query_share, copy_index, share, progress)
                    for copy_index, share in enumerate(shares)
                ]
                _, unfinished = wait(futures, return_when=FIRST_EXCEPTION)
                self._is_ending = bool(unfinished)
            except BaseException:  # Ctrl-C raises a KeyboardInterrupt here.
                self._is_ending = True
                for model in self._models:
                    if isinstance(model, ModelCopy):
                        model.close()
                raise
        for future in futures:
            future.result()

    def _query_share(self, copy_index: int, clip_requests: Sequence[ClipRequests], progress: ProgressLine) -> None:
        for batch in clip_requests:
            if self._is_ending:
                return
            self._query_clip(batch, self._unsuspected(batch), copy_index)
            with self._lock:
                progress.advance(len(batch.requests))
        self._suspects.finish(copy_index)

    def _unsuspected(self, batch: ClipRequests) -> dict[str, Request]:
        return {
            entry: request for entry, request in batch.requests_by_entry.items() if entry not in self._suspects.entries
        }

    def _query_clip(self, batch: ClipRequests, requests: Mapping[str, Request], copy_index: int) -> None:
        """Send the pending ones of a clip's requests and write their answers to the response cache."""
        with self._lock:
            pending = self._pending(requests)
            if not pending:
                return
            batch.verify_clip()
            self._suspects.begin(pending, copy_index)
        failed: dict[str, Answer] = {}
        entries = {request.request_id: entry for entry, request in pending.items()}
        try:
            for (request, answer, seconds), parts in query_model(
                self._models[copy_index], batch.clip, list(pending.values())
            ):
                entry = entries[request.request_id]
                failed.pop(entry, None)
                if answer.error:
                    self._cache.withdraw(entry)
                    failed[entry] = answer
                else:
                    self._cache.add(entry, answer, seconds, parts)
        except CopyLostError:
            if not self._is_ending:
                self._suspects.mark_killed(copy_index)
            raise
        with self._lock:
            self.sent_counts[batch.clip.clip_id] += len(pending)
            self._first_failures.record(batch.clip.clip_id, failed.values(), is_answered=len(failed) < len(pending))
            for entry in pending:
                if entry in failed:
                    self._failures.add(entry, failed[entry])
                else:
                    self._failures.resolve(entry)
            self._check_option_share(batch, pending)
            device_error = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
            if device_error is not None or self._first_failures.is_over:
                self._failures.write()
            if device_error is not None:  # The failure of the request that caused it is already recorded.
                raise MachineError(f"this job lost its GPU: {device_error.message}. Run the same command again.")

    def _pending(self, requests: Mapping[str, Request]) -> dict[str, Request]:
        return {
            entry: request
            for entry, request in requests.items()
            if self._cache.get(entry) is None and self._failures.should_send(entry)
        }


def split_clip_requests(clip_requests: Sequence[ClipRequests], count: int) -> list[list[ClipRequests]]:
    """Split the clips into this many shares, the same in every run; clips with the same frames stay together."""
    positions: dict[str, int] = {}
    shares: list[list[ClipRequests]] = [[] for _ in range(count)]
    for batch in clip_requests:
        position = positions.setdefault(batch.frames_digest or batch.clip.clip_id, len(positions))
        shares[position % count].append(batch)
    return shares
