"""What all adapters of servers share: keys, limits, clips prepared ahead, questions sent together."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import httpx2

from reprise.core.errors import UserError
from reprise.models.asking.ahead import Ahead, Asked, outcome_of, ready
from reprise.models.asking.money.calls import Calls, Estimates, Failure
from reprise.models.asking.money.vendors import limits_of
from reprise.models.base import Answer, AnswerError, Arrived, Clip, Due, ModelSpec, Request
from reprise.models.remote.images import Encoded, ImagesPreparer
from reprise.models.remote.sending import Opened, send
from reprise.models.remote.settings import RemoteSettings

PREPARER = f"{ImagesPreparer.__module__}:{ImagesPreparer.__name__}"
NO_KEY = "none"
Show = Callable[[Due, Encoded | None, dict[str, float]], Opened]
"""Opens a clip with its frames, and the seconds that they took; none where the server is given the clip's file."""


class RemoteAdapter(ABC):
    """A model at a server: many questions are on their way at a time, and each answer must be of the named model."""

    host = ""
    """of the vendor whose interface is spoken"""
    takes_files = False
    """whether the server is given clips as files"""

    def __init__(self, spec: ModelSpec, settings: RemoteSettings) -> None:
        self._spec, self._remote, self._key = spec, settings, _key(settings)
        self._account = spec.account
        self.limits = limits_of(settings.url, self.host)
        self._estimates = self._estimated_by(settings.image_tokens)

    @abstractmethod
    def connected(self) -> AbstractAsyncContextManager[Show]:
        """A connection for one call."""

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """The questions about one clip, sent together, answered in their order."""
        due = Due(clip, tuple(requests))
        found = {given.request.request_id: given.answer for given in self.answers_in_any_order([due])}
        yield from (found[request.request_id] for request in due.requests)

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there."""
        most = max((due.clip for due in dues), key=lambda clip: clip.pictures, default=None)
        limit, where = self._remote.max_images, "settings.max_images of the model's file"
        if limit is None and self.limits is not None:
            limit, where = self.limits.images, f"the vendor's limit ({self.limits.source})"
        # Before anything is paid for.
        if most is not None and self.takes_files and most.grid is not None:
            raise UserError(
                f"clip '{most.clip_id}' is to be shown as a grid of its frames, but the server is given the clip's "
                "file. Set `settings.frames: images` in the model's file, or use a sampling without a view."
            )
        if most is not None and not self.takes_files and limit is not None and most.pictures > limit:
            raise UserError(
                f"clip '{most.clip_id}' is shown with {most.pictures} frames, but {where} is {limit}. Use a "
                "sampling of fewer frames, or correct `max_images`."
            )
        return send(lambda: self._line(dues), dues, self._remote.concurrency)

    @property
    def is_paid(self) -> bool:
        """Whether somebody pays for the answers."""
        return self._remote.key is not None and (self._account is None or self._account.is_paid)

    def calls(self, failure_of: Callable[[Exception, Any], Failure | None]) -> Calls:
        """What sends the requests of a connection; an error of the SDK is named by this function."""
        return Calls(self._account, self._remote, failure_of, self._estimates)

    def _estimated_by(self, image_tokens: int | None) -> Estimates:
        return Estimates(image_tokens, self.limits, is_paid=self.is_paid)

    @asynccontextmanager
    async def _line(self, dues: Sequence[Due]) -> AsyncIterator[Callable[[Due], Awaitable[Opened]]]:
        """Opens clips on one connection. Where clips follow each other, the next ones are prepared ahead."""
        shown = [] if self.takes_files else [Asked(due.clip, due.requests) for due in dues if due.clip.indices]
        with Ahead(PREPARER, self._spec, self._spec.threads) if len(shown) > 1 else nullcontext() as ahead:
            prepare: Callable[..., Any] = partial(outcome_of, partial(ImagesPreparer, self._spec))
            if ahead is not None:
                ahead.expect(iter(shown))
                prepare = ahead.take
            async with self.connected() as show:

                async def opened(due: Due) -> Opened:
                    await asyncio.to_thread(due.check)
                    if not due.clip.indices or self.takes_files:
                        return show(due, None, {})
                    prepared = ready(await asyncio.to_thread(prepare, due.clip, due.requests))
                    problem = self.limits.problem(prepared.value.shown) if self.limits else ""
                    if problem:
                        raise AnswerError("bad_request", f"not sent, the vendor does not take it: {problem}")
                    return show(due, prepared.value, prepared.seconds)

                yield opened


def posting(client: Any, path: str, body: bytes) -> Callable[[], Awaitable[httpx2.Response]]:
    """What sends a body by a vendor's SDK."""
    options = {"headers": {"Content-Type": "application/json"}}
    return partial(client.post, path, cast_to=httpx2.Response, content=body, options=options)


def _key(settings: RemoteSettings) -> str:
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
