"""The inference job: it sends the pending requests of a run to its model and writes each answer to the response cache.

It stops early if the first requests of a run all fail, or if the model's first answers hardly name an option. An entry
id is the digest by which the response cache and the file of failures identify a request.
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
from reprise.models.inference.copies import CopyLostError, announce_clips, query_model
from reprise.models.inference.outcomes import DEVICE_ERROR, QueryableModel
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.reasons import TRANSIENT_REASONS, describe_failure
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache, Suspects
from reprise.models.inference.workers import ModelCopy
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.settings import DEFAULT_OPTION_SHARE

PROGRESS_SECONDS = 10.0
# The job aborts if this many requests about at least two clips fail with one reason before the model's first answer.
EARLY_CHECK_REQUESTS = 8
# Reason of a failure -> what the user can do about it.
FAILURE_ADVICE = {
    "out_of_memory": "Use a larger device, give the job more memory, or send fewer frames.",
    "beyond_context": "Send fewer frames, or smaller ones (`settings.max_pixels` in the model's file).",
}


class ProgressLine:
    """Log the number of completed requests, the rate and the remaining time every few seconds.

    If a run has several clips, the rate excludes the first clip, whose time includes loading the model.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done_count = self._excluded_count = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        """Add completed requests; log the progress if the interval is over."""
        now = time.monotonic()
        self._done_count += count
        if self._done_count == count and self._done_count < self._total:
            self._start, self._excluded_count = now, count
        elif now - self._last >= PROGRESS_SECONDS or self._done_count == self._total:
            self._last = now
            rate = (self._done_count - self._excluded_count) / max(now - self._start, 1e-9)
            remaining_s = (self._total - self._done_count) / rate if rate else 0.0
            log.info(str(Progress(self._done_count, self._total, rate, remaining_s)))


class EarlyFailureCheck:
    """Abort the job if the first requests of a run all fail with the same reason; the first answer ends this check."""

    def __init__(self, run: str, cache: ResponseCache, partition: Partition) -> None:
        self._run, self._cache, self._partition = run, cache, partition
        self._failed: list[tuple[str, Answer]] = []  # clip id and failure
        self.is_over = len(cache) > 0  # Each cached answer shows that the model works.

    def record(self, clip_id: str, failures: Iterable[Answer], *, is_answered: bool) -> None:
        """Record the outcome of a clip's requests; raise a UserError after enough failures with one reason."""
        if self.is_over:
            return
        self.is_over = is_answered
        # A damaged video says nothing about the model.
        self._failed += [(clip_id, answer) for answer in failures if answer.error not in MEDIA_STATUSES]
        if (
            not is_answered
            and len(self._failed) >= EARLY_CHECK_REQUESTS
            and len({failed_clip for failed_clip, _ in self._failed}) > 1
        ):
            self._abort_if_alike()

    def finish(self) -> None:
        """Raise a UserError if all requests failed with one reason.

        A whole run may have any number of requests. In one partition, a few failures do not show that the model is at
        fault.
        """
        if not self.is_over and (self._partition == WHOLE_RUN or len(self._failed) >= EARLY_CHECK_REQUESTS):
            self._abort_if_alike()

    def _abort_if_alike(self) -> None:
        """Raise a UserError if there is no answer and all failures have the same reason."""
        has_one_reason = len({answer.error for _, answer in self._failed}) == 1
        # The file is read again because jobs of other partitions also write to it.
        if has_one_reason and not len(ResponseCache(self._cache.path)):
            _, first_failure = self._failed[0]
            default_advice = (
                "Run the same command again when the problem is resolved."
                if first_failure.error in TRANSIENT_REASONS
                else "Correct the model's file or its adapter, then run the same command again."
            )
            raise UserError(
                f"{self._run}: the first {len(self._failed)} requests all failed: "
                f"{describe_failure(first_failure.error, first_failure.message)}. Nothing was recorded. "
                f"{FAILURE_ADVICE.get(first_failure.error, default_advice)}"
            )
        self.is_over = True


