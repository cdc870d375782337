"""A server of OpenAI's chat completions: requests go out by the vendor's SDK, replies come back as what they mean."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import httpx2
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.asking.money.calls import Calls
from reprise.models.asking.money.prices import Account, Used
from reprise.models.remote.openai_errors import failure_of_server
from reprise.models.remote.openai_replies import Reply, read_reply, used_by
from reprise.models.settings import OpenAISettings


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

    def proven(self, frames: int, *, is_counted: bool) -> None:
        """So many frames reach the model; a server that counts no tokens cannot be tested."""
        if not is_counted:
            log.info("the server does not count the tokens of prompts: whether it shows all frames is not known")
        self.frames = frames if is_counted else sys.maxsize


class Tokenized(BaseModel):
    """The reply of `/tokenize`."""

    tokens: list[int]


class Server:
    """The connection of one call; what it learns is kept for the next."""

    def __init__(
        self, client: AsyncOpenAI, settings: OpenAISettings, known: Known, account: Account | None = None
    ) -> None:
        self._client, self.settings, self.known = client, settings, known
        self._calls = Calls(account, settings, partial(failure_of_server, settings=settings))
        self.learning = asyncio.Lock()

    async def complete(self, body: bytes, worst: Used) -> Reply:
        """The reply to a request, which takes at most so many tokens."""
        content = await self._calls.call(worst, lambda: self._post("/chat/completions", body), used_by)
        return read_reply(content, self.settings)

    async def tokens_of(self, options: Sequence[str]) -> tuple[int, ...]:
        """The token of each option, which must be one."""
        if self.settings.scores is None:
            raise UserError(
                "settings.scores of the model's file: this server gives no exact probabilities, so it cannot be asked "
                "for scores. Ask this model by a protocol with `ask: choose` or `ask: write`."
            )
        if not set(options) <= self.known.tokens.keys():
            async with self.learning:
                for option in options:
                    if option not in self.known.tokens:
                        self.known.tokens[option] = await self._token_of(option)
        return tuple(self.known.tokens[option] for option in options)

    async def _token_of(self, option: str) -> int:
        """By the server's own tokenizer, which vLLM serves beside the interface."""
        url = f"{self.settings.url.rstrip('/').removesuffix('/v1')}/tokenize"
        body = {"model": self.settings.model, "prompt": option, "add_special_tokens": False}
        try:
            content = await self._calls.call_free(lambda: self._post(url, json.dumps(body).encode()))
            tokens = Tokenized.model_validate_json(content).tokens
        except (ValidationError, UserError) as error:
            raise UserError(
                f"{url}: no tokens of '{option}' ({error}). Write `option_tokens: {{{option}: <token>, ...}}` into the "
                "settings of the model's file, or ask this model by a protocol with `ask: choose` or `ask: write`."
            ) from None
        if len(tokens) != 1:
            raise UserError(
                f"{url}: '{option}' is {len(tokens)} tokens; a score needs options that are one token each. Ask this "
                "model by a protocol with `ask: choose` or `ask: write`."
            )
        return tokens[0]

    async def _post(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        response = await self._client.post(path, cast_to=httpx2.Response, content=body, options={"headers": headers})
        return bytes(response.content)
