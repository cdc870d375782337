"""Query servers and vendors with OpenAI's chat completions API."""

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import httpx2
from aiohttp import ClientResponseError
from openai import AsyncOpenAI, DefaultAioHttpClient, Omit, OpenAIError
from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.plain import sanitize_line
from reprise.models.base import Answer, AnswerError, ModelSpec, PendingRequests, ReplyError, Request
from reprise.models.inference.money.limits import FrameShape
from reprise.models.options import PROTOCOL_ADVICE, reject_shared_token
from reprise.models.remote.adapter import (
    BoundedClient,
    ClipOpener,
    RemoteAdapter,
    parse_reply,
    prepare_post,
    read_usage,
)
from reprise.models.remote.dispatch import OpenClip
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images_preparer import EncodedFrames
from reprise.models.remote.openai_replies import ChatCompletion, check_choice, classify_openai_error, parse_answer
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import has_open_thought

# Start and end of a content part: `image.join(IMAGE_TEMPLATE)` puts an image between them.
IMAGE_TEMPLATE = b'{"type":"image_url","image_url":{"url":"data:image/png;base64,', b'"'
# The MIME type of a list of frames, which does not depend on their format, because the server detects it.
VIDEO_TEMPLATE = b'{"type":"video_url","video_url":{"url":"data:video/jpeg;base64,', b'"}'
# Parts without content, which the server has cached under the part's id.
CACHED_IMAGE, CACHED_VIDEO = b'{"type":"image_url","image_url":null', b'{"type":"video_url","video_url":null'
# Characters with which tokenizers write spaces and line ends.
SPACE_CHARACTERS = "\u0120\u010a\u2581 \n"
# The probe omits two frames, because a server that merges pairs of frames may count the same tokens for one less.
PROBE_OMITTED_FRAMES = 2
# Errors with which a server may report that it no longer has the frames of an id in its cache.
DROPPED_FRAMES_ERRORS = ("bad_request", "server_error")
# The token limit of a probe, which serves only to count prompt tokens; some models reject a limit of one token.
PROBE_TOKENS = 16
# In these headers of every request, the SDK would describe itself and this machine, which no server needs.
SDK_HEADERS = (
    "Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async", "Retry-Count", "Read-Timeout",
)  # fmt: skip


