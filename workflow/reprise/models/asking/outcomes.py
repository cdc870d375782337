"""Asking a model about a clip: every question ends as an answer or as a named failure, whatever its adapter does."""

import math
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import NamedTuple, Protocol, overload

from reprise.core.errors import UserError, is_out_of_memory, stop_on_fault
from reprise.core.log import log
from reprise.core.plain import plain
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.media.errors import MediaError
from reprise.models.asking.reasons import REASONS
from reprise.models.base import Answer, AnswerError, Clip, ClipFailedError, Request

LONGEST_MESSAGE = 300
LARGEST_COUNT = 2**31 - 1  # the responses hold 32 bits
NAMED_ERRORS = ((TimeoutError, "timeout"), (ConnectionError, "network"))
# After such an error a process can use its GPU no more.
GPU_FAILED = "CUDA error"
DEVICE_ERROR = "device_error"


class Model(Protocol):
    """What is asked: an adapter, or one that is loaded at the first question."""

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]: ...


class Outcome(NamedTuple):
    """An answer or a failure, and how long it took."""

    request: Request
    answer: Answer
    seconds: float


class WrongCountError(Exception):
    """An adapter gave too few or too many answers, so that none can be told from the others."""

    def __init__(self, status: str) -> None:
        super().__init__(REASONS[status])
        self.status = status


class Batch(Sequence[Request]):
    """Questions as an adapter is given them; remembers how many it has taken, and how many have an answer for sure."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = tuple(requests)
        self.taken = 0
        self.answered = 0

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Request, ...]: ...
    def __getitem__(self, place: int | slice) -> Request | tuple[Request, ...]:
        places = range(len(self.requests))[place]
        last = max(places, default=-1) if isinstance(places, range) else places
        self.taken = max(self.taken, last + 1)
        return self.requests[place]

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def left(self) -> tuple[Request, ...]:
        """The questions without an outcome."""
        return self.requests[self.answered :]

    @property
    def is_culprit_known(self) -> bool:
        """Whether the adapter was busy with one question alone: the first that is left."""
        return len(self.left) == 1 or self.taken == self.answered + 1

    def outcomes(self, model: Model, clip: Clip) -> Iterator[Outcome]:
        """What the adapter gives for them, each checked; an error if it gives too few or too many.

        While it has taken more questions than it gave answers, it may have passed over one, so that an answer is that
        of a later question: such answers are held until the numbers are equal.
        """
        held: list[Outcome] = []
        answers = model.answers(clip, self)
        start = time.monotonic()
        for answer in answers:
            if len(held) == len(self.left):
                raise WrongCountError("too_many")
            request, now = self.left[len(held)], time.monotonic()
            held.append(Outcome(request, checked(answer, request), now - start))
            if self.answered + len(held) == self.taken:
                self.answered += len(held)
                yield from held
                held.clear()
            start = time.monotonic()
        if len(held) < len(self.left):
            raise WrongCountError("too_few")
        self.answered += len(held)
        yield from held


def ask(model: Model, clip: Clip, requests: Sequence[Request]) -> Iterator[Outcome]:
    """Outcomes of these questions, each as soon as it is known; the last one of a question counts.

    A question that fails does so alone: the others are asked again without it, one by one where it is not known which
    it was. A damaged clip fails all that are left, and after a lost GPU nothing more is asked.
    """
    batches = deque([Batch(requests)])
    while batches:
        batch = batches.popleft()
        failed: Sequence[Request]
        again: list[Sequence[Request]] = []
        try:
            yield from batch.outcomes(model, clip)
        except (UserError, KeyboardInterrupt, GeneratorExit):
            raise
        except WrongCountError as error:
            failure, failed = Answer(error=error.status, message=str(error)), batch.requests
            if len(failed) > 1:
                again = [[one] for one in failed]
        except BaseException as error:  # a library's `sys.exit()`, or its panic, ends no job
            failure = failure_of(error)
            log.info(f"{clip.clip_id}: {failure.error}: {failure.message}{place_of(error)}")
            if failure.error in MEDIA_STATUSES or isinstance(error, ClipFailedError):
                failed = batch.left
            elif batch.is_culprit_known:
                failed, again = batch.left[:1], [batch.left[1:]]
            else:
                failed, again = (), [[one] for one in batch.left]
        else:
            continue
        if failure.error == DEVICE_ERROR:
            failed, again = failed or batch.left, []
        for request in failed:
            yield Outcome(request, failure, 0.0)
        batches.extend(Batch(some) for some in again if some)


def failure_of(error: BaseException) -> Answer:
    """An error as a failure with a name; ends the job if the machine is the cause, such as a full disk."""
    is_memory = is_out_of_memory(error)
    if not is_memory:
        stop_on_fault(error)
    message = described(error)
    if isinstance(error, AnswerError) and error.status in REASONS:
        return _failure(error.status, str(error.message))
    if is_memory:
        return _failure("out_of_memory", message)
    if isinstance(error, MediaError):
        return _failure(error.status, error.message)
    if GPU_FAILED in message:
        return _failure(DEVICE_ERROR, message)
    return _failure(next((name for kind, name in NAMED_ERRORS if isinstance(error, kind)), "failed"), message)


def described(error: BaseException) -> str:
    """The class of an error and the first line of its message."""
    return _short("".join(traceback.format_exception_only(type(error), error)))


def checked(answer: object, request: Request) -> Answer:
    """An adapter's answer with the declared types and finite numbers alone, or the failure that it is."""
    if not isinstance(answer, Answer):
        return _failure("malformed", f"{type(answer).__name__} instead of an Answer")
    counts = (answer.frames_shown, answer.tokens_in, answer.tokens_out)
    if not all(isinstance(text, str) for text in (answer.text, answer.error, answer.message)):
        return _failure("malformed", "a text of another type")
    if not isinstance(answer.scores, Sequence) or not all(isinstance(score, Real) for score in answer.scores):
        return _failure("malformed", "scores of another type")
    if not all(type(count) is int and 0 <= count <= LARGEST_COUNT for count in counts):
        return _failure("malformed", f"counts of frames and tokens {counts}")
    if answer.error:
        known = answer.error in REASONS
        return _failure(*((answer.error, answer.message) if known else ("failed", f"{answer.error} {answer.message}")))
    if answer.scores and request.options and len(answer.scores) != len(request.options):
        return _failure("malformed", f"{len(answer.scores)} scores for {len(request.options)} options")
    scores = tuple(float(score) for score in answer.scores)
    if not all(map(math.isfinite, scores)):
        return _failure("not_finite", f"scores {scores}")
    try:
        answer.text.encode()
    except UnicodeEncodeError as error:
        return _failure("bad_text", described(error))
    return replace(answer, scores=scores, message="")


def _failure(status: str, message: str) -> Answer:
    return Answer(error=status, message=_short(message))


def _short(text: str) -> str:
    return plain(text.strip().partition("\n")[0])[:LONGEST_MESSAGE]


def place_of(error: BaseException) -> str:
    """The line of code that raised an error, for those who look for the cause in the log."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return f" ({frame.f_code.co_filename}:{line})"
