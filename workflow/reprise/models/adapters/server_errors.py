"""Errors of OpenAI's SDK as failures with a name, or as a mistake that ends the job: nothing would be answered."""

from typing import Any

from openai import APIConnectionError, APIStatusError, APITimeoutError

from reprise.core.errors import UserError
from reprise.core.plain import plain
from reprise.models.adapters.base import AnswerError
from reprise.models.settings import OpenAISettings

NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
FILTERED = {"content_filter", "content_policy_violation"}
TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
TOO_LONG_IN_WORDS = ("context length", "context window", "maximum model length", "too many tokens")
PAYMENT_REQUIRED = 402
MISTAKES = {
    401: "refuses the key",
    PAYMENT_REQUIRED: "has no credit left for this key",
    403: "forbids this: the key has no access to the model, or this region none to the server",
    404: "does not know the model or the address",
}
SERVER_FAILED = 500


def failure_of_server(error: Exception, settings: OpenAISettings) -> Exception:
    """What an error of the SDK means for the question, or for the job; another error as it is."""
    if isinstance(error, APITimeoutError):
        return AnswerError("timeout", f"{settings.url}: no answer in {settings.timeout_s:g} s")
    if isinstance(error, APIConnectionError):
        cause = error.__cause__
        return AnswerError("network", f"{settings.url}: {type(cause).__name__}: {plain(str(cause))}")
    return _of_status(error, settings) if isinstance(error, APIStatusError) else error


def _of_status(error: APIStatusError, settings: OpenAISettings) -> Exception:
    status, codes, said = error.status_code, _codes(error.body), plain(_said(error.body) or str(error))
    if codes & FILTERED:
        return AnswerError("content_filter", said)
    if codes & NO_CREDIT:
        status = PAYMENT_REQUIRED
    if status in MISTAKES:
        return UserError(
            f"{settings.url}: the server {MISTAKES[status]} (model '{settings.model}', key "
            f"{f'in {settings.key}' if settings.key else 'none: see settings.key'}). It says: {said}. Answers so far "
            "are kept. Correct the model's file or the key, then run the same command again."
        )
    if status == 429:
        return AnswerError("rate_limited", said)
    if status in (408, 409) or status >= SERVER_FAILED:
        return AnswerError("server_error", f"HTTP {status}: {said}")
    is_too_long = codes & TOO_LONG or any(words in said.lower() for words in TOO_LONG_IN_WORDS)
    return AnswerError("beyond_context" if is_too_long else "bad_request", f"HTTP {status}: {said}")


def _codes(body: Any) -> set[str]:
    """The words for an error that a server's programs know."""
    return {str(body[name]) for name in ("code", "type") if body.get(name)} if isinstance(body, dict) else set()


def _said(body: Any) -> str:
    return str(body.get("message") or body.get("detail") or "") if isinstance(body, dict) else ""
