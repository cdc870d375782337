"""Requests to a provider, one after another or many at a time: within its limits, within the budget, sent again where
that may help. All adapters of servers send through this."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, TypeVar
from urllib.parse import urlsplit

from reprise.core.errors import UserError
from reprise.core.retry_after import retry_after_s
from reprise.models.asking.money.limits import Gate, ProviderLimits, Shown, TokensOfImage
from reprise.models.asking.money.prices import Account, Entry, Ledger, Used, needed_budget
from reprise.models.asking.reasons import TRANSIENT
from reprise.models.base import AnswerError, BrokenReplyError, ReplyError, Request
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.settings import RemoteSettings

# Seconds before a request is sent again: at first, at most, and the longest that a server may ask for.
FIRST_WAIT_S, LONGEST_WAIT_S, LONGEST_ASKED_S = 0.5, 30.0, 60.0
JITTER = SystemRandom()
# Of the signs between messages, and what else a vendor's template adds to a prompt.
TEMPLATE_TOKENS = 64
T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Failure(Exception):
    """What an error of an SDK means."""

    error: Exception
    """what the question, or the job, ends with"""
    may_pass: bool = False
    """whether the request may be sent again"""
    wait_s: float | None = None
    """how long the server asks to wait before"""
    is_free: bool = True
    """whether the vendor takes nothing for sure, as for an error that it reports"""


class Estimates:
    """How many tokens questions may take at most, before they are sent; the server's own counts make it narrower."""

    def __init__(self, image_tokens: int | None, by_vendor: TokensOfImage | None, *, is_paid: bool) -> None:
        self._image_tokens, self._by_vendor, self._is_paid = image_tokens, by_vendor, is_paid
        self._counted: dict[tuple[int, int, int], int] = {}

    def worst(self, request: Request, shown: Shown | None, answer_tokens: int) -> Used:
        """A text has at most as many tokens as bytes."""
        words = len((request.system + request.prompt).encode(errors="replace")) + TEMPLATE_TOKENS
        frames = 0
        if shown is not None:
            each = self._image_tokens
            if each is None and self._by_vendor is not None:
                each = self._by_vendor(shown.width, shown.height)
            if each is None and self._is_paid:
                raise UserError(
                    "settings.image_tokens of the model's file: missing. What a question may cost is reserved before "
                    "it is sent, and this vendor does not say here how many tokens a frame counts. Write the most that "
                    "its page names for one image, such as `image_tokens: 1500`."
                )
            frames = self._counted.get(shown[:3], shown.frames * (each or 0))
        return Used(words + frames, answer_tokens)

    def learn(self, shown: Shown | None, tokens_in: int) -> None:
        """A prompt with such frames counted so many tokens, its text among them."""
        if shown is not None and tokens_in:
            self._counted[shown[:3]] = tokens_in


