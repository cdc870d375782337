"""Errors of OpenAI's SDK as failures with a name, or as a mistake that ends the job: nothing would be answered."""

from typing import Any

from aiohttp import ClientError, ServerTimeoutError
from openai import APIConnectionError, APIStatusError, APITimeoutError

from reprise.core.plain import plain
from reprise.models.asking.money.calls import Failure
from reprise.models.asking.reasons import REASONS
from reprise.models.base import AnswerError
from reprise.models.remote.errors import PAYMENT_REQUIRED, broken, of_status, timed_out
from reprise.models.settings import OpenAISettings

NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
FILTERED = {"content_filter", "content_policy_violation"}
TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
TOO_LONG_IN_WORDS = ("context length", "context window", "maximum model length", "too many tokens")


def failure_of_server(error: Exception, settings: OpenAISettings) -> Failure | None:
    """What an error of the SDK means for the question, or for the job; none for an error of another kind."""
    if isinstance(error, APIConnectionError):
        # What broke or was late below the SDK, which takes a lost connection for one that is late.
        below = error.__cause__
        while below is not None and not isinstance(below, ClientError):
            below = below.__cause__
        is_late = isinstance(below, ServerTimeoutError) if below else isinstance(error, APITimeoutError)
        return timed_out(settings) if is_late else broken(below or error, settings)
    if not isinstance(error, APIStatusError):
        return None
    body: Any = error.body if isinstance(error.body, dict) else {}
    # The words for an error that a server's programs know, and those for people.
    if body.get("type") == "program" and body.get("code") in REASONS:  # of the server that this job has started
        return Failure(AnswerError(str(body["code"]), plain(str(body.get("message", "")))))
    codes = {str(body[name]) for name in ("code", "type") if body.get(name)}
    status, said = error.status_code, plain(str(body.get("message") or body.get("detail") or "") or str(error))
    if codes & FILTERED:
        return Failure(AnswerError("content_filter", said))
    if codes & NO_CREDIT:
        status = PAYMENT_REQUIRED
    is_too_long = bool(codes & TOO_LONG) or any(words in said.lower() for words in TOO_LONG_IN_WORDS)
    return of_status(status, said, error.response.headers, settings, is_too_long=is_too_long)
