"""Send requests about many clips to a server concurrently and yield each outcome as soon as it arrives.

The first request about a clip is sent alone, so the server has the requests' shared prefix in its cache before the
other requests arrive. A request is ready if it can be sent at once. The next clip is opened early, while enough ready
requests remain (`READY_ROUNDS`), so its first answer arrives before they run out.
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
# No further clip is opened while this many times the concurrency of requests are ready to be sent.
READY_ROUNDS = 3
# The job aborts if this many times the concurrency of requests fail in a row for transient reasons.
MAX_FAILED_ROUNDS = 3


class OpenClip(NamedTuple):
    """A clip that is prepared, so requests about it can be sent."""

    answer: Callable[[Request], Awaitable[Answer]]
    size_bytes: int
    """size of its encoded frames in bytes"""
    step_seconds: dict[str, float]
    """seconds of each preparation step; recorded with the clip's first answer and then cleared"""
    close: Callable[[], Awaitable[object]] | None = None
    """called when no further request about the clip will be sent"""


Connect = Callable[[], AbstractAsyncContextManager[Callable[[PendingRequests], Awaitable[OpenClip]]]]
"""function that connects to a server; the connection yields the function that opens a clip"""


def send_requests(
    connect: Connect, pending: Sequence[PendingRequests], concurrency: int
) -> Iterator[CompletedResponse]:
    """Yield the outcomes of all requests in any order; raise a UserError after the requests in flight have finished."""
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
    """Send the requests of one call in the event loop of a separate thread; emit outcomes, then an error or None."""

    def __init__(
        self,
        connect: Connect,
        pending_requests: Sequence[PendingRequests],
        concurrency: int,
        emit: Callable[[CompletedResponse | BaseException | None], None],
    ) -> None:
        self._pending_requests, self._concurrency, self._emit = pending_requests, concurrency, emit
        self._user_error: UserError | None = None
        # Ready requests can be sent at once: of a new clip only the first request, then all others.
        self._consecutive_failures = self._ready_count = self._open_bytes = 0
        self.loop = asyncio.new_event_loop()
        self.task = self.loop.create_task(self._send_all(connect))

    def run(self) -> None:
        """Send all requests, then emit the error that stopped the sending, or None."""
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
        """Open one clip after another, and send the requests about each as soon as it is open."""
        self._slots, self._capacity_freed = asyncio.Semaphore(self._concurrency), asyncio.Event()
        async with connect() as open_clip, asyncio.TaskGroup() as clips:
            for pending in self._pending_requests:
                while self._ready_count >= READY_ROUNDS * self._concurrency or self._open_bytes > MAX_OPEN_BYTES:
                    self._capacity_freed.clear()
                    await self._capacity_freed.wait()
                if self._user_error is not None:
                    return
                try:
                    opened_clip = await open_clip(pending)
                except Exception as error:  # a clip that cannot be opened fails all its requests
                    if (failure := self._classify_failure(pending, error)) is not None:
                        for request in pending.requests:
                            self._emit(CompletedResponse(pending.clip, request, failure, 0.0))
                    continue
                self._ready_count += 1
                self._open_bytes += opened_clip.size_bytes
                clips.create_task(self._query_clip(pending, opened_clip))

    async def _query_clip(self, pending: PendingRequests, opened_clip: OpenClip) -> None:
        """Send the first request about a clip, then the others together."""
        first_request, *other_requests = pending.requests
        try:
            await self._query(pending, opened_clip, first_request)
            self._ready_count += len(other_requests)
            await asyncio.gather(*(self._query(pending, opened_clip, request) for request in other_requests))
        finally:
            if opened_clip.close is not None:
                await opened_clip.close()
        self._open_bytes -= opened_clip.size_bytes
        self._capacity_freed.set()

    async def _query(self, pending: PendingRequests, opened_clip: OpenClip, request: Request) -> None:
        """Send one request when a slot is free, and emit its outcome."""
        async with self._slots:
            if self._user_error is None:
                start, answer = time.monotonic(), None
                try:
                    answer = validate_answer(await opened_clip.answer(request), request)
                except Exception as error:
                    answer = self._classify_failure(pending, error)
                if answer is not None:
                    step_seconds = dict(opened_clip.step_seconds)
                    opened_clip.step_seconds.clear()
                    self._emit(CompletedResponse(pending.clip, request, answer, time.monotonic() - start, step_seconds))
                    self._consecutive_failures = (
                        self._consecutive_failures + 1 if answer.error in TRANSIENT_REASONS else 0
                    )
                    if self._consecutive_failures == MAX_FAILED_ROUNDS * self._concurrency and self._user_error is None:
                        # The server no longer answers, so every further request would only waste its retries.
                        self._user_error = UserError(
                            f"the last {self._consecutive_failures} requests to the server failed, most recently: "
                            f"{answer.error}: {answer.message}. Answers so far are kept. Run the same command again "
                            "when the server responds."
                        )
        self._ready_count -= 1
        self._capacity_freed.set()

    def _classify_failure(self, pending: PendingRequests, error: Exception) -> Answer | None:
        """Return an error as a named failure; None for a UserError, which is recorded and stops the sending."""
        try:
            if isinstance(error, UserError):
                raise error
            return log_failure(pending.clip, error)
        except UserError as user_error:
            self._user_error = self._user_error or user_error
            return None
