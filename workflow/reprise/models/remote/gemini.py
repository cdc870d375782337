"""Query Gemini models, which receive frames as lossless images or the whole clip as an uploaded file."""

import asyncio
import math
import re
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from uuid import uuid4

import httpx2
from google.genai import Client, types

from reprise.core.log import log
from reprise.core.plain import sanitize_line
from reprise.media.probe import read_packet_index
from reprise.models.base import Answer, AnswerError, BrokenReplyError, ClipFrames, ModelSpec, PendingRequests, Request
from reprise.models.inference.money.calls import ApiFailure
from reprise.models.inference.money.limits import FrameShape, estimate_max_gemini_tokens
from reprise.models.inference.money.prices import MAX_COUNT, TokenUsage
from reprise.models.remote.adapter import (
    PAYMENT_REQUIRED,
    AsyncClient,
    ClipOpener,
    RemoteAdapter,
    check_finish_reason,
    check_model,
    classify_status,
    connection_failure,
    empty_answer_error,
    timeout_failure,
)
from reprise.models.remote.dispatch import OpenClip
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images_preparer import EncodedFrames
from reprise.models.remote.settings import GeminiSettings

# Finish reasons of answers that a content filter blocked.
FILTER_REASONS = {
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION", "MODEL_ARMOR",
}  # fmt: skip
# Finish reasons of complete answers, in lower case.
COMPLETE_REASONS = frozenset({"stop", "max_tokens"})
# Status -> phrases in errors that mean this status, although their HTTP status is another.
STATUS_PHRASES = (
    (401, ("API_KEY_INVALID", "API key not valid", "API key expired")),
    (403, ("location is not supported",)),
    (PAYMENT_REQUIRED, ("PerDay", "credits are depleted", "billing account")),
)
TOO_LONG_PHRASES = ("exceeds the maximum number of tokens", "input token count")
RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"([0-9]+(?:\.[0-9]+)?)s"')
# The first and the longest interval between checks whether an uploaded file is ready.
INITIAL_POLL_S, MAX_POLL_S = 0.1, 5.0


def read_usage(reply: types.GenerateContentResponse) -> TokenUsage | None:
    """Return the token usage that a reply reports; thoughts are billed like answers."""
    metadata = reply.usage_metadata
    if metadata is None or metadata.prompt_token_count is None:
        return None
    output_tokens = (metadata.candidates_token_count or 0) + (metadata.thoughts_token_count or 0)
    usage = TokenUsage(metadata.prompt_token_count, output_tokens, metadata.cached_content_token_count or 0)
    is_plausible = all(0 <= count <= MAX_COUNT for count in usage) and usage.cached <= usage.input
    return usage if is_plausible else None


def check_reply(reply: types.GenerateContentResponse, settings: GeminiSettings) -> types.GenerateContentResponse:
    """Reject a reply unless it contains a complete answer from the configured model."""
    block_reason = reply.prompt_feedback and reply.prompt_feedback.block_reason
    if not reply.candidates and not block_reason:
        raise BrokenReplyError("malformed", "invalid reply of generateContent: candidates: missing")
    check_model(get_served_model(reply), settings)
    if block_reason:
        raise AnswerError("content_filter", f"the prompt was blocked: {block_reason}")
    if len(reply.candidates) > 1:
        raise AnswerError(
            "malformed", f"invalid reply of generateContent: {len(reply.candidates)} candidates instead of 1"
        )
    reason = get_finish_reason(reply)
    if reason in FILTER_REASONS:
        raise AnswerError("content_filter", f"finish_reason: {reason}")
    check_finish_reason("finish_reason", reason, COMPLETE_REASONS)
    content = reply.candidates[0].content
    if any(part.function_call for part in (content and content.parts) or ()):
        raise AnswerError("unfinished", "the model calls a function, although the request offers none")
    return reply


def get_served_model(reply: types.GenerateContentResponse) -> str:
    """Return the id of the model that answered."""
    return (reply.model_version or "").removeprefix("models/")


def get_finish_reason(reply: types.GenerateContentResponse) -> str:
    """Return the finish reason of the answer, such as `STOP`; empty if there is none."""
    reason = reply.candidates[0].finish_reason
    return str(reason.value) if reason else ""


