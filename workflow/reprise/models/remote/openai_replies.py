"""What a chat completion says: an answer, or by name why it is none."""

import math
from collections.abc import Sequence

import httpx2
from pydantic import BaseModel, Field, ValidationError

from reprise.models.asking.money.prices import Used
from reprise.models.base import Answer, AnswerError, Request
from reprise.models.remote.errors import no_words
from reprise.models.thoughts import CLOSE, OPENED, behind_thought

NAME = "token_id:{}"
# Of two probabilities that servers round.
ROUNDING = 1e-4


class Message(BaseModel):
    """The parts of a message that count; a server's other fields are passed over."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class Top(BaseModel):
    """A token and the logarithm of its probability."""

    token: str
    logprob: float


class Token(BaseModel):
    """A token of the answer, with others in its place."""

    top_logprobs: list[Top] = Field([])


class Logprobs(BaseModel):
    content: list[Token] | None = None


class Choice(BaseModel):
    message: Message
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class Cached(BaseModel):
    """Of the prompt's tokens, those that the server had read before."""

    cached_tokens: int | None = Field(None, ge=0)


class Usage(BaseModel):
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    prompt_tokens_details: Cached | None = None

    @property
    def used(self) -> Used:
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None
        return Used(self.prompt_tokens, self.completion_tokens, min(cached or 0, self.prompt_tokens))


class Counted(BaseModel):
    """A reply of which only the counts matter."""

    usage: Usage | None = None


class Reply(BaseModel):
    """A chat completion."""

    model: str = ""
    choices: list[Choice] = Field(min_length=1)
    usage: Usage | None = None

    @property
    def tokens_in(self) -> int:
        """Tokens of the prompt; 0 where the server does not count them."""
        return self.usage.prompt_tokens if self.usage else 0

    @property
    def has_thought(self) -> bool:
        """Whether a thought stands in the answer: no parser of the server has taken it out."""
        content = self.choices[0].message.content or ""
        return CLOSE in content or OPENED.match(content) is not None


def used_by(response: httpx2.Response) -> Used | None:
    """The tokens that a reply says it took, whatever else is wrong with it."""
    try:
        usage = Counted.model_validate_json(response.content).usage
    except ValidationError:
        return None
    return usage.used if usage else None


def answer_of(reply: Reply, request: Request, tokens: Sequence[int], frames: int, *, thinks: bool) -> Answer:
    """The answer in a reply: a score of these tokens, or a text; `thinks` where the server is known to leave thoughts
    in its answers."""
    choice = reply.choices[0]
    if choice.finish_reason == "content_filter":
        raise AnswerError("content_filter", "finish_reason: content_filter")
    if choice.message.refusal:
        raise AnswerError("refused", choice.message.refusal)
    text, scores = "", tuple[float, ...]()
    if request.ask == "score":
        scores = _scores(choice, tokens, thinks=thinks)
    elif request.ask == "similarity":
        scores = (_number(choice),)
    else:
        text = _text(choice, thinks=thinks)
    return Answer(
        text=text,
        scores=scores,
        frames_shown=frames,
        tokens_in=reply.tokens_in,
        tokens_out=reply.usage.completion_tokens if reply.usage else 0,
        tokens_cached=reply.usage.used.cached if reply.usage else 0,
        served=reply.model,
    )


def _text(choice: Choice, *, thinks: bool) -> str:
    """The answer without what the model thought before it."""
    is_cut = choice.finish_reason == "length"
    text = behind_thought(choice.message.content or "", is_open=thinks and is_cut)
    if text is not None and text.strip():
        return text
    raise no_words(f"finish_reason: {choice.finish_reason}", is_cut=is_cut)


def _number(choice: Choice) -> float:
    """The similarity that a program wrote."""
    try:
        found = float(choice.message.content or "")
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise AnswerError("malformed", f"similarity {choice.message.content!r:.60} is no number")
    return found


def _scores(choice: Choice, tokens: Sequence[int], *, thinks: bool) -> tuple[float, ...]:
    """The probability of each token at the first place of the answer."""
    message = choice.message
    if thinks or message.reasoning or message.reasoning_content or OPENED.match(message.content or ""):
        raise AnswerError("no_scores", "the model thinks before it answers: its first token is no answer")
    if choice.logprobs is None or not choice.logprobs.content:
        raise AnswerError("no_scores", "the server gave no logprobs")
    found = {top.token: top.logprob for top in choice.logprobs.content[0].top_logprobs}
    missing = [token for token in tokens if NAME.format(token) not in found]
    if missing:
        listed = ", ".join(list(found)[:5]) or "none"
        raise AnswerError("no_scores", f"no logprob of the tokens {missing}; those of the server: {listed}")
    logprobs = [found[NAME.format(token)] for token in tokens]
    scores = tuple(one if math.isnan(one) else math.exp(min(one, 1.0)) for one in logprobs)
    if sum(scores) > 1 + ROUNDING:
        raise AnswerError("malformed", f"probabilities {scores}")
    return scores