class AiohttpClient(BoundedClient, DefaultAioHttpClient):  # type: ignore[misc]
    """A client that sends requests with aiohttp, which needs less CPU time than httpx (bench/serving.py)."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, stream=stream, **options)
        except ClientResponseError as error:  # the reply is invalid HTTP
            raise httpx2.RemoteProtocolError(str(error), request=request) from error


class RequestBuilder:
    """Build the requests about one clip, which all contain the same frames."""

    def __init__(self, settings: OpenAISettings, encoded: EncodedFrames | None) -> None:
        self._settings, self._encoded = settings, encoded
        self.frame_count = len(encoded.images) if encoded else 0
        # Each clip gets a random id, because vLLM does not check that an id still belongs to the same frames.
        self._frames_id = secrets.token_hex(16).encode() if settings.frames_once else b""
        self.frames_content = self._encode_visuals(self.frame_count)

    def build_request(
        self,
        request: Request,
        max_answer_tokens: int,
        option_tokens: Sequence[int] = (),
        *,
        frame_count: int | None = None,
        is_cached: bool = False,
    ) -> bytes:
        """Return the body of a request.

        Args:
            option_tokens: Tokens whose probabilities the server should return.
            frame_count: Number of the clip's first frames to send; by default all.
            is_cached: Whether to send only the ids of the frames, because the server has cached them.
        """
        settings, sent_frame_count = self._settings, self.frame_count if frame_count is None else frame_count
        fields = settings.body | {settings.max_tokens_field: max_answer_tokens, "model": settings.model}
        if option_tokens:
            fields |= {"logprobs": True, "logprob_token_ids": list(option_tokens), "return_tokens_as_token_ids": True}
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if self._encoded is not None and sent_frame_count and settings.frames == "video":
            # The server needs the times of the frames; -1 tells the server to use all frames.
            video = {
                "num_frames": -1,
                "fps": self._encoded.fps,
                "frames_indices": list(self._encoded.frame_indices[:sent_frame_count]),
                "total_num_frames": self._encoded.total_frames,
                "duration": self._encoded.total_frames / self._encoded.fps,
            }
            fields["media_io_kwargs"] = {"video": video}
        system = _encode_json({"role": "system", "content": request.system}) + b"," if request.system else b""
        content = _encode_json(request.prompt)
        if frames_content := self._select_visuals(frame_count, is_cached=is_cached):
            lead, text = request.split_prompt()
            lead_part = _encode_json({"type": "text", "text": lead}) + b"," if lead else b""
            content = b"".join([b"[", lead_part, frames_content, _encode_json({"type": "text", "text": text}), b"]"])
        start = _encode_json(fields)[:-1]  # without the closing brace
        return b"".join([start, b',"messages":[', system, b'{"role":"user","content":', content, b"}]}"])

    def _select_visuals(self, frame_count: int | None, *, is_cached: bool) -> bytes:
        """Return the content parts with the frames, or only with their ids if the server has cached them."""
        if is_cached:
            part_start, count = (
                (CACHED_VIDEO, 1) if self._settings.frames == "video" else (CACHED_IMAGE, self.frame_count)
            )
            return b"".join(part_start + self._encode_part_end(index) for index in range(count))
        return self.frames_content if frame_count is None else self._encode_visuals(frame_count)

    def _encode_visuals(self, frame_count: int) -> bytes:
        """Return the content parts with the first frames of the clip."""
        images = self._encoded.images[:frame_count] if self._encoded else ()
        has_ids = frame_count == self.frame_count  # The fewer frames of a probe must not be cached as the clip's.
        if self._settings.frames == "video" and images:
            return b",".join(images).join(VIDEO_TEMPLATE) + self._encode_part_end(0, has_id=has_ids)
        detail = self._settings.detail
        image_end = (b',"detail":' + _encode_json(detail) if detail else b"") + b"}"
        return b"".join(
            image.join(IMAGE_TEMPLATE) + image_end + self._encode_part_end(index, has_id=has_ids)
            for index, image in enumerate(images)
        )

    def _encode_part_end(self, index: int, *, has_id: bool = True) -> bytes:
        """Return the end of a content part, with its id if the server caches frames."""
        return (b',"uuid":"%b-%d"' % (self._frames_id, index) if self._frames_id and has_id else b"") + b"},"


def _encode_json(value: Any) -> bytes:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


class EndpointReply(BaseModel):
    """Reply of the endpoint `/v1/models`, or of vLLM's additional endpoints `/version` and `/tokenize`."""

    data: list[dict[str, Any]] = []
    version: str = ""
    token_strs: list[str] | None = None  # null unless requested
    tokens: list[int] = []


