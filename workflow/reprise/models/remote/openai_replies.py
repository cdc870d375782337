"""What a chat completion says: an answer, or by name why it is none; and errors of the SDK, as failures with a name
or as a mistake that ends the job."""

import math
from collections.abc import Sequence
from typing import Any

from aiohttp import ClientError, ClientResponseError, ServerTimeoutError
from openai import APIConnectionError, APITimeoutError
from pydantic import BaseModel, Field

from reprise.models.asking.money.calls import Failure
from reprise.models.asking.money.prices import LARGEST_COUNT, Used
from reprise.models.asking.reasons import REASONS
from reprise.models.base import Answer, AnswerError, Request
from reprise.models.remote.adapter import PAYMENT_REQUIRED, broken, check_end, no_words, of_status, timed_out
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import CLOSE, OPENED, behind_thought

NAME = "token_id:{}"
# Why servers say that an answer ended: it is whole, or it has as many tokens as it may have. A server may leave the
# field out; one that says `null` has not finished.
ABSENT = "not given"
CUT = frozenset({"length", "max_tokens", "model_length"})
WHOLE = frozenset({"stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", ABSENT, *CUT})
# Of two probabilities that servers round.
ROUNDING = 1e-4
NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
FILTERED = {"content_filter", "content_policy_violation"}
TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
TOO_LONG_IN_WORDS = ("context length", "context window", "maximum model length", "too many tokens")


class Message(BaseModel):
    """The parts of a message that count; a server's other fields are passed over."""

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
        """Whether the server gives a thought apart from the answer."""
        return any((self.reasoning_content, self.reasoning, self.reasoning_details, self.thinking))


class Top(BaseModel):
    token: str
    logprob: float


class Token(BaseModel):
    top_logprobs: list[Top] = Field([])


class Logprobs(BaseModel):
    content: list[Token] | None = None


class Choice(BaseModel):
    message: Message
    finish_reason: str | None = ABSENT
    logprobs: Logprobs | None = None


class Cached(BaseModel):
    """Of the prompt's tokens, those that the server had read before."""

    cached_tokens: int | None = Field(None, ge=0)


class Usage(BaseModel):
    prompt_tokens: int = Field(0, ge=0, le=LARGEST_COUNT)
    completion_tokens: int = Field(0, ge=0, le=LARGEST_COUNT)
    prompt_tokens_details: Cached | None = None

    @property
    def used(self) -> Used:
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None
        return Used(self.prompt_tokens, self.completion_tokens, min(cached or 0, self.prompt_tokens))


class Reply(BaseModel):
    model: str = ""
    choices: list[Choice] = Field(min_length=1, max_length=1)
    usage: Usage | None = None

    @property
    def used(self) -> Used:
        """0 where the server does not count."""
        return self.usage.used if self.usage else Used(0, 0)

    @property
    def has_thought(self) -> bool:
        """Whether a thought stands in the answer: no parser of the server has taken it out."""
        content = self.choices[0].message.content or ""
        return CLOSE in content or OPENED.match(content) is not None


def check_choice(choice: Choice) -> None:
    """Refuse what is no answer, or part of one."""
    reason = choice.finish_reason
    if reason and reason.lower().startswith("content_filter"):
        raise AnswerError("content_filter", f"finish_reason: {reason}")
    if choice.message.refusal:
        raise AnswerError("refused", choice.message.refusal)
    check_end("finish_reason", reason, WHOLE)
    if choice.message.tool_calls or choice.message.function_call:
        raise AnswerError("unfinished", "the model calls a tool, though the request offers none")


def answer_of(reply: Reply, request: Request, tokens: Sequence[int], frames: int, *, thinks: bool) -> Answer:
    """The answer in a reply: a score of these tokens, or a text; `thinks` where the server is known to leave thoughts
    in its answers."""
    choice = reply.choices[0]
    text, scores = "", tuple[float, ...]()
    if request.ask == "score":
        scores = _scores(choice, tokens, thinks=thinks)
    elif request.ask == "similarity":
        scores = (float(choice.message.content or "nan"),)  # of a program that this job has started
    else:
        is_cut = str(choice.finish_reason).lower() in CUT
        text = behind_thought(choice.message.content or "", is_open=thinks and is_cut) or ""
        if not text.strip():
            raise no_words(f"finish_reason: {choice.finish_reason}", is_cut=is_cut)
    return Answer(
        text=text,
        scores=scores,
        frames_shown=frames,
        tokens_in=reply.used.input,
        tokens_out=reply.used.output,
        tokens_cached=reply.used.cached,
        served=reply.model,
    )


def _scores(choice: Choice, tokens: Sequence[int], *, thinks: bool) -> tuple[float, ...]:
    """The probability of each token at the first place of the answer."""
    message = choice.message
    if thinks or message.has_thought or OPENED.match(message.content or ""):
        raise AnswerError("no_scores", "the model thinks before it answers: its first token is no answer")
    if choice.logprobs is None or not choice.logprobs.content:
        raise AnswerError("no_scores", "the server gave no logprobs")
    top_logprobs = choice.logprobs.content[0].top_logprobs
    found = {top.token: top.logprob for top in top_logprobs}
    if any(found[top.token] != top.logprob and not math.isnan(top.logprob) for top in top_logprobs):
        raise AnswerError("malformed", f"two logprobs of the same token: {top_logprobs}")
    missing = [token for token in tokens if NAME.format(token) not in found]
    if missing:
        listed = ", ".join(list(found)[:5]) or "none"
        raise AnswerError("no_scores", f"no logprob of the tokens {missing}; those of the server: {listed}")
    logprobs = [found[NAME.format(token)] for token in tokens]
    scores = tuple(one if math.isnan(one) else math.exp(min(one, 1.0)) for one in logprobs)
    if not any(scores):  # such as -9999 for tokens that a server has no probability of
        raise AnswerError("no_scores", f"no option has a probability above 0: logprobs {logprobs}")
    if sum(scores) > 1 + ROUNDING:
        raise AnswerError("malformed", f"probabilities {scores}")
    return scores


# --- errors -----------------------------------------------------------------------------------------------------------


def failure_of_server(error: BaseException, settings: OpenAISettings) -> Failure | None:
    """What an error of the SDK means for the question, or for the job; none for an error of another kind."""
    if isinstance(error, APIConnectionError):
        # What broke or was late below the SDK, which takes a lost connection for one that is late.
        below = error.__cause__
        while below is not None and not isinstance(below, ClientError):
            below = below.__cause__
        is_late = isinstance(below, ServerTimeoutError) if below else isinstance(error, APITimeoutError)
        if is_late:
            return timed_out(settings)
        return broken(below or error, settings, is_protocol=isinstance(below, ClientResponseError))
    if not isinstance(error, ErrorReply):
        return None
    codes, said = error.codes, error.message.lower()
    program_code = str(error.details.get("code"))
    if error.details.get("type") == "program" and program_code in REASONS:  # of the server that this job has started
        return Failure(AnswerError(program_code, error.message))
    if codes & FILTERED:
        return Failure(AnswerError("content_filter", error.message), is_free=not error.has_result)
    is_too_long = bool(codes & TOO_LONG) or any(words in said for words in TOO_LONG_IN_WORDS)
    return of_status(error, settings, status=PAYMENT_REQUIRED if codes & NO_CREDIT else None, is_too_long=is_too_long)
