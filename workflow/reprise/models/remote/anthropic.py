"""Query Anthropic's models with the Messages API, which receives frames as lossless images."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
from anthropic import APIConnectionError, APITimeoutError, AsyncAnthropic
from pydantic import BaseModel, Field

from reprise.models.base import Answer, AnswerError, ModelSpec, PendingRequests, Request
from reprise.models.inference.money.calls import ApiFailure
from reprise.models.inference.money.limits import FrameShape, count_anthropic_tokens
from reprise.models.inference.money.prices import MAX_COUNT, TokenUsage
from reprise.models.remote.adapter import (
    PAYMENT_REQUIRED,
    AsyncClient,
    ClipOpener,
    RemoteAdapter,
    check_finish_reason,
    classify_status,
    connection_failure,
    empty_answer_error,
    parse_reply,
    prepare_post,
    read_usage,
    timeout_failure,
)
from reprise.models.remote.dispatch import OpenClip
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images_preparer import EncodedFrames
from reprise.models.remote.settings import AnthropicSettings

# Start and end of a content part: `image.join(IMAGE_TEMPLATE)` puts an image between them.
IMAGE_TEMPLATE = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"', b'"}},'
# Phrases in errors that mean that the account has no credit.
NO_CREDIT_PHRASES = ("billing_error", "credit balance")
COMPLETE_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens"})
TOO_LONG_PHRASES = ("prompt is too long", "exceed context limit", "request_too_large")


class ContentBlock(BaseModel):
    """A content block of an answer; a thinking block has another type than a text block."""

    type: str
    text: str = ""


class AnthropicUsage(BaseModel):
    """Token usage of a request; `input_tokens` excludes tokens written to or read from the prompt cache."""

    input_tokens: int = Field(0, ge=0, le=MAX_COUNT)
    output_tokens: int = Field(0, ge=0, le=MAX_COUNT)
    cache_creation_input_tokens: int | None = Field(None, ge=0, le=MAX_COUNT)
    cache_read_input_tokens: int | None = Field(None, ge=0, le=MAX_COUNT)

    @property
    def token_usage(self) -> TokenUsage:
        cached = self.cache_read_input_tokens or 0
        return TokenUsage(
            self.input_tokens + cached + (self.cache_creation_input_tokens or 0), self.output_tokens, cached
        )


class MessageResponse(BaseModel):
    """A reply of the Messages API."""

    model: str
    content: list[ContentBlock]
    stop_reason: str | None = None
    usage: AnthropicUsage = AnthropicUsage()

    @property
    def text(self) -> str:
        """Return the text of the answer, without thoughts."""
        return "".join(block.text for block in self.content if block.type == "text")


class AnthropicAdapter(RemoteAdapter):
    """A model at Anthropic's API."""

    image_token_formula = staticmethod(count_anthropic_tokens)

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = AnthropicSettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClipOpener]:
        sender = AsyncClient()
        sender.deadline_s = self._settings.timeout_s
        client = AsyncAnthropic(
            http_client=sender,
            base_url=self._settings.url,
            api_key=self._key,
            timeout=self._settings.timeout_s,
            max_retries=0,  # ApiCaller retries and accounts for each attempt
        )
        async with client:
            self._client, self._api_caller = client, self.create_api_caller(classify_anthropic_error)
            yield self._open_clip

    def _open_clip(
        self, pending: PendingRequests, frames: EncodedFrames | None, step_seconds: dict[str, float]
    ) -> OpenClip:
        frames_content = b"".join(image.join(IMAGE_TEMPLATE) for image in frames.images) if frames else b""
        return OpenClip(
            partial(self._answer, frames_content, frames.shape if frames else None), len(frames_content), step_seconds
        )

    async def _answer(self, frames_content: bytes, frame_shape: FrameShape | None, request: Request) -> Answer:
        max_answer_tokens = self._settings.max_tokens or request.max_tokens
        send = prepare_post(self._client, "/v1/messages", self._build_body(request, max_answer_tokens, frames_content))
        get_usage = partial(read_usage, MessageResponse)
        reply = await self._api_caller.call(request, frame_shape, max_answer_tokens, send, get_usage, self._parse_reply)
        return parse_answer(reply, frame_shape.frame_count if frame_shape else 0)

    def _parse_reply(self, response: httpx2.Response) -> MessageResponse:
        reply = parse_reply(MessageResponse, response.content, self._settings, "message")
        check_message(reply)
        return reply

    def _build_body(self, request: Request, max_answer_tokens: int, frames_content: bytes) -> bytes:
        """Return the body of a request; the encoded frames are inserted as bytes, because they take megabytes."""
        settings = self._settings
        fields: dict[str, Any] = {"model": settings.model, "max_tokens": max_answer_tokens}
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
        lead, text = request.split_prompt() if frames_content else ("", request.prompt)
        lead_block = json.dumps({"type": "text", "text": lead}).encode() + b"," if lead else b""
        text_block = json.dumps({"type": "text", "text": text}).encode()
        start = json.dumps(fields)[:-1].encode()  # without the closing brace
        return b"".join(
            [start, b',"messages":[{"role":"user","content":[', lead_block, frames_content, text_block, b"]}]}"]
        )


def check_message(reply: MessageResponse) -> None:
    """Reject a reply whose answer is missing or incomplete."""
    reason = f"stop_reason: {reply.stop_reason}"
    if reply.stop_reason == "refusal":
        raise AnswerError("refused", reply.text or reason)
    if reply.stop_reason == "model_context_window_exceeded":
        raise AnswerError("beyond_context", reason)
    check_finish_reason("stop_reason", reply.stop_reason, COMPLETE_REASONS)
    if any(block.type.endswith("tool_use") for block in reply.content):
        raise AnswerError("unfinished", "the model calls a tool, although the request offers none")


def parse_answer(reply: MessageResponse, frame_count: int) -> Answer:
    """Return the answer in a reply, without the thoughts before it."""
    text = reply.text
    if not text.strip():
        raise empty_answer_error(f"stop_reason: {reply.stop_reason}", is_truncated=reply.stop_reason == "max_tokens")
    usage = reply.usage.token_usage
    return Answer(
        text=text,
        frames_shown=frame_count,
        tokens_in=usage.input,
        tokens_out=usage.output,
        served_model=reply.model,
        tokens_cached=usage.cached,
    )


def classify_anthropic_error(error: BaseException, settings: AnthropicSettings) -> ApiFailure | None:
    """Classify an error of the SDK; return None for an error of any other kind."""
    if isinstance(error, APITimeoutError):
        return timeout_failure(settings)
    if isinstance(error, APIConnectionError):
        return connection_failure(error, settings, is_protocol_error=isinstance(error.__cause__, httpx2.ProtocolError))
    if not isinstance(error, ErrorReply):
        return None
    text = f"{' '.join(error.codes)} {error.message}".lower()
    status = PAYMENT_REQUIRED if any(phrase in text for phrase in NO_CREDIT_PHRASES) else None
    return classify_status(
        error, settings, status=status, is_too_long=any(phrase in text for phrase in TOO_LONG_PHRASES)
    )
