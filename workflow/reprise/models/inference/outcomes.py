"""Query a model about a clip, and turn every error of its adapter into a named failure."""

import math
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import NamedTuple, Protocol

from reprise.core.errors import UserError, is_out_of_memory, raise_if_machine_fault
from reprise.core.log import log
from reprise.core.plain import redact_user_secrets, sanitize_line
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.media.errors import MediaError
from reprise.models.base import Answer, AnswerError, ClipFailedError, ClipFrames, Request
from reprise.models.inference.money.prices import MAX_COUNT
from reprise.models.inference.reasons import FAILURE_REASONS

# Class of an error -> the failure's reason; the first class that matches applies.
NAMED_ERRORS = ((TimeoutError, "timeout"), (ConnectionError, "network"))
DEVICE_ERROR = "device_error"


class QueryableModel(Protocol):
    """An adapter, or a model that loads when its first request arrives."""

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield one answer per request, in order."""


FAILURE_FIELD = "failure"  # attribute of the log records of failed requests


class Outcome(NamedTuple):
    """An answer or a failure, and the seconds that it took."""

    request: Request
    answer: Answer
    seconds: float


def run_requests(model: QueryableModel, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Outcome]:
    """Yield the outcome of each request as soon as it is available; a request's last outcome replaces earlier ones.

    If one of several requests fails, or the number of answers is wrong, an answer may belong to another request. Each
    request is then sent again alone. A damaged clip fails all remaining requests. After a GPU error, no further request
    is sent.
    """
    pending_batches = deque([tuple(requests)])
    while pending_batches:
        batch, answer_count = pending_batches.popleft(), 0
        try:
            start = time.monotonic()
            for answer in model.answers(clip, batch):
                if answer_count == len(batch):
                    raise AnswerError("too_many", FAILURE_REASONS["too_many"])
                request, now = batch[answer_count], time.monotonic()
                yield Outcome(request, validate_answer(answer, request), now - start)
                answer_count, start = answer_count + 1, time.monotonic()
            if answer_count < len(batch):
                raise AnswerError("too_few", FAILURE_REASONS["too_few"])
        except (UserError, KeyboardInterrupt, GeneratorExit):  # A closed generator gets a GeneratorExit.
            raise
        except BaseException as error:  # A library's `sys.exit()` or panic must not end the job.
            failure = log_failure(clip, error)
            is_clip_failure = failure.error in MEDIA_STATUSES or isinstance(error, ClipFailedError)
        else:
            continue
        failed_requests: Sequence[Request] = ()
        if failure.error == DEVICE_ERROR:  # The others get no outcome, so the next job sends them.
            pending_batches.clear()
            failed_requests = batch[answer_count : answer_count + 1]
        elif is_clip_failure:
            failed_requests = batch[answer_count:]
        elif len(batch) == 1:
            failed_requests = batch
        else:
            pending_batches.extend((request,) for request in batch)
        for request in failed_requests:
            yield Outcome(request, failure, 0.0)


def log_failure(clip: ClipFrames, error: BaseException) -> Answer:
    """Log an error with the line of code that raised it, and return it as a named failure."""
    failure = classify_error(error)
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    text = f"{failure.error}: {failure.message}"
    log.info(f"{clip.clip_id}: {text} ({frame.f_code.co_filename}:{line})", extra={FAILURE_FIELD: text})
    return failure


def classify_error(error: BaseException) -> Answer:
    """Return an error as a named failure; end the job if the machine is the cause, such as a full disk."""
    is_memory_error = is_out_of_memory(error)
    if not is_memory_error:
        raise_if_machine_fault(error)
    if isinstance(error, AnswerError | MediaError) and error.status in FAILURE_REASONS:
        return _failure(error.status, str(error.message))
    message = describe_error(error)
    if is_memory_error:
        return _failure("out_of_memory", message)
    if "CUDA error" in message:  # A process cannot use its GPU after a CUDA error.
        return _failure(DEVICE_ERROR, message)
    reason = next((name for error_class, name in NAMED_ERRORS if isinstance(error, error_class)), "failed")
    return _failure(reason, message)


def describe_error(error: BaseException) -> str:
    """Return the class of an error and the first line of its message."""
    return _shorten("".join(traceback.format_exception_only(type(error), error)))


def validate_answer(answer: object, request: Request) -> Answer:
    """Return an adapter's answer without secrets, or a failure if a type or a number is not valid."""
    if not isinstance(answer, Answer):
        return _failure("malformed", f"{type(answer).__name__} instead of an Answer")
    counts = (answer.frames_shown, answer.tokens_in, answer.tokens_out)
    if (
        not all(isinstance(text, str) for text in (answer.text, answer.error, answer.message))
        or not (isinstance(answer.scores, Sequence) and all(isinstance(score, Real) for score in answer.scores))
        or not all(type(count) is int and 0 <= count <= MAX_COUNT for count in counts)
    ):
        return _failure("malformed", f"a value of the wrong type, or a count out of range: {answer}")
    if answer.error:
        if answer.error in FAILURE_REASONS:
            return _failure(answer.error, answer.message)
        return _failure("failed", f"{answer.error} {answer.message}")
    if answer.scores and request.options and len(answer.scores) != len(request.options):
        return _failure("malformed", f"{len(answer.scores)} scores for {len(request.options)} options")
    scores = tuple(float(score) for score in answer.scores)
    if not all(map(math.isfinite, scores)):
        return _failure("not_finite", f"scores {scores}")
    try:
        answer.text.encode()
    except UnicodeEncodeError as error:
        return _failure("bad_text", describe_error(error))
    return replace(answer, text=redact_user_secrets(answer.text), scores=scores, message="")


def _failure(status: str, message: str) -> Answer:
    return Answer(error=status, message=_shorten(message))


def _shorten(text: str) -> str:
    return sanitize_line(text.strip().partition("\n")[0])[:300]
