"""Adapter for servers and vendors that answer OpenAI's chat completions."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext

from openai import AsyncOpenAI

from reprise.core.errors import UserError
from reprise.models.adapters.base import Answer, AnswerError, Clip, ModelSpec, Request
from reprise.models.adapters.chat import Chat
from reprise.models.adapters.images import ImagesPreparer
from reprise.models.adapters.introduction import check_introduction
from reprise.models.adapters.replies import Reply, answer_of
from reprise.models.adapters.sending import send
from reprise.models.adapters.server import Known, Server
from reprise.models.ahead import Ahead, Asked
from reprise.models.preparing import outcome_of, ready
from reprise.models.served import Arrived, Due
from reprise.models.settings import OpenAISettings

PREPARER = f"{ImagesPreparer.__module__}:{ImagesPreparer.__name__}"
NO_KEY = "none"
# A server that takes frames in pairs counts as much for one frame less.
FEWER = 2
# Of a request that is only sent to count its prompt; some models refuse to write a single token.
FEW_TOKENS = 16


class OpenAIAdapter:
    """A model at a server: many questions are on their way at a time, and each answer must be of the named model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._settings = OpenAISettings.model_validate(spec.settings)
        self._key = _key(self._settings)
        self._known = Known(tokens=dict(self._settings.option_tokens))

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """The questions about one clip, sent together, answered in their order."""
        due = Due(clip, tuple(requests))
        found = {given.request.request_id: given.answer for given in self.answers_in_any_order([due])}
        yield from (found[request.request_id] for request in due.requests)

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there."""
        self._check_images(dues)
        return send(lambda: self._line(dues), dues, self._settings.concurrency)

    def _check_images(self, dues: Sequence[Due]) -> None:
        most = max((due.clip for due in dues), key=lambda clip: len(clip.indices), default=None)
        limit = self._settings.max_images
        if most is not None and limit is not None and len(most.indices) > limit:
            raise UserError(
                f"clip '{most.clip_id}' is shown with {len(most.indices)} frames, but settings.max_images of the "
                f"model's file is {limit}. Use a sampling of fewer frames, or correct that number."
            )

    @asynccontextmanager
    async def _line(self, dues: Sequence[Due]) -> AsyncIterator["Line"]:
        """A connection for these questions. Where clips follow each other, the next ones are prepared ahead."""
        shown = [Asked(due.clip, due.requests) for due in dues if due.clip.indices]
        with Ahead(PREPARER, self._spec, self._spec.threads) if len(shown) > 1 else nullcontext() as ahead:
            if ahead is not None:
                ahead.expect(iter(shown))
            async with _client(self._settings, self._key) as client:
                if not self._known.is_introduced:
                    await check_introduction(client, self._settings)
                    self._known.is_introduced = True
                yield Line(Server(client, self._settings, self._known), self._spec, ahead)


class Line:
    """The connection of one call, and who prepares clips for it."""

    def __init__(self, server: Server, spec: ModelSpec, ahead: Ahead | None) -> None:
        self._server, self._ahead = server, ahead
        self._preparer = ImagesPreparer(spec)

    async def open(self, due: Due) -> "AskedClip":
        await asyncio.to_thread(due.check)
        if not due.clip.indices:
            return AskedClip(self._server, Chat(self._server.settings, None), {})
        if self._ahead is not None:
            outcome = await asyncio.to_thread(self._ahead.take, due.clip, due.requests)
        else:
            outcome = await asyncio.to_thread(outcome_of, self._preparer, due.clip, due.requests)
        prepared = ready(outcome)
        return AskedClip(self._server, Chat(self._server.settings, prepared.value), prepared.seconds)


class AskedClip:
    """A clip whose frames are encoded, at its server."""

    def __init__(self, server: Server, chat: Chat, seconds: dict[str, float]) -> None:
        self._server, self._chat = server, chat
        self.size, self.seconds = chat.size, seconds
        self._cut = ""

    async def answer(self, request: Request) -> Answer:
        """The answer to one question; before the first, whether the server shows its model so many frames at all."""
        if self._cut:
            raise AnswerError("not_shown", self._cut)
        server, chat = self._server, self._chat
        tokens = await server.tokens_of(request.options) if request.ask == "score" else ()
        async with server.learning if self._is_unproven else nullcontext():
            fewer = await self._count_with_fewer(request) if self._is_unproven else None
            reply = await server.complete(chat.ask(request, tokens))
            if fewer is not None:
                self._compare(fewer, reply)
        return answer_of(reply, request, tokens, chat.frames)

    @property
    def _is_unproven(self) -> bool:
        """Whether no clip with as many frames reached the model before, as far as the server's counts say."""
        return self._server.settings.check_frames and self._chat.frames > self._server.known.frames

    async def _count_with_fewer(self, request: Request) -> int:
        frames = max(0, self._chat.frames - FEWER)
        return (await self._server.complete(self._chat.ask_with(frames, request, FEW_TOKENS))).tokens_in

    def _compare(self, fewer: int, reply: Reply) -> None:
        frames = self._chat.frames
        if reply.tokens_in and reply.tokens_in <= fewer:
            self._cut = (
                f"the server counts {reply.tokens_in} tokens with {frames} frames and {fewer} with "
                f"{max(0, frames - FEWER)}: it leaves frames out"
            )
            raise AnswerError("not_shown", self._cut)
        self._server.known.proven(frames, is_counted=reply.tokens_in > 0)


def _client(settings: OpenAISettings, key: str) -> AsyncOpenAI:
    """The SDK's client, which sends this key and nothing else that the environment holds."""
    client = AsyncOpenAI(
        base_url=settings.url,
        api_key=key,
        default_headers={"Authorization": f"Bearer {key}"},
        timeout=settings.timeout_s,
        max_retries=settings.retries,
    )
    client.organization = client.project = client.admin_api_key = None
    return client


def _key(settings: OpenAISettings) -> str:
    if settings.key is None:
        return NO_KEY
    key = os.environ.get(settings.key, "").strip()
    if not key:
        raise UserError(
            f"settings.key of the model's file: the environment variable '{settings.key}' is not set. Export it with "
            f"the key of {settings.url}, then run the same command again."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"the environment variable '{settings.key}' holds no key: it has signs that no key has.")
    return key