def parse_answer(reply: types.GenerateContentResponse, frame_count: int) -> Answer:
    """Return the answer in a reply, without its thoughts."""
    content, reason = reply.candidates[0].content, get_finish_reason(reply)
    parts = (content.parts if content else None) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    if not text.strip():
        raise empty_answer_error(f"finish_reason: {reason}", is_truncated=reason == "MAX_TOKENS")
    usage = read_usage(reply) or TokenUsage(0, 0)
    return Answer(
        text=text,
        frames_shown=frame_count,
        tokens_in=usage.input,
        tokens_out=usage.output,
        served_model=get_served_model(reply),
        tokens_cached=usage.cached,
    )


def classify_gemini_error(error: BaseException, settings: GeminiSettings) -> ApiFailure | None:
    """Classify an error of the SDK; return None for an error of any other kind."""
    if isinstance(error, httpx2.TimeoutException):
        return timeout_failure(settings)
    if isinstance(error, httpx2.TransportError):
        return connection_failure(error, settings, is_protocol_error=isinstance(error, httpx2.ProtocolError))
    if not isinstance(error, ErrorReply):
        # The SDK raises these errors if the JSON of a reply has an unexpected form. The reply was billed.
        is_malformed = isinstance(error, ValueError | KeyError | TypeError | AttributeError)
        malformed = AnswerError("malformed", f"{type(error).__name__}: {sanitize_line(str(error))}")
        return ApiFailure(malformed, is_free=False) if is_malformed else None
    status = next((code for code, phrases in STATUS_PHRASES if any(phrase in error.text for phrase in phrases)), None)
    is_too_long = any(phrase in error.message for phrase in TOO_LONG_PHRASES)
    failure = classify_status(error, settings, status=status, is_too_long=is_too_long)
    # Gemini writes the delay before a retry in the body, not in a header.
    delay = RETRY_DELAY.search(error.text)
    return replace(failure, wait_s=float(delay[1])) if failure.wait_s is None and delay else failure


class GeminiAdapter(RemoteAdapter):
    """A Gemini model at Google's Gemini API."""

    image_token_formula = staticmethod(estimate_max_gemini_tokens)

    def __init__(self, spec: ModelSpec) -> None:
        self.settings = GeminiSettings.model_validate(spec.settings)
        self.should_upload_clips = self.settings.frames == "video"
        super().__init__(spec, self.settings)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClipOpener]:
        settings = self.settings
        # Without this client, the SDK would use aiohttp if it is installed, and would retry requests itself.
        sender = AsyncClient()
        sender.deadline_s = max(settings.timeout_s, settings.upload_s if self.should_upload_clips else 0)
        options = types.HttpOptions(
            httpx_async_client=sender,
            base_url=settings.url,
            api_version="v1beta",
            timeout=int(1000 * settings.timeout_s),
            retry_options=types.HttpRetryOptions(attempts=1),  # ApiCaller retries and accounts for each attempt
        )
        async with sender, Client(vertexai=False, api_key=self._key, http_options=options).aio as client:
            self.client, self.api_caller = client, self.create_api_caller(classify_gemini_error)
            yield self._open_clip

    def _open_clip(
        self, pending: PendingRequests, frames: EncodedFrames | None, step_seconds: dict[str, float]
    ) -> OpenClip:
        if self.should_upload_clips and pending.clip.path is not None and pending.clip.indices:
            video = UploadedClip(self, pending.clip, pending.clip.path, step_seconds)
            return OpenClip(video.answer, 0, step_seconds, video.close)
        images = [b64decode(image) for image in frames.images] if frames else []
        frame_parts = [types.Part.from_bytes(data=image, mime_type="image/png") for image in images]
        answer = partial(self.send_request, frame_parts, frames.shape if frames else None)
        return OpenClip(answer, sum(map(len, images)), step_seconds)

    async def send_request(
        self, frame_parts: list[types.Part], frame_shape: FrameShape | None, request: Request
    ) -> Answer:
        """Send one request about the clip in `frame_parts` and return the answer."""
        settings = self.settings
        max_answer_tokens = settings.max_tokens or request.max_tokens
        lead, text = request.split_prompt() if frame_parts else ("", request.prompt)
        lead_parts = [types.Part(text=lead)] if lead else []
        contents = [types.Content(role="user", parts=[*lead_parts, *frame_parts, types.Part(text=text)])]
        send: Callable[[], Awaitable[types.GenerateContentResponse]] = partial(
            self.client.models.generate_content,
            model=settings.model,
            contents=contents,
            config=build_config(request, max_answer_tokens, settings),
        )
        parse_reply = partial(check_reply, settings=settings)
        reply = await self.api_caller.call(request, frame_shape, max_answer_tokens, send, read_usage, parse_reply)
        return parse_answer(reply, frame_shape.frame_count if frame_shape else 0)