class OpenAIAdapter(RemoteAdapter):
    """A model at a server of chat completions; later calls reuse the results of checks of the server."""

    def __init__(self, spec: ModelSpec) -> None:
        self.settings = OpenAISettings.model_validate(spec.settings)
        super().__init__(spec, self.settings)
        self._server_root = self.settings.url.rstrip("/").removesuffix("/v1")
        self._is_checked = False
        self._option_tokens = dict(self.settings.option_tokens)
        self.verified_frame_count = 0
        """largest number of frames that reached the model according to token counts"""
        self.opens_thought = False
        """whether answers begin with a thought that the server does not remove"""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClipOpener]:
        """Connect with the SDK's client, which sends no secret but the configured key."""
        sender = AiohttpClient()
        sender.deadline_s = self.settings.timeout_s
        client = AsyncOpenAI(
            base_url=self.settings.url,
            api_key=self._key,
            default_headers={"Authorization": f"Bearer {self._key}"}
            | {f"X-Stainless-{name}": Omit() for name in SDK_HEADERS},
            timeout=self.settings.timeout_s,
            max_retries=0,  # ApiCaller retries and accounts for each attempt
            http_client=sender,
        )
        client.organization = client.project = client.admin_api_key = None
        async with client:
            self._client, self._api_caller = client, self.create_api_caller(classify_openai_error)
            self.lock = asyncio.Lock()
            # A server with a key belongs to a vendor, whose list of models may not match those of the account.
            if not self._is_checked and self.settings.key is None:
                await self._check_identity()
            if not self._is_checked and not self._is_paid:
                self.opens_thought = await self._template_opens_thought()
            self._is_checked = True
            yield self._open_clip

    def _open_clip(
        self, pending: PendingRequests, frames: EncodedFrames | None, step_seconds: dict[str, float]
    ) -> OpenClip:
        builder = RequestBuilder(self.settings, frames)
        session = ClipSession(self, builder, frames.shape if frames else None)
        return OpenClip(session.answer, len(builder.frames_content), step_seconds)

    async def _check_identity(self) -> None:
        """Raise a UserError if the server reports another model or version than the model's file.

        A server that reports neither passes the check.
        """
        settings = self.settings
        model_ids = [str(model.get("id")) for model in (await self._fetch_metadata("get", "/models")).data]
        if model_ids and settings.model not in model_ids:
            raise UserError(
                f"{settings.url}: the server serves {', '.join(map(sanitize_line, model_ids[:5]))}, not "
                f"'{settings.model}'. Start it with that model (vLLM: --served-model-name), or correct "
                "`settings.model` or `settings.url` in the model's file."
            )
        version = sanitize_line((await self._fetch_metadata("get", f"{self._server_root}/version")).version)
        if settings.version is not None and version != settings.version:
            raise UserError(
                f"{settings.url}: the server reports version '{version}', not '{settings.version}'. Start that "
                "version, or correct `settings.version` in the model's file."
            )
        listing = ", ".join(map(sanitize_line, model_ids)) or "unnamed models"
        log.info(f"{settings.url}: version {version or 'unknown'}, serves {listing}")

    async def _template_opens_thought(self) -> bool:
        """Return whether the server's chat template opens every answer with a thought; False if unknown."""
        body: dict[str, object] = {
            "model": self.settings.model, "messages": [{"role": "user", "content": "A question."}],
            "add_generation_prompt": True, "return_token_strs": True,
        }  # fmt: skip
        if "chat_template_kwargs" in self.settings.body:
            body["chat_template_kwargs"] = self.settings.body["chat_template_kwargs"]
        reply = await self._fetch_metadata("post", f"{self._server_root}/tokenize", body=body)
        return has_open_thought("".join(reply.token_strs or ()).rstrip(SPACE_CHARACTERS))

    async def _fetch_metadata(self, method: str, path: str, **options: Any) -> EndpointReply:
        """Return the reply of an optional endpoint; empty after an error, because later requests will report it."""
        try:
            call = getattr(self._client.with_options(max_retries=0, timeout=10.0), method)
            return EndpointReply.model_validate_json((await call(path, cast_to=httpx2.Response, **options)).content)
        except (OpenAIError, ReplyError, ErrorReply, ValidationError):
            return EndpointReply()

    async def complete(
        self,
        body: bytes,
        request: Request,
        frame_shape: FrameShape | None,
        max_answer_tokens: int,
        *,
        must_be_complete: bool = True,
    ) -> ChatCompletion:
        """Send a request and return the reply.

        Args:
            must_be_complete: Whether to reject an incomplete answer; False for a probe, which counts prompt tokens.
        """

        def parse(response: httpx2.Response) -> ChatCompletion:
            reply = parse_reply(ChatCompletion, response.content, self.settings, "chat completion")
            if must_be_complete:
                check_choice(reply.choices[0])
            return reply

        send = prepare_post(self._client, "/chat/completions", body)
        return await self._api_caller.call(
            request, frame_shape, max_answer_tokens, send, partial(read_usage, ChatCompletion), parse
        )

    async def resolve_option_tokens(self, options: Sequence[str]) -> tuple[int, ...]:
        """Return the single token of each option, according to the server's tokenizer."""
        if self.settings.scores is None:
            raise UserError(
                "settings.scores of the model's file: this server returns no exact probabilities, which scores need. "
                f"{PROTOCOL_ADVICE}"
            )
        async with nullcontext() if set(options) <= self._option_tokens.keys() else self.lock:
            for option in options:
                if option not in self._option_tokens:
                    self._option_tokens[option] = await self._fetch_option_token(option)
        tokens = {option: self._option_tokens[option] for option in options}
        reject_shared_token(f"{self._server_root}/tokenize", tokens)
        return tuple(tokens.values())

    async def _fetch_option_token(self, option: str) -> int:
        """Ask the server's tokenizer for an option's token; raise a UserError unless it is a single one."""
        url = f"{self._server_root}/tokenize"
        body = json.dumps({"model": self.settings.model, "prompt": option, "add_special_tokens": False})
        try:
            response = await self._api_caller.call_free(prepare_post(self._client, url, body.encode()))
            tokens = EndpointReply.model_validate_json(response.content).tokens
        except (ValidationError, UserError, ReplyError) as error:
            raise UserError(
                f"{url}: no tokens of '{option}' ({error}). Add `option_tokens: {{{option}: <token>, ...}}` to "
                f"`settings` of the model's file. {PROTOCOL_ADVICE}"
            ) from None
        if len(tokens) != 1:
            raise UserError(
                f"{url}: '{option}' is {len(tokens)} tokens; a score needs options of one token each. {PROTOCOL_ADVICE}"
            )
        return tokens[0]


