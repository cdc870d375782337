"""Adapter for servers and vendors that answer OpenAI's chat completions."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from openai import AsyncOpenAI, Omit
from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.asking.money.calls import Calls
from reprise.models.asking.money.vendors import Shown
from reprise.models.base import Answer, AnswerError, Due, ModelSpec, Request
from reprise.models.remote.adapter import RemoteAdapter, Show, posting
from reprise.models.remote.bounded_client import AioClient
from reprise.models.remote.chat import Chat
from reprise.models.remote.errors import read_reply
from reprise.models.remote.images import Encoded
from reprise.models.remote.introduction import check_introduction, opens_thought_at, root_of
from reprise.models.remote.openai_errors import failure_of_server
from reprise.models.remote.openai_replies import Reply, answer_of, used_by
from reprise.models.remote.sending import Opened
from reprise.models.settings import OpenAISettings

# A server that takes frames in pairs counts as much for one frame less.
FEWER = 2
# Of a request that is only sent to count its prompt; some models refuse to write a single token.
FEW_TOKENS = 16
# What the SDK tells of itself and of this machine with every request: no server needs it.
UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async", "Retry-Count", "Read-Timeout")
BY_WORDS = "Ask this model by a protocol with `ask: choose` or `ask: write`."


@dataclass
class Known:
    """What a job has learned of its server."""

    tokens: dict[str, int] = field(default_factory=dict)
    """option -> its token"""
    is_introduced: bool = False
    """whether it has said what it is"""
    frames: int = 0
    """how many frames of a clip reach the model"""
    thinks: bool = False
    """whether its answers begin with a thought that no parser takes out"""


class Tokenized(BaseModel):
    """The reply of `/tokenize`."""

    tokens: list[int]


class OpenAIAdapter(RemoteAdapter):
    """A model at a server of chat completions."""

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = OpenAISettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)
        self._known = Known(tokens=dict(self._settings.option_tokens))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Show]:
        """By the SDK's client, which sends this key and nothing else that the environment holds."""
        sender = AioClient()
        sender.seconds = self._settings.timeout_s
        client = AsyncOpenAI(
            base_url=self._settings.url,
            api_key=self._key,
            default_headers={"Authorization": f"Bearer {self._key}"} | {f"X-Stainless-{one}": Omit() for one in UNSAID},
            timeout=self._settings.timeout_s,
            max_retries=0,  # each try is paid for, and counted, by itself
            http_client=sender,
        )
        client.organization = client.project = client.admin_api_key = None
        async with client:
            if not self._known.is_introduced:
                await check_introduction(client, self._settings)
                self._known.thinks = not self.is_paid and await opens_thought_at(client, self._settings)
                self._known.is_introduced = True
            yield Server(client, self._settings, self._known, self.calls(failure_of_server)).opened


class Server:
    """The connection of one call; what it learns is kept for the next."""

    def __init__(self, client: AsyncOpenAI, settings: OpenAISettings, known: Known, calls: Calls) -> None:
        self._client, self.settings, self.known, self._calls = client, settings, known, calls
        self.learning = asyncio.Lock()

    def opened(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> Opened:
        chat = Chat(self.settings, frames)
        return Opened(AskedClip(self, chat, frames.shown if frames else None).answer, len(chat.visual), seconds)

    async def complete(self, body: bytes, request: Request, shown: Shown | None, tokens_out: int) -> Reply:
        """The reply to a question with an answer of at most so many tokens."""
        send = posting(self._client, "/chat/completions", body)
        response = await self._calls.call(request, shown, tokens_out, send, used_by)
        return read_reply(Reply, response.content, self.settings, "chat completion")

    async def tokens_of(self, options: Sequence[str]) -> tuple[int, ...]:
        """The token of each option, which must be one, by the server's own tokenizer: vLLM has it beside the
        interface."""
        if self.settings.scores is None:
            raise UserError(
                "settings.scores of the model's file: this server gives no exact probabilities, so it cannot be asked "
                f"for scores. {BY_WORDS}"
            )
        async with nullcontext() if set(options) <= self.known.tokens.keys() else self.learning:
            for option in options:
                if option in self.known.tokens:
                    continue
                url = f"{root_of(self.settings)}/tokenize"
                body = json.dumps({"model": self.settings.model, "prompt": option, "add_special_tokens": False})
                try:
                    response = await self._calls.call_free(posting(self._client, url, body.encode()))
                    tokens = Tokenized.model_validate_json(response.content).tokens
                except (ValidationError, UserError) as error:
                    raise UserError(
                        f"{url}: no tokens of '{option}' ({error}). Write `option_tokens: {{{option}: <token>, ...}}` "
                        "into the settings of the model's file, or ask this model by a protocol with `ask: choose` or "
                        "`ask: write`."
                    ) from None
                if len(tokens) != 1:
                    raise UserError(
                        f"{url}: '{option}' is {len(tokens)} tokens; a score needs options that are one token each. "
                        f"{BY_WORDS}"
                    )
                self.known.tokens[option] = tokens[0]
        return tuple(self.known.tokens[option] for option in options)


class AskedClip:
    """A clip whose frames are encoded, at its server."""

    def __init__(self, server: Server, chat: Chat, shown: Shown | None) -> None:
        self._server, self._chat, self._shown = server, chat, shown
        self._cut = ""

    async def answer(self, request: Request) -> Answer:
        """The answer to one question; before the first, whether the server shows its model so many frames at all."""
        if self._cut:
            raise AnswerError("not_shown", self._cut)
        server, chat = self._server, self._chat
        wanted = await server.tokens_of(request.options) if request.ask == "score" else ()
        limit = 1 if wanted else server.settings.max_tokens or request.max_tokens
        async with server.learning if self._is_unproven else nullcontext():
            fewer, is_unproven = max(0, chat.frames - FEWER), self._is_unproven
            if is_unproven:
                body = chat.ask(request, FEW_TOKENS, frames=fewer)
                shown = self._shown._replace(frames=fewer) if self._shown else None
                counted = (await server.complete(body, request, shown, FEW_TOKENS)).tokens_in
            reply = await server.complete(chat.ask(request, limit, wanted), request, self._shown, limit)
            if is_unproven and reply.tokens_in and reply.tokens_in <= counted:
                self._cut = (
                    f"the server counts {reply.tokens_in} tokens with {chat.frames} frames and {counted} with {fewer}: "
                    "it leaves frames out"
                )
                raise AnswerError("not_shown", self._cut)
            if is_unproven and not reply.tokens_in:
                log.info("the server does not count the tokens of prompts: whether it shows all frames is not known")
            if is_unproven:
                server.known.frames = chat.frames if reply.tokens_in else sys.maxsize
        server.known.thinks |= reply.has_thought
        return answer_of(reply, request, wanted, chat.frames, thinks=server.known.thinks)

    @property
    def _is_unproven(self) -> bool:
        """Whether no clip with as many frames reached the model before, as far as the server's counts say."""
        return self._server.settings.check_frames and self._chat.frames > self._server.known.frames
