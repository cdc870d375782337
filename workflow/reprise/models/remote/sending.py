"""Questions about many clips on their way to a server at a time, each outcome given as soon as it is there.

Of a clip's questions the first goes alone, so that the server has what they all begin with when the others come. The
next clip is opened when fewer questions could be sent than three times those that may be on their way: by the time that
they run out its first answer is there.
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
from reprise.models.asking.outcomes import checked, logged_failure
from reprise.models.asking.reasons import TRANSIENT
from reprise.models.base import Answer, Arrived, Due, Request

# Of the clips that are open.
LARGEST_BYTES = 1 << 30
# A server is given up when so many times the questions that may be on their way fail in a row for a reason that passes.
IN_A_ROW = 3


class Opened(NamedTuple):
    """A clip that is ready to be asked about."""

    answer: Callable[[Request], Awaitable[Answer]]
    size: int
    """bytes of its frames"""
    seconds: dict[str, float]
    """what was done for it beside answering; added to until its first answer"""
    close: Callable[[], Awaitable[object]] | None = None
    """all its questions are asked, or none will be any more"""


Connect = Callable[[], AbstractAsyncContextManager[Callable[[Due], Awaitable[Opened]]]]


def send(connect: Connect, dues: Sequence[Due], concurrency: int) -> Iterator[Arrived]:
    """Outcomes of all questions, in any order. A mistake of the user ends it when what is on its way has come."""
    given: SimpleQueue[Arrived | BaseException | None] = SimpleQueue()
    sending = _Sending(connect, dues, concurrency, given.put)
    thread = threading.Thread(target=sending.run, name="sending")
    thread.start()
    try:
        while isinstance(found := given.get(), Arrived):
            yield found
    finally:
        with suppress(RuntimeError):  # its loop is closed
            sending.loop.call_soon_threadsafe(sending.task.cancel)
        thread.join()
    if found is not None:
        raise found


class _Sending:
    """The sending of one call, whose loop runs in a thread. It gives outcomes, and at the end an error or None."""

    def __init__(
        self,
        connect: Connect,
        dues: Sequence[Due],
        concurrency: int,
        give: Callable[[Arrived | BaseException | None], None],
    ) -> None:
        self._dues, self._concurrency, self._give = dues, concurrency, give
        self._mistake: UserError | None = None
        self._in_vain = self._sendable = self._bytes = 0
        self.loop = asyncio.new_event_loop()
        self.task = self.loop.create_task(self._send_all(connect))

    def run(self) -> None:
        error: BaseException | None = None
        with closing(self.loop):
            try:
                self.loop.run_until_complete(self.task)
            except asyncio.CancelledError:
                log.debug("sending was stopped")
            except BaseException as found:
                error = found
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self._give(error or self._mistake)

    async def _send_all(self, connect: Connect) -> None:
        self._places, self._room = asyncio.Semaphore(self._concurrency), asyncio.Event()
        async with connect() as open_clip, asyncio.TaskGroup() as clips:
            for due in self._dues:
                while self._sendable >= 3 * self._concurrency or self._bytes > LARGEST_BYTES:
                    self._room.clear()
                    await self._room.wait()
                if self._mistake is not None:
                    return
                try:
                    opened = await open_clip(due)
                except Exception as error:  # a clip that cannot be shown fails all its questions
                    if (failure := self._failure(due, error)) is not None:
                        for request in due.requests:
                            self._give(Arrived(due.clip, request, failure, 0.0))
                    continue
                self._sendable += 1
                self._bytes += opened.size
                clips.create_task(self._ask_about(due, opened))

    async def _ask_about(self, due: Due, opened: Opened) -> None:
        first, *others = due.requests
        try:
            await self._ask(due, opened, first)
            self._sendable += len(others)
            await asyncio.gather(*(self._ask(due, opened, request) for request in others))
        finally:
            if opened.close is not None:
                await opened.close()
        self._bytes -= opened.size
        self._room.set()

    async def _ask(self, due: Due, opened: Opened, request: Request) -> None:
        async with self._places:
            if self._mistake is None:
                start, answer = time.monotonic(), None
                try:
                    answer = checked(await opened.answer(request), request)
                except Exception as error:
                    answer = self._failure(due, error)
                if answer is not None:
                    parts = dict(opened.seconds)
                    opened.seconds.clear()
                    self._give(Arrived(due.clip, request, answer, time.monotonic() - start, parts))
                    self._in_vain = self._in_vain + 1 if answer.error in TRANSIENT else 0
                    if self._in_vain == IN_A_ROW * self._concurrency and self._mistake is None:
                        # The server answers no more: each question would only cost its retries.
                        self._mistake = UserError(
                            f"the last {self._in_vain} questions to the server failed, the last of them: "
                            f"{answer.error}: {answer.message}. Answers so far are kept. Run the same command again "
                            "when the server answers."
                        )
        self._sendable -= 1
        self._room.set()

    def _failure(self, due: Due, error: Exception) -> Answer | None:
        """A failure with its name; none where nothing more is to be asked."""
        try:
            if isinstance(error, UserError):
                raise error
            return logged_failure(due.clip, error)
        except UserError as mistake:
            self._mistake = self._mistake or mistake
            return None
