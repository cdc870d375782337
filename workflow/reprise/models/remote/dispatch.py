"""Send requests about many clips to a server concurrently and yield each outcome as soon as it arrives.

The first request of a clip is sent alone, so that the server has their shared prefix in its cache before the others
arrive. The next clip is opened when fewer requests are ready to be sent than three times the concurrency: its first
answer then arrives before the ready requests run out.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, suppress
from queue import SimpleQueue
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.base import Answer, CompletedResponse, PendingRequests, Request
from reprise.models.inference.outcomes import log_failure, validate_answer
from reprise.models.inference.reasons import TRANSIENT_REASONS

# No further clip is opened while the frames of the open clips take more bytes than this.
MAX_OPEN_BYTES = 1 << 30
# The job aborts when this many times the concurrency of requests fail in a row for transient reasons.
MAX_FAILED_ROUNDS = 3


class OpenClip(NamedTuple):
    """A clip that is ready for its requests."""

    answer: Callable[[Request], Awaitable[Answer]]
    size_bytes: int
    """size of its encoded frames in bytes"""
    seconds: dict[str, float]
    """time spent on the clip besides answering; its first answer takes these entries over"""
    close: Callable[[], Awaitable[object]] | None = None
    """called after the last request, or when no more will be sent"""


Connect = Callable[[], AbstractAsyncContextManager[Callable[[PendingRequests], Awaitable[OpenClip]]]]


def send(connect: Connect, pending: Sequence[PendingRequests], concurrency: int) -> Iterator[CompletedResponse]:
    """Yield the outcomes of all requests in any order; raise a UserError once the requests in flight have finished."""
    outcomes: SimpleQueue[CompletedResponse | BaseException | None] = SimpleQueue()
    sender = _Sender(connect, pending, concurrency, outcomes.put)
    thread = threading.Thread(target=sender.run, name="sending")
    thread.start()
    try:
        while isinstance(outcome := outcomes.get(), CompletedResponse):
            yield outcome
    finally:
        with suppress(RuntimeError):  # the loop may be closed already
            sender.loop.call_soon_threadsafe(sender.task.cancel)
        thread.join()
    if outcome is not None:
        raise outcome


class _Sender:
    """Sends the requests of one call in an event loop of its own thread; emits outcomes, then an error or None."""

    def __init__(
        self,
        connect: Connect,
        pending_requests: Sequence[PendingRequests],
        concurrency: int,
        emit: Callable[[CompletedResponse | BaseException | None], None],
    ) -> None:
        self._pending_requests, self._concurrency, self._emit = pending_requests, concurrency, emit
        self._user_error: UserError | None = None
        self._failures_in_a_row = self._ready_count = self._open_bytes = 0
        self.loop = asyncio.new_event_loop()
        self.task = self.loop.create_task(self._send_all(connect))

    def run(self) -> None:
        error: BaseException | None = None
        with closing(self.loop):
            try:
                self.loop.run_until_complete(self.task)
            except asyncio.CancelledError:
                log.debug("sending was stopped")
            except BaseException as raised:
                error = raised
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self._emit(error or self._user_error)

    async def _send_all(self, connect: Connect) -> None:
        self._slots, self._capacity_freed = asyncio.Semaphore(self._concurrency), asyncio.Event()
        async with connect() as open_clip, asyncio.TaskGroup() as clips:
            for pending in self._pending_requests:
                while self._ready_count >= 3 * self._concurrency or self._open_bytes > MAX_OPEN_BYTES:
                    self._capacity_freed.clear()
                    await self._capacity_freed.wait()
                if self._user_error is not None:
                    return
                try:
                    opened = await open_clip(pending)
                except Exception as error:  # a clip that cannot be opened fails all its requests
                    if (failure := self._failure(pending, error)) is not None:
                        for request in pending.requests:
                            self._emit(CompletedResponse(pending.clip, request, failure, 0.0))
                    continue
                self._ready_count += 1
                self._open_bytes += opened.size_bytes
                clips.create_task(self._query_clip(pending, opened))

    async def _query_clip(self, pending: PendingRequests, opened: OpenClip) -> None:
        first, *rest = pending.requests
        try:
            await self._query(pending, opened, first)
            self._ready_count += len(rest)
            await asyncio.gather(*(self._query(pending, opened, request) for request in rest))
        finally:
            if opened.close is not None:
                await opened.close()
        self._open_bytes -= opened.size_bytes
        self._capacity_freed.set()

    async def _query(self, pending: PendingRequests, opened: OpenClip, request: Request) -> None:
        async with self._slots:
            if self._user_error is None:
                start, answer = time.monotonic(), None
                try:
                    answer = validate_answer(await opened.answer(request), request)
                except Exception as error:
                    answer = self._failure(pending, error)
                if answer is not None:
                    parts = dict(opened.seconds)
                    opened.seconds.clear()
                    self._emit(CompletedResponse(pending.clip, request, answer, time.monotonic() - start, parts))
                    self._failures_in_a_row = self._failures_in_a_row + 1 if answer.error in TRANSIENT_REASONS else 0
                    if self._failures_in_a_row == MAX_FAILED_ROUNDS * self._concurrency and self._user_error is None:
                        # The server no longer answers, so every further request would only waste its retries.
                        self._user_error = UserError(
                            f"the last {self._failures_in_a_row} requests to the server failed, most recently: "
                            f"{answer.error}: {answer.message}. Answers so far are kept. Run the same command again "
                            "when the server responds."
                        )
        self._ready_count -= 1
        self._capacity_freed.set()

    def _failure(self, pending: PendingRequests, error: Exception) -> Answer | None:
        """Return an error as a named failure; record a UserError, which stops the sending, and return None."""
        try:
            if isinstance(error, UserError):
                raise error
            return log_failure(pending.clip, error)
        except UserError as user_error:
            self._user_error = self._user_error or user_error
            return None
