"""Adapter for servers and vendors that answer OpenAI's chat completions."""

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
from reprise.models.asking.money.limits import Shown
from reprise.models.base import Answer, AnswerError, Due, ModelSpec, ReplyError, Request
from reprise.models.options import BY_WORDS, refuse_shared_token
from reprise.models.remote.adapter import BoundedClient, RemoteAdapter, Show, posting, read_reply, used_in
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.images import Encoded
from reprise.models.remote.openai_replies import Reply, answer_of, check_choice, failure_of_server
from reprise.models.remote.sending import Opened
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import opens_thought

IMAGE = b'{"type":"image_url","image_url":{"url":"data:image/png;base64,', b'"'
# The type of a list of frames, whatever the format of each: the server looks at the frames.
VIDEO = b'{"type":"video_url","video_url":{"url":"data:video/jpeg;base64,', b'"}'
# What a server has under an id.
KNOWN_IMAGE, KNOWN_VIDEO = b'{"type":"image_url","image_url":null', b'{"type":"video_url","video_url":null'
# Signs by which tokenizers write spaces and ends of lines.
SPACES = "\u0120\u010a\u2581 \n"
# A server that takes frames in pairs counts as much for one frame less.
FEWER = 2
# How a server may say that it has dropped the frames of an id.
NO_FRAMES = ("bad_request", "server_error")
# Of a request that is only sent to count its prompt; some models refuse to write a single token.
FEW_TOKENS = 16
# What the SDK tells of itself and of this machine with every request: no server needs it.
UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async", "Retry-Count", "Read-Timeout")