class UploadedClip:
    """A clip that is uploaded before its first request and deleted after its last one."""

    def __init__(self, gemini: GeminiAdapter, clip: ClipFrames, path: Path, step_seconds: dict[str, float]) -> None:
        self._gemini, self._clip, self._path, self._step_seconds = gemini, clip, path, step_seconds
        self._file_names: list[str] = []
        """names of uploaded files, one for each attempt, which the vendor may have stored"""
        self._frame_parts: list[types.Part] = []
        self._frame_shape: FrameShape | None = None
        self._error: AnswerError | None = None

    async def answer(self, request: Request) -> Answer:
        """Send a request; the first one, which is sent alone, uploads the clip."""
        if self._error is not None:
            raise self._error
        if not self._frame_parts:
            try:
                await self._upload()
            except AnswerError as error:
                self._error = error
                raise
        return await self._gemini.send_request(self._frame_parts, self._frame_shape, request)

    async def close(self) -> None:
        """Delete the uploaded files, even after a failure."""
        for name in self._file_names:
            try:
                await self._gemini.client.files.delete(name=f"files/{name}")
            except Exception as error:  # a failed upload may have left no file
                log.warning(
                    f"files/{name} could not be deleted; the vendor deletes it after two days: "
                    f"{sanitize_line(str(error))}"
                )

    async def _upload(self) -> None:
        """Upload the clip's file and wait until the vendor has processed it."""
        start, wait_s, settings = time.monotonic(), INITIAL_POLL_S, self._gemini.settings
        planned_count, packets = len(self._clip.indices), await asyncio.to_thread(read_packet_index, self._path)
        sampled_count = max(1, math.ceil(packets.duration_s * settings.fps))
        if abs(sampled_count - planned_count) > 1:
            raise AnswerError(
                "not_shown",
                f"not sent: at settings.fps {settings.fps:g} the vendor samples {sampled_count} frames of the "
                f"uploaded file, but the run's sampling selects {planned_count}. Use a sampling with the same frame "
                "rate, or `frames: images`",
            )
        api_caller, files = self._gemini.api_caller, self._gemini.client.files

        async def upload_once() -> types.File:
            name = f"reprise-{uuid4().hex[:24]}"
            self._file_names.append(name)
            config = types.UploadFileConfig(name=name, mime_type=guess_type(self._path.name)[0] or "video/mp4")
            file: types.File = await files.upload(file=self._path, config=config)
            return file

        file = await api_caller.call_free(upload_once)
        upload_end = time.monotonic()
        while file.state != types.FileState.ACTIVE:
            if file.state == types.FileState.FAILED:
                reason = sanitize_line(str(file.error.message if file.error else "")) or "no reason given"
                raise AnswerError("bad_request", f"the vendor cannot process the uploaded clip: {reason}")
            if time.monotonic() - upload_end > settings.upload_s:
                raise AnswerError("timeout", f"the uploaded clip is not ready after {settings.upload_s:g} s")
            await asyncio.sleep(wait_s)
            wait_s = min(MAX_POLL_S, 2 * wait_s)
            get_file: Callable[[], Awaitable[types.File]] = partial(files.get, name=file.name)
            file = await api_caller.call_free(get_file)
        data = types.FileData(file_uri=file.uri, mime_type=file.mime_type)
        self._frame_parts = [types.Part(file_data=data, video_metadata=types.VideoMetadata(fps=settings.fps))]
        self._frame_shape = FrameShape(sampled_count, 0, 0)  # The vendor chooses the size of the frames.
        self._step_seconds["waiting"] = time.monotonic() - start


def build_config(request: Request, max_answer_tokens: int, settings: GeminiSettings) -> types.GenerateContentConfig:
    """Return the generation settings of a request."""
    thinking = None
    if isinstance(settings.thinking, int):
        thinking = types.ThinkingConfig(thinking_budget=settings.thinking)
    elif settings.thinking is not None:
        thinking = types.ThinkingConfig(thinking_level=types.ThinkingLevel(settings.thinking.upper()))
    resolution = settings.resolution and types.MediaResolution(f"MEDIA_RESOLUTION_{settings.resolution.upper()}")
    return types.GenerateContentConfig(
        system_instruction=request.system or None,
        temperature=settings.temperature,
        max_output_tokens=max_answer_tokens,
        thinking_config=thinking,
        media_resolution=resolution,
    )
