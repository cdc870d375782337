"""Convert chat completions into answers or named failures, and classify errors of the SDK."""

import math
from collections.abc import Sequence
from typing import Any

from aiohttp import ClientError, ClientResponseError, ServerTimeoutError
from openai import APIConnectionError, APITimeoutError
from pydantic import BaseModel, Field

from reprise.models.base import Answer, AnswerError, Request
from reprise.models.inference.money.calls import ApiFailure
from reprise.models.inference.money.prices import MAX_COUNT, TokenUsage
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.models.remote.adapter import (
    PAYMENT_REQUIRED,
    check_finish_reason,
    classify_status,
    connection_failure,
    empty_answer_error,
    timeout_failure,
)
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import OPEN_THOUGHT_PATTERN, THOUGHT_END, strip_thought

TOKEN_NAME_FORMAT = "token_id:{}"  # noqa: S105  not a password
# A server may omit the finish reason of a complete answer, but `null` means that the answer is not complete.
MISSING_FINISH_REASON = "not given"
# Finish reasons of answers that reached their token limit, and of all complete answers.
TRUNCATED_REASONS = frozenset({"length", "max_tokens", "model_length"})
COMPLETE_REASONS = frozenset(
    {"stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", MISSING_FINISH_REASON, *TRUNCATED_REASONS}
)
# Servers round probabilities, so their sum may exceed 1 by this much.
PROBABILITY_TOLERANCE = 1e-4
# Codes and phrases in errors of OpenAI and compatible servers: no credit, a content filter, a prompt that is too long.
NO_CREDIT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
FILTER_CODES = {"content_filter", "content_policy_violation"}
TOO_LONG_CODES = {"context_length_exceeded", "string_above_max_length"}
TOO_LONG_PHRASES = ("context length", "context window", "maximum model length", "too many tokens")


