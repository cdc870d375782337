"""Questions about many clips on their way to a server at a time, each outcome given as soon as it is there.

Of a clip's questions the first goes alone, so that the server has what they all begin with when the others come; it
goes before the waiting questions of other clips, since more depends on it. The next clip is opened when fewer questions
could be sent than twice those that may be on their way: by the time that they run out its first answer is there.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from queue import SimpleQueue
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.asking.outcomes import checked, failure_of, place_of
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


class Slots:
    """Places on the way; a free one goes to a clip's first question before any other that waits."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._firsts: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def one(self, *, is_first: bool) -> AsyncIterator[None]:
        if self._free:
            self._free -= 1
        else:
            turn = asyncio.get_running_loop().create_future()
            (self._firsts if is_first else self._others).append(turn)
            await turn  # cancelled only with all others, so that its place is needed no more
        try:
            yield
        finally:
            waiting = self._firsts or self._others
            if not waiting:
                self._free += 1
            elif not (turn := waiting.popleft()).done():
                turn.set_result(None)


def send(connect: Connect, dues: Sequence[Due], concurrency: int) -> Iterator[Arrived]:
    """Outcomes of all questions, in any order. A mistake of the user ends it when what is on its way has come."""
    given: SimpleQueue[Arrived | BaseException | None] = SimpleQueue()
    sending = _Sending(dues, concurrency, given.put)
    thread = threading.Thread(target=sending.run, args=(connect,), name="sending")
    thread.start()
    try:
        while isinstance(found := given.get(), Arrived):
            yield found
    finally:
        sending.stop()
        thread.join()
    if found is not None:
        raise found


class _Sending:
    """The sending of one call, in a thread of its own. It gives outcomes, and at the end an error or None."""

    def __init__(
        self, dues: Sequence[Due], concurrency: int, give: Callable[[Arrived | BaseException | None], None]
    ) -> None:
        self._dues, self._concurrency, self._give = dues, concurrency, give
        self._mistake: UserError | None = None
        self._in_vain = self._sendable = self._bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._lock = threading.Lock()

    def run(self, connect: Connect) -> None:
        error: BaseException | None = None
        try:
            asyncio.run(self._send_all(connect))
        except asyncio.CancelledError:
            log.debug("sending was stopped")
        except BaseException as found:
            error = found
        self._give(error or self._mistake)

    def stop(self) -> None:
        """Give up what is on its way."""
        with self._lock:
            self._is_stopped = True
            if self._loop is not None and self._task is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _send_all(self, connect: Connect) -> None:
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._is_stopped:
                return
        self._slots, self._room = Slots(self._concurrency), asyncio.Event()
        async with connect() as open_clip, asyncio.TaskGroup() as clips:
            for due in self._dues:
                while self._sendable >= 2 * self._concurrency or self._bytes > LARGEST_BYTES:
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
            await self._ask(due, opened, first, is_first=True)
            self._sendable += len(others)
            await asyncio.gather(*(self._ask(due, opened, request) for request in others))
        finally:
            if opened.close is not None:
                await opened.close()
        self._bytes -= opened.size
        self._room.set()

    async def _ask(self, due: Due, opened: Opened, request: Request, *, is_first: bool = False) -> None:
        async with self._slots.one(is_first=is_first):
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
            failure = failure_of(error)
        except UserError as mistake:
            self._mistake = self._mistake or mistake
            return None
        log.info(f"{due.clip.clip_id}: {failure.error}: {failure.message}{place_of(error)}")
        return failure
