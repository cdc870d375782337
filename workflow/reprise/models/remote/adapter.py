"""What all adapters of servers share: keys, limits, clips prepared ahead, questions sent together."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol

from reprise.core.errors import UserError
from reprise.models.asking.ahead import Ahead, Asked
from reprise.models.asking.money.prices import Account
from reprise.models.asking.money.vendors import ImageLimits
from reprise.models.asking.preparing import outcome_of, ready
from reprise.models.base import Answer, AnswerError, Arrived, Clip, Due, ModelSpec, Request, ServedSpec
from reprise.models.remote.images import Encoded, ImagesPreparer
from reprise.models.remote.sending import Opened, send
from reprise.models.remote.settings import RemoteSettings

PREPARER = f"{ImagesPreparer.__module__}:{ImagesPreparer.__name__}"
NO_KEY = "none"


class Connection(Protocol):
    """A connection to a server, which is shown clips."""

    async def show(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> Opened:
        """A clip with its frames, none where it has none or the server is given the clip's file."""
        ...


class RemoteAdapter(ABC):
    """A model at a server: many questions are on their way at a time, and each answer must be of the named model."""

    limits: ImageLimits | None = None
    takes_files = False
    """whether the server is given clips as files"""

    def __init__(self, spec: ModelSpec, settings: RemoteSettings) -> None:
        self._spec = spec
        self._remote = settings
        self._key = _key(settings)
        self._account: Account | None = spec.account if isinstance(spec, ServedSpec) else None

    @abstractmethod
    def connected(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for one call."""

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """The questions about one clip, sent together, answered in their order."""
        due = Due(clip, tuple(requests))
        found = {given.request.request_id: given.answer for given in self.answers_in_any_order([due])}
        yield from (found[request.request_id] for request in due.requests)

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there."""
        self._check_images(dues)
        return send(lambda: self._line(dues), dues, self._remote.concurrency)

    @property
    def is_paid(self) -> bool:
        """Whether somebody pays for the answers."""
        return self._remote.key is not None and (self._account is None or self._account.is_paid)

    def _check_images(self, dues: Sequence[Due]) -> None:
        """Stop before anything is paid for where a clip has more frames than the server takes."""
        most = max((due.clip for due in dues), key=lambda clip: clip.pictures, default=None)
        if most is None:
            return
        if self.takes_files:
            if most.grid is not None:
                raise UserError(
                    f"clip '{most.clip_id}' is to be shown as a grid of its frames, but the server is given the clip's "
                    "file. Set `settings.frames: images` in the model's file, or use a sampling without a view."
                )
            return
        limit, where = self._remote.max_images, "settings.max_images of the model's file"
        if limit is None and self.limits is not None:
            limit, where = self.limits.images, f"the vendor's limit ({self.limits.source})"
        if limit is not None and most.pictures > limit:
            raise UserError(
                f"clip '{most.clip_id}' is shown with {most.pictures} frames, but {where} is {limit}. Use a "
                "sampling of fewer frames, or correct `max_images`."
            )

    @asynccontextmanager
    async def _line(self, dues: Sequence[Due]) -> AsyncIterator["Line"]:
        """A connection for these questions. Where clips follow each other, the next ones are prepared ahead."""
        shown = [] if self.takes_files else [Asked(due.clip, due.requests) for due in dues if due.clip.indices]
        with Ahead(PREPARER, self._spec, self._spec.threads) if len(shown) > 1 else nullcontext() as ahead:
            if ahead is not None:
                ahead.expect(iter(shown))
            async with self.connected() as connection:
                yield Line(self, connection, self._spec, ahead)


class Line:
    """The connection of one call, and who prepares clips for it."""

    def __init__(self, adapter: RemoteAdapter, connection: Connection, spec: ModelSpec, ahead: Ahead | None) -> None:
        self._adapter, self._connection, self._ahead = adapter, connection, ahead
        self._preparer = ImagesPreparer(spec)

    async def open(self, due: Due) -> Opened:
        await asyncio.to_thread(due.check)
        if not due.clip.indices or self._adapter.takes_files:
            return await self._connection.show(due, None, {})
        if self._ahead is not None:
            outcome = await asyncio.to_thread(self._ahead.take, due.clip, due.requests)
        else:
            outcome = await asyncio.to_thread(outcome_of, self._preparer, due.clip, due.requests)
        prepared = ready(outcome)
        problem = self._adapter.limits.problem(prepared.value.shown) if self._adapter.limits else ""
        if problem:
            raise AnswerError("bad_request", f"not sent, the vendor does not take it: {problem}")
        return await self._connection.show(due, prepared.value, prepared.seconds)


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
