"""Adapter for the models of Anthropic, by its Messages interface; frames are sent as lossless images."""

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
    RemoteAdapter,
    Show,
    broken,
    check_end,
    no_words,
    of_status,
    posting,
    read_reply,
    timed_out,
    used_in,
)
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images import Encoded
from reprise.models.remote.sending import Opened
from reprise.models.remote.settings import AnthropicSettings

IMAGE = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"', b'"}},'
NO_CREDIT = ("billing_error", "credit balance")
WHOLE = frozenset({"end_turn", "stop_sequence", "max_tokens"})
TOO_LONG = ("prompt is too long", "exceed context limit", "request_too_large")


class Block(BaseModel):
    """A part of an answer; thoughts have another type."""

    type: str
    text: str = ""


class Usage(BaseModel):
    """What a request took. Tokens that were read into a cache, or from it, are counted apart."""

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
    def words(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")


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
        reply = await self._calls.call(request, shown, tokens, send, partial(used_in, Reply), self._read)
        return answer_of(reply, shown.frames if shown else 0)

    def _read(self, response: httpx2.Response) -> Reply:
        reply = read_reply(Reply, response.content, self._settings, "message")
        check_message(reply)
        return reply

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


def check_message(reply: Reply) -> None:
    """Refuse what is no answer, or part of one."""
    reason = f"stop_reason: {reply.stop_reason}"
    if reply.stop_reason == "refusal":
        raise AnswerError("refused", reply.words or reason)
    if reply.stop_reason == "model_context_window_exceeded":
        raise AnswerError("beyond_context", reason)
    check_end("stop_reason", reply.stop_reason, WHOLE)
    if any(block.type.endswith("tool_use") for block in reply.content):
        raise AnswerError("unfinished", "the model calls a tool, though the request offers none")


def answer_of(reply: Reply, frames: int) -> Answer:
    """The answer in a reply, without what the model thought before it."""
    text = reply.words
    if not text.strip():
        raise no_words(f"stop_reason: {reply.stop_reason}", is_cut=reply.stop_reason == "max_tokens")
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
    """What an error of the SDK means for the question, or for the job; none for an error of another kind."""
    if isinstance(error, APITimeoutError):
        return timed_out(settings)
    if isinstance(error, APIConnectionError):
        return broken(error, settings, is_protocol=isinstance(error.__cause__, httpx2.ProtocolError))
    if not isinstance(error, ErrorReply):
        return None
    in_words = f"{' '.join(error.codes)} {error.message}".lower()
    status = PAYMENT_REQUIRED if any(words in in_words for words in NO_CREDIT) else None
    return of_status(error, settings, status=status, is_too_long=any(words in in_words for words in TOO_LONG))
