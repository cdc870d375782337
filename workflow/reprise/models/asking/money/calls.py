"""Requests to a provider, one after another or many at a time: within its limits, within the budget, sent again where
that may help. All adapters of servers send through this."""

import asyncio
from collections.abc import Awaitable, Callable
from random import SystemRandom
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from filelock import FileLock

from reprise.core.errors import UserError
from reprise.models.asking.money.ledger import Entry, Ledger
from reprise.models.asking.money.limits import Gate
from reprise.models.asking.money.prices import Account, Used, needed_budget
from reprise.models.base import ReplyError
from reprise.models.remote.settings import RemoteSettings

# Seconds before a request is sent again: at first, at most, and the longest that a server may ask for.
FIRST_WAIT_S, LONGEST_WAIT_S, LONGEST_ASKED_S = 0.5, 30.0, 60.0
# Between looks for a free place among all jobs.
LOOK_S = 0.02
JITTER = SystemRandom()
T = TypeVar("T")


class Failure(NamedTuple):
    """What an error of an SDK means."""

    error: Exception
    """what the question, or the job, ends with"""
    may_pass: bool = False
    """whether the request may be sent again"""
    wait_s: float | None = None
    """how long the server asks to wait before"""
    is_free: bool = True
    """whether the vendor takes nothing for sure, as for an error that it reports"""


class Calls:
    """Sends the requests of one job."""

    def __init__(
        self, account: Account | None, settings: RemoteSettings, failure_of: Callable[[Exception], Failure | None]
    ) -> None:
        self._retries, self._limits, self._failure_of = settings.retries, settings.limits, failure_of
        self._gate: Gate | None = None
        if account is not None and settings.limits.are_set:
            host = settings.limits.shared or urlsplit(settings.url).netloc
            self._gate = Gate(account.store / "limits", settings.limits, host)
        is_paid = account is not None and account.is_paid and settings.key is not None
        self._payer = Payer(account) if account is not None and is_paid else None

    async def call_free(self, send: Callable[[], Awaitable[T]]) -> T:
        """The reply of a request that nobody pays for, such as one that counts tokens or deletes a file."""
        return await self._repeated(lambda: self._named(send))

    async def call(self, worst: Used, send: Callable[[], Awaitable[T]], used_by: Callable[[T], Used | None]) -> T:
        """The reply of a request that takes at most so many tokens; `used_by` reads from it what it took."""
        return await self._repeated(lambda: self._once(worst, send, used_by))

    async def _repeated(self, attempt_once: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(self._retries + 1):
            try:
                return await attempt_once()
            except _CallFailedError as failed:
                failure = failed.failure
                wait = backoff(attempt) if failure.wait_s is None else failure.wait_s
                if not failure.may_pass or attempt == self._retries or wait > LONGEST_ASKED_S:
                    raise failure.error from failed.__cause__
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
            while cause is not None and not isinstance(cause, ReplyError):
                cause = cause.__cause__
            failure = self._failure_of(error) if cause is None else Failure(cause, is_free=False)
            if failure is None:
                raise
            raise _CallFailedError(failure) from error

    async def _once(self, worst: Used, send: Callable[[], Awaitable[T]], used_by: Callable[[T], Used | None]) -> T:
        place = await self._pass(worst.total)
        try:
            bill = await self._payer.reserve(worst) if self._payer else ""
            taken: Used | None = None  # what it cost is not known, and all that is reserved stays counted
            try:
                reply = await self._named(send)
                taken = used_by(reply)
                return reply
            except _CallFailedError as failed:
                taken = Used(0, 0) if failed.failure.is_free else None
                raise
            finally:
                if self._payer is not None:
                    await self._payer.settle(bill, taken)
                if self._gate is not None and taken is not None:
                    self._gate.correct(worst.total - taken.total)
        finally:
            if place is not None:
                place.release()

    async def _pass(self, tokens: int) -> FileLock | None:
        """Wait for a free place, and until the limits allow a request of so many tokens."""
        if self._gate is None:
            return None
        place = None
        if self._limits.concurrency is not None:
            while (place := self._gate.slot()) is None:
                await asyncio.sleep(LOOK_S * (1 + JITTER.random()))
        try:
            while (wait := self._gate.wait_for(tokens)) > 0:
                await asyncio.sleep(min(wait, LONGEST_WAIT_S))
        except BaseException:
            if place is not None:
                place.release()
            raise
        return place


class _CallFailedError(Exception):
    """One attempt failed in a way that has a name."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


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
                    raise self._used_up(entry)
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

    def _used_up(self, entry: Entry) -> UserError:
        spent, budget, price = self._ledger.spent(), self._account.budget, self._account.price
        if price is None:
            numbers = f"{spent.tokens:,} tokens of {budget.tokens:,} are used, and a question may take {entry.tokens:,}"
        else:
            numbers = f"${spent.usd:.4f} of ${budget.usd:g} are spent, and a question may cost ${entry.usd:.4f}"
        return UserError(
            f"{self._account.name}: the budget does not hold another question: {numbers} ({self._ledger.path} counts "
            "all suites of this store). Answers so far are kept, the other questions were not asked. Raise "
            f"`{needed_budget(price)}:` in the suite, then run the same command again."
        )


def backoff(attempt: int) -> float:
    """Seconds to wait after so many tries, each time about twice as long, and not the same for all."""
    return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**attempt) * JITTER.uniform(0.75, 1.0))


def asked_wait(headers: object) -> float | None:
    """How many seconds a server's headers ask to wait; None where they do not say."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name)) * unit_s)  # type: ignore[attr-defined]
        except (AttributeError, TypeError, ValueError):
            continue
    return None
