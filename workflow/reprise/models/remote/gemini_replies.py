"""What Gemini's replies and errors mean: an answer, or by name why there is none."""

import re
from typing import Any

import httpx2
from google.genai import errors, types

from reprise.core.plain import plain
from reprise.models.asking.money.calls import Failure
from reprise.models.asking.money.prices import Used
from reprise.models.base import AnswerError, ServedAnswer
from reprise.models.remote.errors import PAYMENT_REQUIRED, broken, check_model, no_words, of_status, timed_out
from reprise.models.remote.settings import GeminiSettings

FILTERED = {
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION", "MODEL_ARMOR",
}  # fmt: skip
# What an error of another status means, by words in it.
MEANT = (
    (401, ("API_KEY_INVALID", "API key not valid", "API key expired")),
    (403, ("location is not supported",)),
    (PAYMENT_REQUIRED, ("PerDay", "credits are depleted", "billing account")),
)
TOO_LONG = ("exceeds the maximum number of tokens", "input token count")
RETRY_DELAY = re.compile(r"'retryDelay': '([0-9]+(?:\.[0-9]+)?)s'")


def used_by(reply: types.GenerateContentResponse) -> Used | None:
    """The tokens that a reply says it took; thoughts are paid for as answers are."""
    counted = reply.usage_metadata
    if counted is None or counted.prompt_token_count is None:
        return None
    written = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
    return Used(counted.prompt_token_count, written, counted.cached_content_token_count or 0)


def answer_of(reply: types.GenerateContentResponse, settings: GeminiSettings, frames: int) -> ServedAnswer:
    """The answer in a reply of the model that was asked, without its thoughts."""
    served = (reply.model_version or "").removeprefix("models/")
    if not reply.candidates and reply.prompt_feedback is None:
        raise AnswerError("malformed", "no reply of generateContent: candidates: missing")
    check_model(served, settings)
    if not reply.candidates:
        raise AnswerError("content_filter", f"the prompt was blocked: {_word(reply.prompt_feedback, 'block_reason')}")
    candidate, reason = reply.candidates[0], _word(reply.candidates[0], "finish_reason")
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    if reason in FILTERED:
        raise AnswerError("content_filter", f"finish_reason: {reason}")
    if not text.strip():
        raise no_words(f"finish_reason: {reason}", is_cut=reason == "MAX_TOKENS")
    used = used_by(reply) or Used(0, 0)
    return ServedAnswer(
        text=text,
        frames_shown=frames,
        tokens_in=used.input,
        tokens_out=used.output,
        served=served,
        tokens_cached=used.cached,
    )


def _word(holder: Any, name: str) -> str:
    found = getattr(holder, name, None)
    return str(getattr(found, "value", found))


def failure_of_gemini(error: Exception, settings: GeminiSettings) -> Failure | None:
    """What an error of the SDK means for the question, or for the job; none for an error of another kind."""
    if isinstance(error, httpx2.TimeoutException):
        return timed_out(settings)
    if isinstance(error, httpx2.TransportError):
        return broken(error, settings)
    if not isinstance(error, errors.APIError):
        # What is no JSON, and JSON of another form, are such errors in the SDK; such a reply was paid for.
        is_reply = isinstance(error, ValueError | KeyError | TypeError | AttributeError)
        named = AnswerError("malformed", f"{type(error).__name__}: {plain(str(error))}")
        return Failure(named, is_free=False) if is_reply else None
    whole, said = str(error.details), plain(str(error.message or error))
    status = next((code for code, words in MEANT if any(word in whole for word in words)), error.code)
    is_too_long = any(words in said for words in TOO_LONG)
    failure = of_status(status, said, getattr(error.response, "headers", {}), settings, is_too_long=is_too_long)
    # How long an error asks to wait, in its own words.
    delay = RETRY_DELAY.search(whole)
    return failure._replace(wait_s=float(delay[1])) if failure.wait_s is None and delay else failure
