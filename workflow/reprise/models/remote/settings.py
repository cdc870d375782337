"""Define the `settings:` of the adapters for servers and vendors, without importing an SDK.

The configuration imports this module to validate model files.
"""

import re
from operator import not_
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from reprise.core.plain import SECRET_NAMES
from reprise.core.settings import Settings, setting_error
from reprise.models.inference.money.limits import ProviderLimits

BARE_URL = re.compile(r"https?://[^\s@?#/]+(?:/[^\s@?#]*)?")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Anthropic's API refuses a smaller thinking budget.
MIN_THINKING_TOKENS = 1024
# A run's key separates these settings, which do not affect answers, from all others.
ANSWER_NEUTRAL_SETTINGS = frozenset({
    "url", "key", "max_images", "image_tokens", "concurrency", "timeout_s", "retries", "limits",
})  # fmt: skip


class RemoteSettings(Settings):
    """Settings of all adapters that query a server."""

    url: str
    """Address of the server, such as `http://127.0.0.1:8000/v1`."""
    model: str = Field(min_length=1)
    """Name of the model at the server."""
    served_as: str | None = None
    """Model id in the server's answers if it differs from `model`. Answers with another id fail as `other_model`."""
    key: str | None = None
    """Name of the environment variable with the API key. A model with a key also needs a budget in the suite."""

    max_images: int | None = Field(None, ge=1)
    """Maximum frames that the server accepts per request. A run with more is rejected."""
    image_size: int | None = Field(None, ge=1, exclude_if=not_)
    """Maximum length of a frame's longer side in pixels; larger frames are downscaled. The `image_size` of a protocol
    takes precedence."""
    image_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens of a frame. It is used to reserve the cost of a request from the budget. Required for
    a model with a key that receives frames, except at Anthropic and Google, whose numbers are known."""
    max_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens of an answer, instead of the protocol's number. A reasoning model needs more."""
    temperature: float | None = Field(0, ge=0)
    """Sampling temperature; `null` sends none, for models that reject it."""

    concurrency: int = Field(8, ge=1)
    """Maximum number of concurrent requests of a job."""
    limits: ProviderLimits = ProviderLimits()
    """Rate limits of the provider for all jobs together."""
    timeout_s: float = Field(300, gt=0)
    """Seconds after which a request without an answer is retried."""
    retries: int = Field(5, ge=0)
    """Maximum number of retries after a time-out, a lost connection, an invalid reply, HTTP 429 or HTTP 5xx. After
    them the request fails; the next `snakemake` command tries it again."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        """Reject a malformed URL without quoting it in the message, because it may contain a key."""
        if not BARE_URL.fullmatch(url):
            raise setting_error(
                "should be an address such as http://127.0.0.1:8000/v1, without a user, a key or a query string."
            )
        return url

    @field_validator("key")
    @classmethod
    def _check_key(cls, name: str | None) -> str | None:
        """Reject a variable name that logs would not recognise as the name of a secret."""
        if name is not None and not (VARIABLE_NAME.fullmatch(name) and SECRET_NAMES.search(name)):
            raise setting_error(
                "should be the name of an environment variable, with API_KEY, TOKEN or SECRET in it, so that its "
                "value is hidden in logs; for example OPENAI_API_KEY."
            )
        return name


class AnthropicSettings(RemoteSettings):
    """Settings of the adapter `anthropic`. Each frame is sent as a lossless image."""

    url: str = "https://api.anthropic.com"
    """Address of the API."""
    key: str | None = "ANTHROPIC_API_KEY"
    """Name of the environment variable with the API key."""
    temperature: float | None = Field(None, ge=0)
    """Sampling temperature. By default none is sent."""
    thinking: Literal["adaptive"] | int | None = None
    """Reasoning before the answer: `adaptive`, or a maximum number of tokens. Its tokens count towards `max_tokens`."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """Effort level; by default nothing is sent."""

    @model_validator(mode="after")
    def _check_thinking_budget(self) -> Self:
        if isinstance(self.thinking, int) and self.thinking < MIN_THINKING_TOKENS:
            raise setting_error(
                f"thinking should be 'adaptive' or at least {MIN_THINKING_TOKENS} tokens, found {self.thinking}."
            )
        if isinstance(self.thinking, int) and self.thinking >= (self.max_tokens or 0):
            raise setting_error(f"max_tokens should be above the {self.thinking} tokens of `thinking`.")
        return self


class GeminiSettings(RemoteSettings):
    """Settings of the adapter `gemini`."""

    url: str = "https://generativelanguage.googleapis.com"
    """Address of the API."""
    key: str | None = "GEMINI_API_KEY"
    """Name of the environment variable with the API key."""
    frames: Literal["images", "video"] = "images"
    """`images` sends the planned frames losslessly. `video` uploads the clip's file; the vendor then samples frames at
    `fps`, not by the plan, and may use the audio."""
    fps: float = Field(1.0, gt=0, le=24)
    """Frames per second that the vendor samples from an uploaded video."""
    resolution: Literal["low", "medium", "high"] | None = None
    """Media resolution of frames; by default nothing is sent."""
    thinking: Literal["minimal", "low", "medium", "high"] | int | None = None
    """Reasoning before the answer: a level, or a number of tokens (0 for none). Its tokens count towards
    `max_tokens`."""
    upload_s: float = Field(300, gt=0)
    """Maximum number of seconds until the vendor has processed an uploaded video."""

    @field_validator("thinking")
    @classmethod
    def _check_thinking(cls, thinking: Any) -> Any:
        if isinstance(thinking, int) and thinking < 0:
            raise setting_error(f"should be a level or a number of tokens from 0, found {thinking}.")
        return thinking
