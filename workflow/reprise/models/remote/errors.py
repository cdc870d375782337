"""What replies and errors of all vendors mean: an answer, a failure of one question with a name, or a mistake that ends
the job because nothing would be answered."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.plain import plain
from reprise.models.asking.money.calls import Failure, asked_wait
from reprise.models.base import AnswerError
from reprise.models.remote.settings import RemoteSettings

PAYMENT_REQUIRED = 402
MISTAKES = {
    401: "refuses the key",
    PAYMENT_REQUIRED: "has no credit left for this key",
    403: "forbids this: the key has no access to the model, or this region none to the server",
    404: "does not know the model or the address",
}
SERVER_FAILED = 500


R = TypeVar("R", bound=BaseModel)


def read_reply(kind: type[R], content: bytes, settings: RemoteSettings, what: str) -> R:
    """The reply of the model that was asked, and of no other."""
    try:
        reply = kind.model_validate_json(content)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "(whole reply)"
        raise AnswerError("malformed", f"no {what}: {place}: {first['msg']}") from None
    check_model(getattr(reply, "model", ""), settings)
    return reply


def check_model(model: str, settings: RemoteSettings) -> None:
    """Only the model that was asked may answer: vendors route requests to others."""
    pinned = settings.served_as or settings.model
    if model != pinned:
        raise AnswerError("other_model", f"'{model}' answered, not '{pinned}'")


def no_words(reason: str, *, is_cut: bool) -> AnswerError:
    """Why an answer is without a word, where the vendor gives this reason for its end."""
    if is_cut:
        return AnswerError("still_thinking", f"{reason}. Set settings.max_tokens in the model's file")
    return AnswerError("empty", reason)


def timed_out(settings: RemoteSettings) -> Failure:
    """No answer in time; it may have been paid for."""
    error = AnswerError("timeout", f"{settings.url}: no answer in {settings.timeout_s:g} s")
    return Failure(error, may_pass=True, is_free=False)


def broken(error: BaseException, settings: RemoteSettings) -> Failure:
    """No connection, or one that broke when the answer may have been paid for."""
    cause = error.__cause__ or error
    named = AnswerError("network", f"{settings.url}: {type(cause).__name__}: {plain(str(cause))}")
    return Failure(named, may_pass=True, is_free=False)


def of_status(
    status: int, said: str, headers: object, settings: RemoteSettings, *, is_too_long: bool = False
) -> Failure:
    """What a server's error of this status means; vendors take nothing for it."""
    if status in MISTAKES:
        return Failure(
            UserError(
                f"{settings.url}: the server {MISTAKES[status]} (model '{settings.model}', key "
                f"{f'in {settings.key}' if settings.key else 'none: see settings.key'}). It says: {said}. Answers so "
                "far are kept. Correct the model's file or the key, then run the same command again."
            )
        )
    if status == 429:
        return Failure(AnswerError("rate_limited", said), may_pass=True, wait_s=asked_wait(headers))
    if status in (408, 409) or status >= SERVER_FAILED:
        failed = AnswerError("server_error", f"HTTP {status}: {said}")
        return Failure(failed, may_pass=True, wait_s=asked_wait(headers))
    return Failure(AnswerError("beyond_context" if is_too_long else "bad_request", f"HTTP {status}: {said}"))