class AioClient(BoundedClient, DefaultAioHttpClient):  # type: ignore[misc]
    """Sends by aiohttp, which takes less of the processor: see bench/serving.py."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, stream=stream, **options)
        except ClientResponseError as error:  # aiohttp's name for a reply that is no valid HTTP
            raise httpx2.RemoteProtocolError(str(error), request=request) from error


class Chat:
    """Requests about one clip, all with the same frames in front."""

    def __init__(self, settings: OpenAISettings, shown: Encoded | None) -> None:
        self._settings, self._shown = settings, shown
        self.frames = len(shown.images) if shown else 0
        # vLLM trusts an id and does not look at the frames again, so that an id is never used for others.
        self._id = secrets.token_hex(16).encode() if settings.frames_once else b""
        self.visual = self._visuals(self.frames)

    def ask(
        self,
        request: Request,
        tokens_out: int,
        wanted: Sequence[int] = (),
        *,
        frames: int | None = None,
        is_known: bool = False,
    ) -> bytes:
        """Return the body of a question.

        Args:
            wanted: The tokens whose probabilities are wanted, where it asks for a score.
            frames: How many of the clip's first frames are shown; by default all.
            is_known: Whether the server has the frames: their ids are sent in their place.
        """
        settings, count = self._settings, self.frames if frames is None else frames
        fields = settings.body | {settings.max_tokens_field: tokens_out, "model": settings.model}
        if wanted:
            fields |= {"logprobs": True, "logprob_token_ids": list(wanted), "return_tokens_as_token_ids": True}
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if self._shown is not None and count and settings.frames == "video":
            # When its frames are shown, and that none is to be left out.
            video = {
                "num_frames": -1,
                "fps": self._shown.rate,
                "frames_indices": list(self._shown.places[:count]),
                "total_num_frames": self._shown.total,
                "duration": self._shown.total / self._shown.rate,
            }
            fields["media_io_kwargs"] = {"video": video}
        system = _json({"role": "system", "content": request.system}) + b"," if request.system else b""
        content = _json(request.prompt)
        if visual := self._visuals_for(frames, is_known=is_known):
            lead, text = request.around_frames()
            before = _json({"type": "text", "text": lead}) + b"," if lead else b""
            content = b"".join([b"[", before, visual, _json({"type": "text", "text": text}), b"]"])
        start = _json(fields)[:-1]
        return b"".join([start, b',"messages":[', system, b'{"role":"user","content":', content, b"}]}"])

    def _visuals_for(self, frames: int | None, *, is_known: bool) -> bytes:
        if is_known:
            one, count = (KNOWN_VIDEO, 1) if self._settings.frames == "video" else (KNOWN_IMAGE, self.frames)
            return b"".join(one + self._end(at) for at in range(count))
        return self.visual if frames is None else self._visuals(frames)

    def _visuals(self, frames: int) -> bytes:
        images = self._shown.images[:frames] if self._shown else ()
        has_ids = frames == self.frames
        if self._settings.frames == "video" and images:
            return b",".join(images).join(VIDEO) + self._end(0, has_id=has_ids)
        detail = self._settings.detail
        close = (b',"detail":' + _json(detail) if detail else b"") + b"}"
        return b"".join(image.join(IMAGE) + close + self._end(at, has_id=has_ids) for at, image in enumerate(images))

    def _end(self, at: int, *, has_id: bool = True) -> bytes:
        """Return the end of a part, with its id where the server keeps frames."""
        return (b',"uuid":"%b-%d"' % (self._id, at) if self._id and has_id else b"") + b"},"


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Said(BaseModel):
    """The replies of `/v1/models`, of `/version`, and of `/tokenize`, which vLLM has beside the interface."""

    data: list[dict[str, Any]] = []
    version: str = ""
    token_strs: list[str] | None = None  # null where they were not asked for
    tokens: list[int] = []


class OpenAIAdapter(RemoteAdapter):
    """A model at a server of chat completions; what is learned of the server is kept from call to call."""

    def __init__(self, spec: ModelSpec) -> None:
        self.settings = OpenAISettings.model_validate(spec.settings)
        super().__init__(spec, self.settings)
        self._root = self.settings.url.rstrip("/").removesuffix("/v1")
        self._is_introduced = False
        self._tokens = dict(self.settings.option_tokens)
        self.frames_proven = 0
        """how many frames of a clip reach the model"""
        self.thinks = False
        """whether its answers begin with a thought that no parser takes out"""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Show]:
        """By the SDK's client, which sends this key and nothing else that the environment holds."""
        sender = AioClient()
        sender.seconds = self.settings.timeout_s
        client = AsyncOpenAI(
            base_url=self.settings.url,
            api_key=self._key,
            default_headers={"Authorization": f"Bearer {self._key}"} | {f"X-Stainless-{one}": Omit() for one in UNSAID},
            timeout=self.settings.timeout_s,
            max_retries=0,  # each try is paid for, and counted, by itself
            http_client=sender,
        )
        client.organization = client.project = client.admin_api_key = None
        async with client:
            self._client, self._calls, self.learning = client, self.calls(failure_of_server), asyncio.Lock()
            # Vendors are not asked: they list models that an account may not use.
            if not self._is_introduced and self.settings.key is None:
                await self._check_introduction()
            if not self._is_introduced and not self._is_paid:
                self.thinks = await self._opens_thought()
            self._is_introduced = True
            yield self._opened

    def _opened(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> Opened:
        chat = Chat(self.settings, frames)
        return Opened(AskedClip(self, chat, frames.shown if frames else None).answer, len(chat.visual), seconds)

    async def _check_introduction(self) -> None:
        """A UserError where the server says that it is another one than the model's file names; what it does not say is
        no mistake."""
        settings = self.settings
        named = [str(one.get("id")) for one in (await self._said("get", "/models")).data]
        if named and settings.model not in named:
            raise UserError(
                f"{settings.url}: the server serves {', '.join(map(plain, named[:5]))}, not '{settings.model}'. Start "
                "it with that model (vLLM: --served-model-name), or correct `model` or `url` in the settings of its "
                "file."
            )
        version = plain((await self._said("get", f"{self._root}/version")).version)
        if settings.version is not None and version != settings.version:
            raise UserError(
                f"{settings.url}: the server says version '{version}', not '{settings.version}'. Start that version, "
                "or correct `version` in the settings of the model's file."
            )
        served = ", ".join(map(plain, named)) or "unnamed models"
        log.info(f"{settings.url}: version {version or 'unknown'}, serves {served}")

    async def _opens_thought(self) -> bool:
        """Whether the server's chat template begins every answer with a thought, as far as it can say so."""
        body: dict[str, object] = {
            "model": self.settings.model, "messages": [{"role": "user", "content": "A question."}],
            "add_generation_prompt": True, "return_token_strs": True,
        }  # fmt: skip
        if "chat_template_kwargs" in self.settings.body:
            body["chat_template_kwargs"] = self.settings.body["chat_template_kwargs"]
        said = await self._said("post", f"{self._root}/tokenize", body=body)
        return opens_thought("".join(said.token_strs or ()).rstrip(SPACES))

    async def _said(self, method: str, path: str, **sent: Any) -> Said:
        """Empty where no such reply comes: the questions find out why."""
        try:
            quickly = getattr(self._client.with_options(max_retries=0, timeout=10.0), method)
            return Said.model_validate_json((await quickly(path, cast_to=httpx2.Response, **sent)).content)
        except (OpenAIError, ReplyError, ErrorReply, ValidationError):
            return Said()

    async def complete(
        self, body: bytes, request: Request, shown: Shown | None, tokens_out: int, *, is_answer: bool = True
    ) -> Reply:
        """Send a question; without `is_answer` the reply only counts the prompt, and its text may be anything."""

        def read(response: httpx2.Response) -> Reply:
            reply = read_reply(Reply, response.content, self.settings, "chat completion")
            if is_answer:
                check_choice(reply.choices[0])
            return reply

        send = posting(self._client, "/chat/completions", body)
        return await self._calls.call(request, shown, tokens_out, send, partial(used_in, Reply), read)

    async def tokens_of(self, options: Sequence[str]) -> tuple[int, ...]:
        """The token of each option, which must be one, by the server's own tokenizer."""
        if self.settings.scores is None:
            raise UserError(
                "settings.scores of the model's file: this server gives no exact probabilities, so it cannot be asked "
                f"for scores. {BY_WORDS}"
            )
        async with nullcontext() if set(options) <= self._tokens.keys() else self.learning:
            for option in options:
                if option not in self._tokens:
                    self._tokens[option] = await self._token_of(option)
        tokens = {option: self._tokens[option] for option in options}
        refuse_shared_token(f"{self._root}/tokenize", tokens)
        return tuple(tokens.values())

    async def _token_of(self, option: str) -> int:
        url = f"{self._root}/tokenize"
        body = json.dumps({"model": self.settings.model, "prompt": option, "add_special_tokens": False})
        try:
            response = await self._calls.call_free(posting(self._client, url, body.encode()))
            tokens = Said.model_validate_json(response.content).tokens
        except (ValidationError, UserError, ReplyError) as error:
            raise UserError(
                f"{url}: no tokens of '{option}' ({error}). Write `option_tokens: {{{option}: <token>, ...}}` into the "
                f"settings of the model's file. {BY_WORDS}"
            ) from None
        if len(tokens) != 1:
            raise UserError(
                f"{url}: '{option}' is {len(tokens)} tokens; a score needs options that are one token each. {BY_WORDS}"
            )
        return tokens[0]


class AskedClip:
    """A clip whose frames are encoded, at its server."""

    def __init__(self, server: OpenAIAdapter, chat: Chat, shown: Shown | None) -> None:
        self._server, self._chat, self._shown = server, chat, shown
        self._cut = ""
        self._is_known = False

    async def answer(self, request: Request) -> Answer:
        """The answer to one question; before the first, whether the server shows its model so many frames at all."""
        if self._cut:
            raise AnswerError("not_shown", self._cut)
        server, chat = self._server, self._chat
        wanted = await server.tokens_of(request.options) if request.ask == "score" else ()
        limit = 1 if wanted else server.settings.max_tokens or request.max_tokens
        fewer = max(0, chat.frames - FEWER)
        async with server.learning if self._is_unproven else nullcontext():
            counted = None
            if self._is_unproven:
                shown = self._shown._replace(frames=fewer) if self._shown else None
                proof = chat.ask(request, FEW_TOKENS, frames=fewer)
                reply = await server.complete(proof, request, shown, FEW_TOKENS, is_answer=False)
                counted = reply.used.input
            reply = await self._reply(request, limit, wanted)
            tokens = reply.used.input
            if counted is not None and tokens and tokens <= counted:
                self._cut = (
                    f"the server counts {tokens} tokens with {chat.frames} frames and {counted} with {fewer}: it "
                    "leaves frames out"
                )
                raise AnswerError("not_shown", self._cut)
            if counted is not None and not tokens:
                log.info("the server does not count the tokens of prompts: whether it shows all frames is not known")
            if counted is not None:
                server.frames_proven = chat.frames if tokens else sys.maxsize
        server.thinks |= reply.has_thought
        return answer_of(reply, request, wanted, chat.frames, thinks=server.thinks)

    async def _reply(self, request: Request, limit: int, wanted: Sequence[int]) -> Reply:
        """Send a question, without the frames where the server has them; with them again where it has dropped them."""
        server, chat = self._server, self._chat
        if self._is_known:
            try:
                body = chat.ask(request, limit, wanted, is_known=True)
                return await server.complete(body, request, self._shown, limit)
            except AnswerError as error:
                if error.status not in NO_FRAMES:
                    raise
                log.debug(f"the frames are sent again: {error}")
        reply = await server.complete(chat.ask(request, limit, wanted), request, self._shown, limit)
        self._is_known = server.settings.frames_once and chat.frames > 0
        return reply

    @property
    def _is_unproven(self) -> bool:
        """Whether no clip with as many frames reached the model before, as far as the server's counts say."""
        return self._server.settings.check_frames and self._chat.frames > self._server.frames_proven