class OptionShareCheck:
    """Abort the job if too few of the first answers name an option.

    For `score`, the share is the total probability of all options as the first token. For `choose`, it is the share of
    answers that were not truncated before they named an option. Without this check, scores would look valid even if the
    model begins its answers with other words, such as a thought.
    """

    def __init__(self, key: RunKey) -> None:
        self._run, self._threshold = key.run, 0.0
        if isinstance(key, ModelRunKey) and OPTION_SHARE in ADAPTERS[key.answers.adapter].answer_neutral_settings:
            self._threshold = float(key.serving.get(OPTION_SHARE, DEFAULT_OPTION_SHARE))
        self._shares: list[float] = []
        self._clips: set[str] = set()
        self._request_type = ""
        self.is_over = self._threshold == 0

    def record(self, clip_id: str, request: Request, answer: Answer) -> None:
        """Record an answer of this or an earlier job; raise a UserError if the share of enough answers is too low."""
        if self.is_over or request.request_type not in {"score", "choose"} or answer.error:
            return
        self._request_type = request.request_type
        self._shares.append(sum(answer.scores) if answer.scores else float(not _is_truncated(request, answer)))
        self._clips.add(clip_id)
        if len(self._shares) >= EARLY_CHECK_REQUESTS and len(self._clips) > 1:
            self.finish()

    def finish(self) -> None:
        """Raise a UserError if the share of the answers so far is too low."""
        share = mean(self._shares) if self._shares and not self.is_over else 1.0
        self.is_over = True
        if share >= self._threshold:
            return
        requests_text, threshold_text = f"the first {len(self._shares)} requests", f"{100 * self._threshold:g} %"
        if self._request_type == "choose":
            raise UserError(
                f"{self._run}: {100 * (1 - share):.0f} % of the answers to {requests_text} were truncated before they "
                f"named an option; at least {threshold_text} must name one, or words of a thought may be extracted as "
                "answers. Configure the server to remove thoughts (vLLM: `--reasoning-parser`), or allow more tokens "
                "(`settings.max_tokens` in the model's file). If this is expected, lower `settings.option_share`."
            )
        raise UserError(
            f"{self._run}: the options have {100 * share:.2g} % of the probability of the first token, averaged over "
            f"{requests_text}; scores need at least {threshold_text}. The model may write a thought or other words "
            "before its answer: see `reprise check`. Set `template_arguments` in the model's file, or use a protocol "
            "with `request_type: choose` or `request_type: write`. If this is expected, lower "
            "`settings.option_share`."
        )


def _is_truncated(request: Request, answer: Answer) -> bool:
    """Return whether an answer was truncated before it named an option.

    If the limit is one token, every answer has this length, so the length says nothing.
    """
    if request.max_tokens <= 1 or answer.tokens_out != request.max_tokens:
        return False
    any_option = "|".join(map(re.escape, request.options))
    starts_with_option = re.match(rf"\W*({any_option})(?!\w)", answer.text, re.IGNORECASE)
    return not starts_with_option


