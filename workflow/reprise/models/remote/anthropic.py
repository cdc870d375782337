"""Adapter for Anthropic's models, which uses the Messages API and sends frames as lossless images."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
from anthropic import APIConnectionError, APITimeoutError, AsyncAnthropic
from pydantic import BaseModel, Field

from reprise.models.asking.money.calls import Failure
from reprise.models.asking.money.limits import Shown, by_patches
from reprise.models.asking.money.prices import LARGEST_COUNT, Used
from reprise.models.base import Answer, AnswerError, Due, ModelSpec, Request
from reprise.models.remote.adapter import (
    PAYMENT_REQUIRED,
    AsyncClient,
    ClipOpener,
    RemoteAdapter,
    check_end,
    connection_failure,
    empty_answer_error,
    of_status,
    prepare_post,
    read_reply,
    read_usage,
    timeout_failure,
)
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images import EncodedFrames
from reprise.models.remote.sending import OpenedClip
from reprise.models.remote.settings import AnthropicSettings

IMAGE = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"', b'"}},'
NO_CREDIT_PHRASES = ("billing_error", "credit balance")
COMPLETE_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens"})
TOO_LONG_PHRASES = ("prompt is too long", "exceed context limit", "request_too_large")


class Block(BaseModel):
    """A content block of an answer; thinking blocks have a type of their own."""

    type: str
    text: str = ""


class Usage(BaseModel):
    """Token usage of a request; `input_tokens` excludes tokens written to or read from the prompt cache."""

    input_tokens: int = Field(0, ge=0, le=LARGEST_COUNT)
    output_tokens: int = Field(0, ge=0, le=LARGEST_COUNT)
    cache_creation_input_tokens: int | None = Field(None, ge=0, le=LARGEST_COUNT)
    cache_read_input_tokens: int | None = Field(None, ge=0, le=LARGEST_COUNT)

    @property
    def used(self) -> Used:
        cached = self.cache_read_input_tokens or 0
        return Used(self.input_tokens + cached + (self.cache_creation_input_tokens or 0), self.output_tokens, cached)


class Reply(BaseModel):
    model: str
    content: list[Block]
    stop_reason: str | None = None
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")


class AnthropicAdapter(RemoteAdapter):
    tokens_of_image = staticmethod(by_patches)

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = AnthropicSettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[ClipOpener]:
        sender = AsyncClient()
        sender.seconds = self._settings.timeout_s
        client = AsyncAnthropic(
            http_client=sender,
            base_url=self._settings.url,
            api_key=self._key,
            timeout=self._settings.timeout_s,
            max_retries=0,  # `Calls` retries and accounts for each attempt
        )
        async with client:
            self._client, self._calls = client, self.calls(failure_of_anthropic)
            yield self._open

    def _open(self, pending: Due, frames: EncodedFrames | None, seconds: dict[str, float]) -> OpenedClip:
        visual = b"".join(image.join(IMAGE) for image in frames.images) if frames else b""
        return OpenedClip(partial(self._answer, visual, frames.shown if frames else None), len(visual), seconds)

    async def _answer(self, visual: bytes, shown: Shown | None, request: Request) -> Answer:
        tokens = self._settings.max_tokens or request.max_tokens
        send = prepare_post(self._client, "/v1/messages", self._body(request, tokens, visual))
        reply = await self._calls.call(request, shown, tokens, send, partial(read_usage, Reply), self._read)
        return answer_of(reply, shown.frames if shown else 0)

    def _read(self, response: httpx2.Response) -> Reply:
        reply = read_reply(Reply, response.content, self._settings, "message")
        check_message(reply)
        return reply

    def _body(self, request: Request, tokens: int, visual: bytes) -> bytes:
        """Return the body of a request, with the encoded frames inserted as bytes, since they take megabytes."""
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
        lead_block = json.dumps({"type": "text", "text": lead}).encode() + b"," if lead else b""
        text_block = json.dumps({"type": "text", "text": text}).encode()
        start = json.dumps(fields)[:-1].encode()
        return b"".join([start, b',"messages":[{"role":"user","content":[', lead_block, visual, text_block, b"]}]}"])


def check_message(reply: Reply) -> None:
    """Refuse a reply without an answer, or with an incomplete one."""
    reason = f"stop_reason: {reply.stop_reason}"
    if reply.stop_reason == "refusal":
        raise AnswerError("refused", reply.text or reason)
    if reply.stop_reason == "model_context_window_exceeded":
        raise AnswerError("beyond_context", reason)
    check_end("stop_reason", reply.stop_reason, COMPLETE_REASONS)
    if any(block.type.endswith("tool_use") for block in reply.content):
        raise AnswerError("unfinished", "the model calls a tool, though the request offers none")


def answer_of(reply: Reply, frames: int) -> Answer:
    """Return the answer in a reply, without the thoughts before it."""
    text = reply.text
    if not text.strip():
        raise empty_answer_error(f"stop_reason: {reply.stop_reason}", is_truncated=reply.stop_reason == "max_tokens")
    used = reply.usage.used
    return Answer(
        text=text,
        frames_shown=frames,
        tokens_in=used.input,
        tokens_out=used.output,
        served=reply.model,
        tokens_cached=used.cached,
    )


def failure_of_anthropic(error: BaseException, settings: AnthropicSettings) -> Failure | None:
    """Classify an error of the SDK; return None for an error of any other kind."""
    if isinstance(error, APITimeoutError):
        return timeout_failure(settings)
    if isinstance(error, APIConnectionError):
        return connection_failure(error, settings, is_protocol=isinstance(error.__cause__, httpx2.ProtocolError))
    if not isinstance(error, ErrorReply):
        return None
    text = f"{' '.join(error.codes)} {error.message}".lower()
    status = PAYMENT_REQUIRED if any(phrase in text for phrase in NO_CREDIT_PHRASES) else None
    return of_status(error, settings, status=status, is_too_long=any(phrase in text for phrase in TOO_LONG_PHRASES))