class Calls:
    def __init__(
        self,
        account: Account | None,
        settings: RemoteSettings,
        failure_of: Callable[[Exception, Any], Failure | None],
        estimates: Estimates,
    ) -> None:
        self._settings, self._failure_of, self._estimates = settings, failure_of, estimates
        self._gate = self._payer = None
        if account is not None and settings.limits != ProviderLimits(shared=settings.limits.shared):
            self._gate = Gate(account.store / "limits", settings.limits, urlsplit(settings.url).netloc)
        if account is not None and account.is_paid and settings.key is not None:
            self._payer = Payer(account)

    async def call_free(self, send: Callable[[], Awaitable[T]]) -> T:
        """The reply of a request that nobody pays for, such as one that counts tokens or deletes a file."""
        return await self._repeated(lambda: self._named(send))

    async def call(
        self,
        request: Request,
        shown: Shown | None,
        tokens_out: int,
        send: Callable[[], Awaitable[T]],
        used_by: Callable[[T], Used | None],
        read: Callable[[T], R],
    ) -> R:
        """Send a question with an answer of at most so many tokens, and return what `read` makes of the reply.

        Args:
            used_by: Reads from the reply what it took.
            read: Raises an AnswerError for a reply without an answer; it is asked again where the reason may pass.
        """
        worst = self._estimates.worst(request, shown, tokens_out)

        async def once() -> R:
            async with self._place(worst.total):
                bill = await self._payer.reserve(worst) if self._payer else ""
                taken: Used | None = None  # what it cost is not known, and all that is reserved stays counted
                try:
                    reply = await self._named(send)
                    taken = used_by(reply)
                    self._estimates.learn(shown, taken.input if taken else 0)
                    return _read(read, reply)
                except Failure as failed:
                    taken = Used(0, 0) if failed.is_free else taken
                    raise
                finally:
                    if self._payer is not None:
                        await self._payer.settle(bill, taken)
                    if self._gate is not None and taken is not None:
                        self._gate.correct(worst.total - taken.total)

        return await self._repeated(once)

    async def _repeated(self, attempt_once: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(self._settings.retries + 1):
            try:
                return await attempt_once()
            except Failure as failure:
                wait = failure.wait_s
                if not wait:  # each time about twice as long, and not the same for all
                    wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**attempt) * JITTER.uniform(0.75, 1.0)
                if not failure.may_pass or attempt == self._settings.retries or wait > LONGEST_ASKED_S:
                    raise failure.error from failure.__cause__
                if self._gate is not None and failure.wait_s is not None:
                    self._gate.hold(wait)
                await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _named(self, send: Callable[[], Awaitable[T]]) -> T:
        """A reply, or an error of the SDK as what it means."""
        try:
            return await send()
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, ReplyError | ErrorReply):
                cause = cause.__cause__
            if isinstance(cause, ReplyError):
                raise _failure_of_reply(cause) from error
            failure = self._failure_of(error if cause is None else cause, self._settings)
            if failure is None:
                raise
            raise failure from error

    @asynccontextmanager
    async def _place(self, tokens: int) -> AsyncIterator[None]:
        """A free place among all jobs, once the limits allow a request of so many tokens."""
        with ExitStack() as ends:
            if self._gate is not None and self._settings.limits.concurrency is not None:
                while (place := self._gate.slot()) is None:
                    await asyncio.sleep(0.02 * (1 + JITTER.random()))
                ends.callback(place.release)
            while self._gate is not None and (wait := self._gate.wait_for(tokens)) > 0:
                await asyncio.sleep(min(wait, LONGEST_WAIT_S))
            yield


class Payer:
    """Reserves what requests may cost, and settles what they did."""

    def __init__(self, account: Account) -> None:
        self._account, self._ledger = account, Ledger(account.store)
        self._on_their_way = 0
        self._changed = asyncio.Condition()

    async def reserve(self, worst: Used) -> str:
        """Reserve this; where the budget does not hold it, wait for what own requests give back, or end the job."""
        account, entry = self._account, Entry.of(worst, self._account.price)
        async with self._changed:
            while not (bill := await asyncio.to_thread(self._ledger.reserve, account.name, entry, account.budget)):
                if not self._on_their_way:
                    spent, budget = self._ledger.spent(), account.budget
                    used, most = f"{spent.tokens:,} tokens of {budget.tokens:,} are used", f"take {entry.tokens:,}"
                    if account.price is not None:
                        used, most = f"${spent.usd:.4f} of ${budget.usd:g} are spent", f"cost ${entry.usd:.4f}"
                    raise UserError(
                        f"{account.name}: the budget does not hold another question: {used}, and a question may {most} "
                        f"({self._ledger.path} counts all suites of this store). Answers so far are kept, the other "
                        f"questions were not asked. Raise `{needed_budget(account.price)}:` in the suite, then run the "
                        "same command again."
                    )
                await self._changed.wait()
            self._on_their_way += 1
        return bill

    async def settle(self, bill: str, used: Used | None) -> None:
        """What it took; without it, all that was reserved stays counted."""
        if used is not None:
            await asyncio.to_thread(self._ledger.settle, bill, Entry.of(used, self._account.price))
        async with self._changed:
            self._on_their_way -= 1
            self._changed.notify_all()


def _read(read: Callable[[T], R], reply: T) -> R:
    try:
        return read(reply)
    except AnswerError as error:
        raise _failure_of_reply(error) from error.__cause__


def _failure_of_reply(error: AnswerError) -> Failure:
    """The failure of a reply that came with a status of success, and may have been paid for."""
    return Failure(error, may_pass=isinstance(error, BrokenReplyError) or error.status in TRANSIENT, is_free=False)


def asked_wait(headers: Any) -> float | None:
    """How many seconds a server's headers ask to wait; None where they do not say."""
    milliseconds = retry_after_s(headers.get("retry-after-ms"))
    return (
        retry_after_s(headers.get("retry-after"), headers.get("date")) if milliseconds is None else milliseconds / 1000
    )