class Message(BaseModel):
    """The fields of a message that this module uses."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    thinking: Any = None
    tool_calls: list[Any] | None = None
    function_call: Any = None

    @property
    def has_thought(self) -> bool:
        """Return whether the server returned a thought in a separate field."""
        return any((self.reasoning_content, self.reasoning, self.reasoning_details, self.thinking))


class TopLogprob(BaseModel):
    """The log probability of one token; the token is named by its number (`TOKEN_NAME_FORMAT`)."""

    token: str
    logprob: float


class TokenLogprobs(BaseModel):
    """The log probabilities of tokens at one position of the answer."""

    top_logprobs: list[TopLogprob] = Field([])


class Logprobs(BaseModel):
    """The log probabilities at each position of the answer."""

    content: list[TokenLogprobs] | None = None


class Choice(BaseModel):
    """An answer in a reply."""

    message: Message
    finish_reason: str | None = MISSING_FINISH_REASON
    logprobs: Logprobs | None = None


class PromptTokensDetails(BaseModel):
    """The number of prompt tokens that the server read from its cache."""

    cached_tokens: int | None = Field(None, ge=0)


class CompletionUsage(BaseModel):
    """The numbers of tokens that a server reports."""

    prompt_tokens: int = Field(0, ge=0, le=MAX_COUNT)
    completion_tokens: int = Field(0, ge=0, le=MAX_COUNT)
    prompt_tokens_details: PromptTokensDetails | None = None

    @property
    def token_usage(self) -> TokenUsage:
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None
        return TokenUsage(self.prompt_tokens, self.completion_tokens, min(cached or 0, self.prompt_tokens))


class ChatCompletion(BaseModel):
    """A reply of the chat completions API, with exactly one answer."""

    model: str = ""
    choices: list[Choice] = Field(min_length=1, max_length=1)
    usage: CompletionUsage | None = None

    @property
    def token_usage(self) -> TokenUsage:
        """Return the token usage; zeros if the server does not report it."""
        return self.usage.token_usage if self.usage else TokenUsage(0, 0)

    @property
    def has_thought(self) -> bool:
        """Return whether the answer contains a thought that the server did not remove."""
        content = self.choices[0].message.content or ""
        return THOUGHT_END in content or OPEN_THOUGHT_PATTERN.match(content) is not None


def check_choice(choice: Choice) -> None:
    """Reject a choice whose answer is missing or incomplete."""
    reason = choice.finish_reason
    if reason and reason.lower().startswith("content_filter"):
        raise AnswerError("content_filter", f"finish_reason: {reason}")
    if choice.message.refusal:
        raise AnswerError("refused", choice.message.refusal)
    check_finish_reason("finish_reason", reason, COMPLETE_REASONS)
    if choice.message.tool_calls or choice.message.function_call:
        raise AnswerError("unfinished", "the model calls a tool, although the request offers none")


def parse_answer(
    reply: ChatCompletion, request: Request, option_tokens: Sequence[int], frame_count: int, *, opens_thought: bool
) -> Answer:
    """Return the answer in a reply: the scores of the options, a similarity or a text.

    Args:
        option_tokens: Tokens of the options, in the same order, if the request type is `score`.
        frame_count: Number of frames in the prompt.
        opens_thought: Whether earlier answers of the server contained thoughts.
    """
    choice = reply.choices[0]
    text, scores = "", tuple[float, ...]()
    if request.request_type == "score":
        scores = _extract_scores(choice, option_tokens, opens_thought=opens_thought)
    elif request.request_type == "similarity":
        scores = (float(choice.message.content or "nan"),)  # sent by a model runner that this job started
    else:
        is_truncated = str(choice.finish_reason).lower() in TRUNCATED_REASONS
        # A truncated text without an end marker may be an unfinished thought.
        text = strip_thought(choice.message.content or "", opens_thought=opens_thought and is_truncated) or ""
        if not text.strip():
            raise empty_answer_error(f"finish_reason: {choice.finish_reason}", is_truncated=is_truncated)
    return Answer(
        text=text,
        scores=scores,
        frames_shown=frame_count,
        tokens_in=reply.token_usage.input,
        tokens_out=reply.token_usage.output,
        tokens_cached=reply.token_usage.cached,
        served_model=reply.model,
    )


def _extract_scores(choice: Choice, option_tokens: Sequence[int], *, opens_thought: bool) -> tuple[float, ...]:
    """Return the probability of each option's token at the first position of the answer."""
    message = choice.message
    if opens_thought or message.has_thought or OPEN_THOUGHT_PATTERN.match(message.content or ""):
        raise AnswerError("no_scores", "the model thinks before it answers, so its first token is not an answer")
    if choice.logprobs is None or not choice.logprobs.content:
        raise AnswerError("no_scores", "the server returned no logprobs")
    top_logprobs = choice.logprobs.content[0].top_logprobs
    logprob_by_token = {top.token: top.logprob for top in top_logprobs}
    if any(logprob_by_token[top.token] != top.logprob and not math.isnan(top.logprob) for top in top_logprobs):
        raise AnswerError("malformed", f"two logprobs of the same token: {top_logprobs}")
    missing = [token for token in option_tokens if TOKEN_NAME_FORMAT.format(token) not in logprob_by_token]
    if missing:
        listing = ", ".join(list(logprob_by_token)[:5]) or "none"
        raise AnswerError("no_scores", f"no logprobs of the tokens {missing}; the server returned: {listing}")
    logprobs = [logprob_by_token[TOKEN_NAME_FORMAT.format(token)] for token in option_tokens]
    # The limit of 1 prevents an overflow; a probability above 1 is rejected below.
    scores = tuple(logprob if math.isnan(logprob) else math.exp(min(logprob, 1.0)) for logprob in logprobs)
    if not any(scores):  # vLLM writes -9999 for a probability of 0, for example
        raise AnswerError("no_scores", f"no option has a probability above 0: logprobs {logprobs}")
    if sum(scores) > 1 + PROBABILITY_TOLERANCE:
        raise AnswerError("malformed", f"probabilities {scores}")
    return scores


# --- errors -----------------------------------------------------------------------------------------------------------


def classify_openai_error(error: BaseException, settings: OpenAISettings) -> ApiFailure | None:
    """Classify an error of the SDK; return None for an error of any other kind."""
    if isinstance(error, APIConnectionError):
        # The SDK reports a lost connection as a timeout, so the error of aiohttp decides.
        cause = error.__cause__
        while cause is not None and not isinstance(cause, ClientError):
            cause = cause.__cause__
        is_timeout = isinstance(cause, ServerTimeoutError) if cause else isinstance(error, APITimeoutError)
        if is_timeout:
            return timeout_failure(settings)
        return connection_failure(cause or error, settings, is_protocol_error=isinstance(cause, ClientResponseError))
    if not isinstance(error, ErrorReply):
        return None
    codes, message = error.codes, error.message.lower()
    runner_code = str(error.details.get("code"))
    if error.details.get("type") == "runner" and runner_code in FAILURE_REASONS:  # from a model runner of this job
        return ApiFailure(AnswerError(runner_code, error.message))
    if codes & FILTER_CODES:
        return ApiFailure(AnswerError("content_filter", error.message), is_free=not error.has_result)
    is_too_long = bool(codes & TOO_LONG_CODES) or any(phrase in message for phrase in TOO_LONG_PHRASES)
    return classify_status(
        error, settings, status=PAYMENT_REQUIRED if codes & NO_CREDIT_CODES else None, is_too_long=is_too_long
    )