class ClipSession:
    """Send the requests about one clip and verify that the model receives all of its frames."""

    def __init__(self, adapter: OpenAIAdapter, builder: RequestBuilder, frame_shape: FrameShape | None) -> None:
        self._adapter, self._builder, self._frame_shape = adapter, builder, frame_shape
        self._dropped_frames_message = ""
        self._is_cached = False

    async def answer(self, request: Request) -> Answer:
        """Return the answer to a request; before the first one, probe whether the server drops frames."""
        if self._dropped_frames_message:
            raise AnswerError("not_shown", self._dropped_frames_message)
        adapter, builder = self._adapter, self._builder
        option_tokens = await adapter.resolve_option_tokens(request.options) if request.request_type == "score" else ()
        max_answer_tokens = 1 if option_tokens else adapter.settings.max_tokens or request.max_tokens
        probe_frame_count = max(0, builder.frame_count - PROBE_OMITTED_FRAMES)
        async with adapter.lock if self._should_probe else nullcontext():
            probe_prompt_tokens = None
            if self._should_probe:  # Another clip may have been verified while this one waited for the lock.
                probe_shape = self._frame_shape._replace(frame_count=probe_frame_count) if self._frame_shape else None
                probe = builder.build_request(request, PROBE_TOKENS, frame_count=probe_frame_count)
                reply = await adapter.complete(probe, request, probe_shape, PROBE_TOKENS, must_be_complete=False)
                probe_prompt_tokens = reply.token_usage.input
            reply = await self._request_completion(request, max_answer_tokens, option_tokens)
            prompt_tokens = reply.token_usage.input
            if probe_prompt_tokens is not None and prompt_tokens and prompt_tokens <= probe_prompt_tokens:
                self._dropped_frames_message = (
                    f"the server counts {prompt_tokens} tokens with {builder.frame_count} frames and "
                    f"{probe_prompt_tokens} with {probe_frame_count}: it drops frames. If its counts are wrong, set "
                    "`settings: {check_frames: false}` in the model's file"
                )
                raise AnswerError("not_shown", self._dropped_frames_message)
            if probe_prompt_tokens is not None and not prompt_tokens:
                log.info("the server does not report prompt tokens: whether it drops frames is unknown")
            if probe_prompt_tokens is not None:
                adapter.verified_frame_count = builder.frame_count if prompt_tokens else sys.maxsize
        adapter.opens_thought |= reply.has_thought
        return parse_answer(reply, request, option_tokens, builder.frame_count, opens_thought=adapter.opens_thought)

    async def _request_completion(
        self, request: Request, max_answer_tokens: int, option_tokens: Sequence[int]
    ) -> ChatCompletion:
        """Send a request, with the frames unless the server still has them in its cache."""
        adapter, builder = self._adapter, self._builder
        if self._is_cached:
            try:
                body = builder.build_request(request, max_answer_tokens, option_tokens, is_cached=True)
                return await adapter.complete(body, request, self._frame_shape, max_answer_tokens)
            except AnswerError as error:
                if error.status not in DROPPED_FRAMES_ERRORS:
                    raise
                log.debug(f"sending the frames again: {error}")
        body = builder.build_request(request, max_answer_tokens, option_tokens)
        reply = await adapter.complete(body, request, self._frame_shape, max_answer_tokens)
        self._is_cached = adapter.settings.frames_once and builder.frame_count > 0
        return reply

    @property
    def _should_probe(self) -> bool:
        """Return whether all verified clips had fewer frames than this one."""
        return self._adapter.settings.check_frames and self._builder.frame_count > self._adapter.verified_frame_count
