"""`settings:` of the adapters for servers and vendors.

Imports no SDK, since the configuration is validated where none is needed.
"""

import re
from operator import not_
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from reprise.core.plain import SECRET_NAMES
from reprise.core.settings import Settings, mistake
from reprise.models.asking.money.limits import ProviderLimits

BARE_URL = re.compile(r"https?://[^\s@?#/]+(?:/[^\s@?#]*)?")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Anthropic's API refuses a smaller thinking budget.
MIN_THINKING = 1024
# These settings do not affect answers, so a run's key keeps them apart from those that do.
BESIDE_ANSWERS = frozenset({
    "url", "key", "max_images", "image_tokens", "concurrency", "timeout_s", "retries", "limits",
})  # fmt: skip


class RemoteSettings(Settings):
    """Settings of all adapters that ask a server."""

    url: str
    """Where the server answers, such as `http://127.0.0.1:8000/v1`."""
    model: str = Field(min_length=1)
    """The model's name at the server."""
    served_as: str | None = None
    """The model id that its answers carry, where that is another than `model`, such as a dated one. An answer of any
    other id is a failure, `other_model`."""
    key: str | None = None
    """Name of the environment variable that holds the key; none for a server that asks for none. A model with a key
    also needs a budget in the suite: `budget_usd:`, or `budget_tokens:` where its file names no `price:`."""

    max_images: int | None = Field(None, ge=1)
    """Most frames that the server takes in a request. A run that shows more is refused before anything is asked."""
    image_size: int | None = Field(None, ge=1, exclude_if=not_)
    """Longest side of a frame in pixels; larger frames are made smaller before they are sent. By default frames keep
    their size. The `image_size` of a protocol takes precedence."""
    image_tokens: int | None = Field(None, ge=1)
    """Tokens that a frame counts at most, for the budget: what a question may cost is reserved before it is sent. From
    the second clip of a size on the server's own count is used. By default what the vendor says, where that is known;
    where not, a model with a key that is shown frames needs it."""
    max_tokens: int | None = Field(None, ge=1)
    """Most tokens of an answer in place of the protocol's number: a model that thinks before it answers needs more."""
    temperature: float | None = Field(0, ge=0)
    """Temperature; `null` sends none, for models that refuse it."""

    concurrency: int = Field(8, ge=1)
    """Most questions of a job on their way at a time."""
    limits: ProviderLimits = ProviderLimits()
    """What the provider allows all jobs together."""
    timeout_s: float = Field(300, gt=0)
    """Seconds after which a request without an answer is sent again."""
    retries: int = Field(5, ge=0)
    """How often a request is sent again after a time-out, a lost connection, no valid reply, HTTP 429 or HTTP 5xx, ever
    later or when the server says. After that the question fails, until the workflow runs again."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        """Refuse a malformed URL without repeating it in the message, since it may contain a key."""
        if not BARE_URL.fullmatch(url):
            raise mistake("should be an address such as http://127.0.0.1:8000/v1, without a user, a key or a query.")
        return url

    @field_validator("key")
    @classmethod
    def _check_key(cls, name: str | None) -> str | None:
        """Refuse a variable whose value logs would not hide: they recognise secrets by the variable's name."""
        if name is not None and not (VARIABLE_NAME.fullmatch(name) and SECRET_NAMES.search(name)):
            raise mistake(
                "should be the name of an environment variable, with API_KEY, TOKEN or SECRET in it, so that its "
                "value is hidden in logs. Such as: OPENAI_API_KEY."
            )
        return name


class AnthropicSettings(RemoteSettings):
    """Settings of the adapter `anthropic`. Frames are sent as lossless images, one a frame."""

    url: str = "https://api.anthropic.com"
    """Where the interface is."""
    key: str | None = "ANTHROPIC_API_KEY"
    """Name of the environment variable that holds the key."""
    temperature: float | None = Field(None, ge=0)
    """Temperature; by default none is sent, since the interface of the SDK that is pinned here names none."""
    thinking: Literal["adaptive"] | int | None = None
    """Whether the model thinks before it answers: `adaptive` as it likes, or a number of tokens at most, which count
    among `max_tokens`. By default nothing is sent, and the model's own default holds."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """How much effort it makes; by default nothing is sent."""

    @model_validator(mode="after")
    def _check_thinking_budget(self) -> Self:
        if isinstance(self.thinking, int) and self.thinking < MIN_THINKING:
            raise mistake(f"thinking should be 'adaptive' or at least {MIN_THINKING} tokens, found {self.thinking}.")
        if isinstance(self.thinking, int) and self.thinking >= (self.max_tokens or 0):
            raise mistake(f"max_tokens should be above the {self.thinking} tokens of `thinking`.")
        return self


class GeminiSettings(RemoteSettings):
    """Settings of the adapter `gemini`."""

    url: str = "https://generativelanguage.googleapis.com"
    """Where the interface is."""
    key: str | None = "GEMINI_API_KEY"
    """Name of the environment variable that holds the key."""
    frames: Literal["images", "video"] = "images"
    """`images`: the frames of the plan, lossless, one image a frame. `video`: the clip's file is uploaded once, asked
    about, and deleted; the vendor chooses frames by `fps`, not by the plan, and may hear the sound."""
    fps: float = Field(1.0, gt=0, le=24)
    """Frames a second that the vendor takes of an uploaded video."""
    resolution: Literal["low", "medium", "high"] | None = None
    """In how much detail the model sees frames; by default nothing is sent."""
    thinking: Literal["minimal", "low", "medium", "high"] | int | None = None
    """How much the model thinks before it answers: a level, or a number of tokens, 0 for none; they count among
    `max_tokens`. By default nothing is sent, and the model's own default holds."""
    upload_s: float = Field(300, gt=0)
    """Seconds within which an uploaded video must be ready."""

    @field_validator("thinking")
    @classmethod
    def _check_thinking(cls, thinking: Any) -> Any:
        if isinstance(thinking, int) and thinking < 0:
            raise mistake(f"should be a level or a number of tokens from 0, found {thinking}.")
        return thinking