class InferenceJob:
    """Send the requests of one job to its model, or a share of the clips to each copy of the model.

    Write answers to the response cache, and failures to the file of failures.
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
        self._option_share_check = OptionShareCheck(key)
        self._early_failure_check = EarlyFailureCheck(key.run, cache, partition)
        self._suspects = Suspects(cache, partition)
        self.sent_counts = Counter[str]()
        """number of requests sent for each clip"""
        self._lock = threading.Lock()
        self._is_ending = False

    def send_pending(self, clip_requests: Sequence[ClipRequests]) -> None:
        """Send all pending requests: to a server about many clips at a time, to any other model clip by clip."""
        progress = ProgressLine(sum(len(batch.requests) for batch in clip_requests))
        # A job without pending requests has nothing to abort. The run's health check reports a low share then.
        self._option_share_check.is_over |= not any(
            self._select_pending(batch.request_by_entry_id) for batch in clip_requests
        )
        for batch in clip_requests:
            self._check_option_share(batch, batch.request_by_entry_id)
        if isinstance(self._models[0], ServedModel):
            self._query_server(self._models[0], clip_requests, progress)
        else:
            self._query_by_clip(clip_requests, progress)
        self._early_failure_check.finish()
        self._option_share_check.finish()
        self._failures.write()

    def _check_option_share(self, batch: ClipRequests, requests: Mapping[str, Request]) -> None:
        """Record the cached answers to these requests, given by entry id, for the check of the option share."""
        for entry_id, request in requests.items():
            answer = None if self._option_share_check.is_over else self._cache.get(entry_id)
            if answer is not None:
                self._option_share_check.record(batch.clip.clip_id, request, answer)

    def _query_by_clip(self, clip_requests: Sequence[ClipRequests], progress: ProgressLine) -> None:
        """Send requests clip by clip; send suspects, which may have killed an earlier job, last and one by one."""
        suspects = self._suspects
        suspects.record_killed(self._failures)
        shares = split_clip_requests(clip_requests, len(self._models))
        for model, share in zip(self._models, shares, strict=True):
            upcoming = (
                PendingRequests(batch.clip, tuple(self._select_pending(self._select_unsuspected(batch)).values()))
                for batch in share
            )
            announce_clips(model, (pending for pending in upcoming if pending.requests))
        with suspects.save_on_exit():
            if len(shares) == 1:
                self._query_share(0, clip_requests, progress)
            else:
                self._query_shares(shares, progress)
            for batch in clip_requests:
                for entry_id, request in batch.request_by_entry_id.items():
                    if entry_id in suspects.entry_ids:
                        self._query_clip(batch, {entry_id: request}, 0)

    def _query_server(self, model: ServedModel, clip_requests: Sequence[ClipRequests], progress: ProgressLine) -> None:
        """Send all pending requests to a server, without recording suspects, because no request can kill this job."""
        entry_id_by_request: dict[str, str] = {}
        sent_entry_ids = set[str]()
        pending_batches = []
        for batch in clip_requests:
            pending = {
                entry_id: request
                for entry_id, request in self._select_pending(batch.request_by_entry_id).items()
                if entry_id not in sent_entry_ids
            }
            sent_entry_ids |= pending.keys()
            entry_id_by_request |= {request.request_id: entry_id for entry_id, request in pending.items()}
            self.sent_counts[batch.clip.clip_id] += len(pending)
            progress.advance(len(batch.requests) - len(pending))
            if pending:
                pending_batches.append(PendingRequests(batch.clip, tuple(pending.values()), batch.verify_clip))
        for response in model.answers_in_any_order(pending_batches):
            entry_id, clip_id = entry_id_by_request[response.request.request_id], response.clip.clip_id
            if response.answer.error:
                self._early_failure_check.record(clip_id, [response.answer], is_answered=False)
                self._failures.add(entry_id, response.answer)
            else:
                self._cache.add(entry_id, response.answer, response.seconds, response.step_seconds)
                self._early_failure_check.record(clip_id, [], is_answered=True)
                self._failures.resolve(entry_id)
                self._option_share_check.record(clip_id, response.request, response.answer)
            if self._early_failure_check.is_over:  # Until then, the job may still abort and must record nothing.
                self._failures.write()
            progress.advance(1)

    def _query_shares(self, shares: Sequence[Sequence[ClipRequests]], progress: ProgressLine) -> None:
        """Send each share in its own thread; if one thread fails, the others stop after their current clips."""
        with ThreadPoolExecutor(len(shares), thread_name_prefix="inference") as threads:
            try:
                futures = [
                    threads.submit(self._query_share, copy_index, share, progress)
                    for copy_index, share in enumerate(shares)
                ]
                _, unfinished = wait(futures, return_when=FIRST_EXCEPTION)  # Some are unfinished only if one failed.
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
            self._query_clip(batch, self._select_unsuspected(batch), copy_index)
            with self._lock:
                progress.advance(len(batch.requests))
        self._suspects.clear_running(copy_index)

    def _select_unsuspected(self, batch: ClipRequests) -> dict[str, Request]:
        return {
            entry_id: request
            for entry_id, request in batch.request_by_entry_id.items()
            if entry_id not in self._suspects.entry_ids
        }

    def _query_clip(self, batch: ClipRequests, requests: Mapping[str, Request], copy_index: int) -> None:
        """Send the pending requests about a clip and write their answers to the response cache."""
        with self._lock:
            pending = self._select_pending(requests)
            if not pending:
                return
            batch.verify_clip()
            self._suspects.record_running(pending, copy_index)
        failed: dict[str, Answer] = {}
        entry_id_by_request = {request.request_id: entry_id for entry_id, request in pending.items()}
        try:
            for (request, answer, seconds), step_seconds in query_model(
                self._models[copy_index], batch.clip, list(pending.values())
            ):
                entry_id = entry_id_by_request[request.request_id]
                failed.pop(entry_id, None)
                if answer.error:
                    self._cache.withdraw(entry_id)
                    failed[entry_id] = answer
                else:
                    self._cache.add(entry_id, answer, seconds, step_seconds)
        except CopyLostError:
            if not self._is_ending:
                self._suspects.mark_killed(copy_index)
            raise
        with self._lock:
            self.sent_counts[batch.clip.clip_id] += len(pending)
            self._early_failure_check.record(
                batch.clip.clip_id, failed.values(), is_answered=len(failed) < len(pending)
            )
            for entry_id in pending:
                if entry_id in failed:
                    self._failures.add(entry_id, failed[entry_id])
                else:
                    self._failures.resolve(entry_id)
            self._check_option_share(batch, pending)
            device_error = next((answer for answer in failed.values() if answer.error == DEVICE_ERROR), None)
            if device_error is not None or self._early_failure_check.is_over:
                self._failures.write()
            if device_error is not None:  # The failure of the request that caused the error is recorded above.
                raise MachineError(f"this job lost its GPU: {device_error.message}. Run the same command again.")

    def _select_pending(self, requests: Mapping[str, Request]) -> dict[str, Request]:
        return {
            entry_id: request
            for entry_id, request in requests.items()
            if self._cache.get(entry_id) is None and self._failures.should_send(entry_id)
        }


def split_clip_requests(clip_requests: Sequence[ClipRequests], share_count: int) -> list[list[ClipRequests]]:
    """Split the clips into shares, one per copy of the model, that are the same in every run.

    Clips with the same frames stay together, because their requests may have the same entry ids.
    """
    position_by_frames: dict[str, int] = {}  # digest of the frames -> number of its first clip, in order
    shares: list[list[ClipRequests]] = [[] for _ in range(share_count)]
    for batch in clip_requests:
        position = position_by_frames.setdefault(batch.frames_digest or batch.clip.clip_id, len(position_by_frames))
        shares[position % share_count].append(batch)
    return shares
