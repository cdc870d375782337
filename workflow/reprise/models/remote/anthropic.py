"""Adapter for the models of Anthropic, by its Messages interface; frames are sent as lossless images."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from anthropic import APIConnectionError, APIStatusError, APITimeoutError, AsyncAnthropic
from pydantic import BaseModel, Field

from reprise.core.plain import plain
from reprise.models.asking.money.calls import Failure
from reprise.models.asking.money.limits import Shown, by_patches
from reprise.models.asking.money.prices import Used
from reprise.models.base import Answer, AnswerError, Due, ModelSpec, Request
from reprise.models.remote.adapter import (
    PAYMENT_REQUIRED,
    AsyncClient,
    RemoteAdapter,
    Show,
    broken,
    no_words,
    of_status,
    posting,
    read_reply,
    timed_out,
    used_in,
)
from reprise.models.remote.images import Encoded
from reprise.models.remote.sending import Opened
from reprise.models.remote.settings import AnthropicSettings

IMAGE = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"', b'"}},'
NO_CREDIT = ("billing_error", "credit balance")
TOO_LONG = ("prompt is too long", "exceed context limit", "request_too_large")


class Block(BaseModel):
    """A part of an answer; thoughts have another type."""

    type: str
    text: str = ""


class Usage(BaseModel):
    """What a request took. Tokens that were read into a cache, or from it, are counted apart."""

    input_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cache_creation_input_tokens: int | None = Field(None, ge=0)
    cache_read_input_tokens: int | None = Field(None, ge=0)

    @property
    def used(self) -> Used:
        cached = self.cache_read_input_tokens or 0
        return Used(self.input_tokens + cached + (self.cache_creation_input_tokens or 0), self.output_tokens, cached)


class Reply(BaseModel):
    model: str
    content: list[Block]
    stop_reason: str | None = None
    usage: Usage = Usage()


class AnthropicAdapter(RemoteAdapter):
    tokens_of_image = staticmethod(by_patches)

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = AnthropicSettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Show]:
        sender = AsyncClient()
        sender.seconds = self._settings.timeout_s
        client = AsyncAnthropic(
            http_client=sender,
            base_url=self._settings.url,
            api_key=self._key,
            timeout=self._settings.timeout_s,
            max_retries=0,  # each try is paid for, and counted, by itself
        )
        async with client:
            self._client, self._calls = client, self.calls(failure_of_anthropic)
            yield self._opened

    def _opened(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> Opened:
        visual = b"".join(image.join(IMAGE) for image in frames.images) if frames else b""
        return Opened(partial(self._answer, visual, frames.shown if frames else None), len(visual), seconds)

    async def _answer(self, visual: bytes, shown: Shown | None, request: Request) -> Answer:
        tokens = self._settings.max_tokens or request.max_tokens
        send = posting(self._client, "/v1/messages", self._body(request, tokens, visual))
        response = await self._calls.call(request, shown, tokens, send, partial(used_in, Reply))
        reply = read_reply(Reply, response.content, self._settings, "message")
        return answer_of(reply, shown.frames if shown else 0)

    def _body(self, request: Request, tokens: int, visual: bytes) -> bytes:
        """A request as bytes: frames are put in as they are, since they are megabytes."""
        settings = self._settings
        fields: dict[str, Any] = {"model": settings.model, "max_tokens": tokens}
        if request.system:
            fields["system"] = request.system
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if settings.thinking == "adaptive":
            fields["thinking"] = {"type": "adaptive"}
        elif settings.thinking is not None:
            fields["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking}
        if settings.effort is not None:
            fields["output_config"] = {"effort": settings.effort}
        lead, text = request.around_frames() if visual else ("", request.prompt)
        before = json.dumps({"type": "text", "text": lead}).encode() + b"," if lead else b""
        behind = json.dumps({"type": "text", "text": text}).encode()
        start = json.dumps(fields)[:-1].encode()
        return b"".join([start, b',"messages":[{"role":"user","content":[', before, visual, behind, b"]}]}"])


def answer_of(reply: Reply, frames: int) -> Answer:
    """The answer in a reply, without what the model thought before it."""
    text = "".join(block.text for block in reply.content if block.type == "text")
    reason = f"stop_reason: {reply.stop_reason}"
    if reply.stop_reason == "refusal":
        raise AnswerError("refused", text or reason)
    if reply.stop_reason == "model_context_window_exceeded":
        raise AnswerError("beyond_context", reason)
    if not text.strip():
        raise no_words(reason, is_cut=reply.stop_reason == "max_tokens")
    used = reply.usage.used
    return Answer(
        text=text,
        frames_shown=frames,
        tokens_in=used.input,
        tokens_out=used.output,
        served=reply.model,
        tokens_cached=used.cached,
    )


def failure_of_anthropic(error: Exception, settings: AnthropicSettings) -> Failure | None:
    """What an error of the SDK means for the question, or for the job; none for an error of another kind."""
    if isinstance(error, APITimeoutError):
        return timed_out(settings)
    if isinstance(error, APIConnectionError):
        return broken(error, settings)
    if not isinstance(error, APIStatusError):
        return None
    said = plain(error.api_message or str(error))
    in_words = f"{error.type} {said}".lower()
    status = PAYMENT_REQUIRED if any(words in in_words for words in NO_CREDIT) else error.status_code
    is_too_long = any(words in in_words for words in TOO_LONG)
    return of_status(status, said, error.response.headers, settings, is_too_long=is_too_long)
