"""Adapter for servers and vendors that answer OpenAI's chat completions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from openai import AsyncOpenAI, Omit

from reprise.models.asking.money.estimates import Estimates
from reprise.models.asking.money.prices import Used
from reprise.models.asking.money.vendors import Shown, limits_of
from reprise.models.base import Answer, AnswerError, Due, ModelSpec, Request
from reprise.models.remote.adapter import RemoteAdapter
from reprise.models.remote.bounded_client import AioClient
from reprise.models.remote.chat import Chat
from reprise.models.remote.images import Encoded
from reprise.models.remote.introduction import check_introduction, opens_thought_at
from reprise.models.remote.openai_replies import Reply, answer_of
from reprise.models.remote.openai_server import Known, Server
from reprise.models.settings import OpenAISettings

# A server that takes frames in pairs counts as much for one frame less.
FEWER = 2
# Of a request that is only sent to count its prompt; some models refuse to write a single token.
FEW_TOKENS = 16
# What the SDK tells of itself and of this machine with every request: no server needs it.
UNSAID = tuple(
    f"X-Stainless-{name}"
    for name in (
        "Lang",
        "Package-Version",
        "OS",
        "Arch",
        "Runtime",
        "Runtime-Version",
        "Async",
        "Retry-Count",
        "Read-Timeout",
    )
)


class OpenAIAdapter(RemoteAdapter):
    """A model at a server of chat completions."""

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = OpenAISettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)
        self.limits = limits_of(self._settings.url)
        self._known = Known(tokens=dict(self._settings.option_tokens))
        self._estimates = Estimates(self._settings.image_tokens, self.limits, is_paid=self.is_paid)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Chats"]:
        async with _client(self._settings, self._key) as client:
            if not self._known.is_introduced:
                await check_introduction(client, self._settings)
                self._known.thinks = not self.is_paid and await opens_thought_at(client, self._settings)
                self._known.is_introduced = True
            yield Chats(Server(client, self._settings, self._known, self._account), self._estimates)


class Chats:
    """A connection to a server of chat completions."""

    def __init__(self, server: Server, estimates: Estimates) -> None:
        self._server, self._estimates = server, estimates

    async def show(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> "AskedClip":
        return AskedClip(self._server, Chat(self._server.settings, frames), self._estimates, frames, seconds)


class AskedClip:
    """A clip whose frames are encoded, at its server."""

    def __init__(
        self, server: Server, chat: Chat, estimates: Estimates, frames: Encoded | None, seconds: dict[str, float]
    ) -> None:
        self._server, self._chat, self._estimates = server, chat, estimates
        self._shown: Shown | None = frames.shown if frames else None
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
            limit = 1 if tokens else server.settings.max_tokens or request.max_tokens
            reply = await server.complete(chat.ask(request, tokens), self._worst(request, limit))
            self._estimates.learn(self._shown, reply.tokens_in)
            if fewer is not None:
                self._compare(fewer, reply)
        server.known.thinks |= reply.has_thought
        return answer_of(reply, request, tokens, chat.frames, thinks=server.known.thinks)

    async def close(self) -> None:
        """Nothing is left at the server."""

    def _worst(self, request: Request, tokens_out: int) -> Used:
        return self._estimates.worst(request.system + request.prompt, self._shown, tokens_out)

    @property
    def _is_unproven(self) -> bool:
        """Whether no clip with as many frames reached the model before, as far as the server's counts say."""
        return self._server.settings.check_frames and self._chat.frames > self._server.known.frames

    async def _count_with_fewer(self, request: Request) -> int:
        frames = max(0, self._chat.frames - FEWER)
        body = self._chat.ask_with(frames, request, FEW_TOKENS)
        return (await self._server.complete(body, self._worst(request, FEW_TOKENS))).tokens_in

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
    unsaid, sender = {name: Omit() for name in UNSAID}, AioClient()
    sender.seconds = settings.timeout_s
    client = AsyncOpenAI(
        base_url=settings.url,
        api_key=key,
        default_headers={"Authorization": f"Bearer {key}"} | unsaid,
        timeout=settings.timeout_s,
        max_retries=0,  # each try is paid for, and counted, by itself
        http_client=sender,
    )
    client.organization = client.project = client.admin_api_key = None
    return client
