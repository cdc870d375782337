"""Adapter for servers and vendors with OpenAI's chat completions API."""

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
from reprise.core.plain import plain
from reprise.models.base import Answer, AnswerError, ModelSpec, PendingRequests, ReplyError, Request
from reprise.models.inference.money.limits import FrameShape
from reprise.models.options import PROTOCOL_ADVICE, reject_shared_token
from reprise.models.remote.adapter import (
    BoundedClient,
    ClipOpener,
    RemoteAdapter,
    prepare_post,
    read_reply,
    read_usage,
)
from reprise.models.remote.dispatch import OpenClip
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images_preparer import EncodedFrames
from reprise.models.remote.openai_replies import ChatCompletion, check_choice, classify_openai_error, parse_answer
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import has_open_thought

IMAGE_TEMPLATE = b'{"type":"image_url","image_url":{"url":"data:image/png;base64,', b'"'
# A list of frames has this MIME type whatever the format of each, which the server detects.
VIDEO_TEMPLATE = b'{"type":"video_url","video_url":{"url":"data:video/jpeg;base64,', b'"}'
# Parts whose content the server has cached under their id.
CACHED_IMAGE, CACHED_VIDEO = b'{"type":"image_url","image_url":null', b'{"type":"video_url","video_url":null'
# Characters with which tokenizers write spaces and line ends.
SPACE_CHARACTERS = "\u0120\u010a\u2581 \n"
# The probe leaves out two frames, since a server that merges frames in pairs may count one frame less as the same.
PROBE_OMITTED_FRAMES = 2
# Failures by which a server may report that it has dropped the frames of an id.
DROPPED_FRAMES_ERRORS = ("bad_request", "server_error")
# The token limit of a probe, which only counts its prompt; some models refuse a limit of one token.
PROBE_TOKENS = 16
# The SDK would describe itself and this machine in these headers of every request, which no server needs.
SDK_HEADERS = (
    "Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async", "Retry-Count", "Read-Timeout",
)  # fmt: skip


class AiohttpClient(BoundedClient, DefaultAioHttpClient):  # type: ignore[misc]
    """Client that sends with aiohttp, which needs less CPU time than httpx: see bench/serving.py."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, stream=stream, **options)
        except ClientResponseError as error:  # aiohttp raises it for a reply that is invalid HTTP
            raise httpx2.RemoteProtocolError(str(error), request=request) from error


class RequestBuilder:
    """Builds the requests about one clip, which all show the same frames."""

    def __init__(self, settings: OpenAISettings, encoded: EncodedFrames | None) -> None:
        self._settings, self._encoded = settings, encoded
        self.frames = len(encoded.images) if encoded else 0
        # vLLM trusts an id without comparing the frames, so each clip gets a random one.
        self._id = secrets.token_hex(16).encode() if settings.frames_once else b""
        self.frames_content = self._encode_visuals(self.frames)

    def build_request(
        self,
        request: Request,
        tokens_out: int,
        option_tokens: Sequence[int] = (),
        *,
        frames: int | None = None,
        is_cached: bool = False,
    ) -> bytes:
        """Return the body of a request.

        Args:
            option_tokens: The tokens whose probabilities the server should return.
            frames: Number of the clip's first frames to show; by default all.
            is_cached: Whether the server has cached the frames, so that only their ids are sent.
        """
        settings, count = self._settings, self.frames if frames is None else frames
        fields = settings.body | {settings.max_tokens_field: tokens_out, "model": settings.model}
        if option_tokens:
            fields |= {"logprobs": True, "logprob_token_ids": list(option_tokens), "return_tokens_as_token_ids": True}
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if self._encoded is not None and count and settings.frames == "video":
            # The server needs the times of the frames, and -1 tells it to use all of them.
            video = {
                "num_frames": -1,
                "fps": self._encoded.fps,
                "frames_indices": list(self._encoded.frame_indices[:count]),
                "total_num_frames": self._encoded.total_frames,
                "duration": self._encoded.total_frames / self._encoded.fps,
            }
            fields["media_io_kwargs"] = {"video": video}
        system = _json({"role": "system", "content": request.system}) + b"," if request.system else b""
        content = _json(request.prompt)
        if visual := self._visual_for(frames, is_cached=is_cached):
            lead, text = request.split_prompt()
            lead_part = _json({"type": "text", "text": lead}) + b"," if lead else b""
            content = b"".join([b"[", lead_part, visual, _json({"type": "text", "text": text}), b"]"])
        start = _json(fields)[:-1]
        return b"".join([start, b',"messages":[', system, b'{"role":"user","content":', content, b"}]}"])

    def _visual_for(self, frames: int | None, *, is_cached: bool) -> bytes:
        if is_cached:
            part_start, count = (CACHED_VIDEO, 1) if self._settings.frames == "video" else (CACHED_IMAGE, self.frames)
            return b"".join(part_start + self._part_end(index) for index in range(count))
        return self.frames_content if frames is None else self._encode_visuals(frames)

    def _encode_visuals(self, frames: int) -> bytes:
        images = self._encoded.images[:frames] if self._encoded else ()
        has_ids = frames == self.frames
        if self._settings.frames == "video" and images:
            return b",".join(images).join(VIDEO_TEMPLATE) + self._part_end(0, has_id=has_ids)
        detail = self._settings.detail
        image_end = (b',"detail":' + _json(detail) if detail else b"") + b"}"
        return b"".join(
            image.join(IMAGE_TEMPLATE) + image_end + self._part_end(index, has_id=has_ids)
            for index, image in enumerate(images)
        )

    def _part_end(self, index: int, *, has_id: bool = True) -> bytes:
        """Return the end of a content part, with its id if the server caches frames."""
        return (b',"uuid":"%b-%d"' % (self._id, index) if self._id and has_id else b"") + b"},"


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class EndpointReply(BaseModel):
    """Reply of `/v1/models`, or of `/version` or `/tokenize`, which are vLLM's extensions of the API."""

    data: list[dict[str, Any]] = []
    version: str = ""
    token_strs: list[str] | None = None  # null unless requested
    tokens: list[int] = []


class OpenAIAdapter(RemoteAdapter):
    """A model at a server of chat completions; remembers across calls what it has learned about the server."""

    def __init__(self, spec: ModelSpec) -> None:
        self.settings = OpenAISettings.model_validate(spec.settings)
        super().__init__(spec, self.settings)
        self._root = self.settings.url.rstrip("/").removesuffix("/v1")
        self._is_checked = False
        self._option_tokens = dict(self.settings.option_tokens)
        self.frames_verified = 0
        """the largest number of frames that reached the model, as far as token counts show"""
        self.opens_thought = False
        """whether answers begin with a thought that no parser of the server removes"""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[ClipOpener]:
        """Connect with the SDK's client, which sends the configured key and no other secret of the environment."""
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
            self._client, self._calls, self.lock = client, self.create_calls(classify_openai_error), asyncio.Lock()
            # Vendors are skipped, because they list models that an account may not use.
            if not self._is_checked and self.settings.key is None:
                await self._check_identity()
            if not self._is_checked and not self._is_paid:
                self.opens_thought = await self._template_opens_thought()
            self._is_checked = True
            yield self._open

    def _open(self, pending: PendingRequests, frames: EncodedFrames | None, seconds: dict[str, float]) -> OpenClip:
        chat = RequestBuilder(self.settings, frames)
        return OpenClip(
            ClipSession(self, chat, frames.shape if frames else None).answer, len(chat.frames_content), seconds
        )

    async def _check_identity(self) -> None:
        """Raise a UserError if the server reports another model or version than the model's file names.

        A server that does not report them passes.
        """
        settings = self.settings
        model_ids = [str(model.get("id")) for model in (await self._query("get", "/models")).data]
        if model_ids and settings.model not in model_ids:
            raise UserError(
                f"{settings.url}: the server serves {', '.join(map(plain, model_ids[:5]))}, not '{settings.model}'. "
                "Start it with that model (vLLM: --served-model-name), or correct `settings.model` or `settings.url` "
                "in the model's file."
            )
        version = plain((await self._query("get", f"{self._root}/version")).version)
        if settings.version is not None and version != settings.version:
            raise UserError(
                f"{settings.url}: the server reports version '{version}', not '{settings.version}'. Start that "
                "version, or correct `settings.version` in the model's file."
            )
        listing = ", ".join(map(plain, model_ids)) or "unnamed models"
        log.info(f"{settings.url}: version {version or 'unknown'}, serves {listing}")

    async def _template_opens_thought(self) -> bool:
        """Return whether the server's chat template opens every answer with a thought; False if it cannot tell."""
        body: dict[str, object] = {
            "model": self.settings.model, "messages": [{"role": "user", "content": "A question."}],
            "add_generation_prompt": True, "return_token_strs": True,
        }  # fmt: skip
        if "chat_template_kwargs" in self.settings.body:
            body["chat_template_kwargs"] = self.settings.body["chat_template_kwargs"]
        reply = await self._query("post", f"{self._root}/tokenize", body=body)
        return has_open_thought("".join(reply.token_strs or ()).rstrip(SPACE_CHARACTERS))

    async def _query(self, method: str, path: str, **options: Any) -> EndpointReply:
        """Return the reply of an optional endpoint; an empty one after an error, which the requests will report."""
        try:
            call = getattr(self._client.with_options(max_retries=0, timeout=10.0), method)
            return EndpointReply.model_validate_json((await call(path, cast_to=httpx2.Response, **options)).content)
        except (OpenAIError, ReplyError, ErrorReply, ValidationError):
            return EndpointReply()

    async def complete(
        self, body: bytes, request: Request, frame_shape: FrameShape | None, tokens_out: int, *, is_answer: bool = True
    ) -> ChatCompletion:
        """Send a request and return its reply.

        Args:
            is_answer: Whether the reply must hold a complete answer; False for a probe that only counts its prompt.
        """

        def read(response: httpx2.Response) -> ChatCompletion:
            reply = read_reply(ChatCompletion, response.content, self.settings, "chat completion")
            if is_answer:
                check_choice(reply.choices[0])
            return reply

        send = prepare_post(self._client, "/chat/completions", body)
        return await self._calls.call(request, frame_shape, tokens_out, send, partial(read_usage, ChatCompletion), read)

    async def resolve_option_tokens(self, options: Sequence[str]) -> tuple[int, ...]:
        """Return the token of each option, which must be a single one, from the server's tokenizer."""
        if self.settings.scores is None:
            raise UserError(
                "settings.scores of the model's file: this server returns no exact probabilities, which scores need. "
                f"{PROTOCOL_ADVICE}"
            )
        async with nullcontext() if set(options) <= self._option_tokens.keys() else self.lock:
            for option in options:
                if option not in self._option_tokens:
                    self._option_tokens[option] = await self._token_of(option)
        tokens = {option: self._option_tokens[option] for option in options}
        reject_shared_token(f"{self._root}/tokenize", tokens)
        return tuple(tokens.values())

    async def _token_of(self, option: str) -> int:
        url = f"{self._root}/tokenize"
        body = json.dumps({"model": self.settings.model, "prompt": option, "add_special_tokens": False})
        try:
            response = await self._calls.call_free(prepare_post(self._client, url, body.encode()))
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
    """A clip whose frames are encoded, with the server that answers requests about it."""

    def __init__(self, server: OpenAIAdapter, chat: RequestBuilder, frame_shape: FrameShape | None) -> None:
        self._server, self._chat, self._frame_shape = server, chat, frame_shape
        self._dropped_message = ""
        self._is_cached = False

    async def answer(self, request: Request) -> Answer:
        """Answer one request; before the first one, probe whether the server shows all frames to its model."""
        if self._dropped_message:
            raise AnswerError("not_shown", self._dropped_message)
        server, chat = self._server, self._chat
        option_tokens = await server.resolve_option_tokens(request.options) if request.ask == "score" else ()
        limit = 1 if option_tokens else server.settings.max_tokens or request.max_tokens
        probe_frames = max(0, chat.frames - PROBE_OMITTED_FRAMES)
        async with server.lock if self._should_probe else nullcontext():
            probe_tokens = None
            if self._should_probe:
                probe_shape = self._frame_shape._replace(frames=probe_frames) if self._frame_shape else None
                probe = chat.build_request(request, PROBE_TOKENS, frames=probe_frames)
                reply = await server.complete(probe, request, probe_shape, PROBE_TOKENS, is_answer=False)
                probe_tokens = reply.token_usage.input
            reply = await self._reply(request, limit, option_tokens)
            tokens = reply.token_usage.input
            if probe_tokens is not None and tokens and tokens <= probe_tokens:
                self._dropped_message = (
                    f"the server counts {tokens} tokens with {chat.frames} frames and {probe_tokens} with "
                    f"{probe_frames}: it drops frames"
                )
                raise AnswerError("not_shown", self._dropped_message)
            if probe_tokens is not None and not tokens:
                log.info("the server does not report prompt tokens: whether it drops frames is unknown")
            if probe_tokens is not None:
                server.frames_verified = chat.frames if tokens else sys.maxsize
        server.opens_thought |= reply.has_thought
        return parse_answer(reply, request, option_tokens, chat.frames, opens_thought=server.opens_thought)

    async def _reply(self, request: Request, limit: int, option_tokens: Sequence[int]) -> ChatCompletion:
        """Send a request without the frames if the server has cached them, and with them if it has dropped them."""
        server, chat = self._server, self._chat
        if self._is_cached:
            try:
                body = chat.build_request(request, limit, option_tokens, is_cached=True)
                return await server.complete(body, request, self._frame_shape, limit)
            except AnswerError as error:
                if error.status not in DROPPED_FRAMES_ERRORS:
                    raise
                log.debug(f"sending the frames again: {error}")
        body = chat.build_request(request, limit, option_tokens)
        reply = await server.complete(body, request, self._frame_shape, limit)
        self._is_cached = server.settings.frames_once and chat.frames > 0
        return reply

    @property
    def _should_probe(self) -> bool:
        """Return whether no clip with as many frames is known to have reached the model."""
        return self._server.settings.check_frames and self._chat.frames > self._server.frames_verified
