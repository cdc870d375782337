"""Requests to a provider, within its rate limits and the budget, with retries.

All adapters of servers send their requests through this module, one after another or concurrently.
"""

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

# Seconds before a retry: the first time, at most, and the longest wait that a server may ask for.
FIRST_WAIT_S, LONGEST_WAIT_S, LONGEST_ASKED_S = 0.5, 30.0, 60.0
JITTER = SystemRandom()
# An allowance for the tokens between messages and whatever else a vendor's template adds to a prompt.
TEMPLATE_TOKENS = 64
T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Failure(Exception):
    """An interpreted error of a vendor's SDK."""

    error: Exception
    """error to raise for the request, or for the job"""
    may_pass: bool = False
    """whether a retry may help"""
    wait_s: float | None = None
    """time that the server asks to wait before a retry"""
    is_free: bool = True
    """whether the vendor certainly charges nothing, as for an error that it reports"""


class Estimates:
    """Upper bounds of the tokens of requests before they are sent, refined by the counts that the server reports."""

    def __init__(self, image_tokens: int | None, vendor_formula: TokensOfImage | None, *, is_paid: bool) -> None:
        self._image_tokens, self._vendor_formula, self._is_paid = image_tokens, vendor_formula, is_paid
        self._reported: dict[tuple[int, int, int], int] = {}

    def worst(self, request: Request, frames: Shown | None, answer_tokens: int) -> Used:
        """Return the most tokens that a request may use; a text has at most as many tokens as bytes."""
        text_tokens = len((request.system + request.prompt).encode(errors="replace")) + TEMPLATE_TOKENS
        frames_tokens = 0
        if frames is not None:
            tokens_per_frame = self._image_tokens
            if tokens_per_frame is None and self._vendor_formula is not None:
                tokens_per_frame = self._vendor_formula(frames.width, frames.height)
            if tokens_per_frame is None and self._is_paid:
                raise UserError(
                    "settings.image_tokens of the model's file: missing. What a question may cost is reserved before "
                    "it is sent, and this vendor does not say here how many tokens a frame counts. Write the most that "
                    "its page names for one image, such as `image_tokens: 1500`."
                )
            frames_tokens = self._reported.get(frames[:3], frames.frames * (tokens_per_frame or 0))
        return Used(text_tokens + frames_tokens, answer_tokens)

    def learn(self, frames: Shown | None, tokens_in: int) -> None:
        """Record the tokens that the server counted for a prompt with such frames, its text included."""
        if frames is not None and tokens_in:
            self._reported[frames[:3]] = tokens_in


class Calls:
    """The requests of one model: each passes the rate limits and the budget, and is retried where that may help."""

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
        """Send a request that is free of charge, such as one that counts tokens or deletes a file."""
        return await self._retry(lambda: self._interpret(send))

    async def call(
        self,
        request: Request,
        frames: Shown | None,
        tokens_out: int,
        send: Callable[[], Awaitable[T]],
        used_by: Callable[[T], Used | None],
        read: Callable[[T], R],
    ) -> R:
        """Send a request whose answer has at most `tokens_out` tokens, and return the reply as `read` converts it.

        Args:
            used_by: Returns the tokens that a reply used, or None if it does not say.
            read: Raises an AnswerError for a reply without an answer; the request is retried if the reason may pass.
        """
        worst = self._estimates.worst(request, frames, tokens_out)

        async def attempt_once() -> R:
            async with self._permit(worst.total):
                bill = await self._payer.reserve(worst) if self._payer else ""
                usage: Used | None = None  # While the cost is unknown, the whole reservation stays counted.
                try:
                    reply = await self._interpret(send)
                    usage = used_by(reply)
                    self._estimates.learn(frames, usage.input if usage else 0)
                    return _read(read, reply)
                except Failure as failure:
                    usage = Used(0, 0) if failure.is_free else usage
                    raise
                finally:
                    if self._payer is not None:
                        await self._payer.settle(bill, usage)
                    if self._gate is not None and usage is not None:
                        self._gate.correct(worst.total - usage.total)

        return await self._retry(attempt_once)

    async def _retry(self, attempt_once: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(self._settings.retries + 1):
            try:
                return await attempt_once()
            except Failure as failure:
                wait = failure.wait_s
                if not wait:  # Exponential backoff with jitter.
                    wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**attempt) * JITTER.uniform(0.75, 1.0)
                if not failure.may_pass or attempt == self._settings.retries or wait > LONGEST_ASKED_S:
                    raise failure.error from failure.__cause__
                if self._gate is not None and failure.wait_s is not None:
                    self._gate.hold(wait)
                await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _interpret(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return the reply; raise an error of the SDK as a Failure."""
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
    async def _permit(self, tokens: int) -> AsyncIterator[None]:
        """Hold one of the slots that all jobs share, once the limits allow a request with this many tokens."""
        with ExitStack() as stack:
            if self._gate is not None and self._settings.limits.concurrency is not None:
                while (slot := self._gate.slot()) is None:
                    await asyncio.sleep(0.02 * (1 + JITTER.random()))
                stack.callback(slot.release)
            while self._gate is not None and (wait := self._gate.wait_for(tokens)) > 0:
                await asyncio.sleep(min(wait, LONGEST_WAIT_S))
            yield


class Payer:
    """The account of a run: it reserves the most that a request may cost, and then settles the actual cost."""

    def __init__(self, account: Account) -> None:
        self._account, self._ledger = account, Ledger(account.store)
        self._in_flight = 0
        self._changed = asyncio.Condition()

    async def reserve(self, worst: Used) -> str:
        """Reserve the cost of a request; where the budget is too small, wait for requests in flight, or end the job."""
        account, entry = self._account, Entry.of(worst, self._account.price)
        async with self._changed:
            while not (bill := await asyncio.to_thread(self._ledger.reserve, account.name, entry, account.budget)):
                if not self._in_flight:
                    spent, budget = self._ledger.spent(), account.budget
                    usage, cost = f"{spent.tokens:,} tokens of {budget.tokens:,} are used", f"take {entry.tokens:,}"
                    if account.price is not None:
                        usage, cost = f"${spent.usd:.4f} of ${budget.usd:g} are spent", f"cost ${entry.usd:.4f}"
                    raise UserError(
                        f"{account.name}: the budget does not hold another question: {usage}, and a question may "
                        f"{cost} ({self._ledger.path} counts all suites of this store). Answers so far are kept, the "
                        f"other questions were not asked. Raise `{needed_budget(account.price)}:` in the suite, then "
                        "run the same command again."
                    )
                await self._changed.wait()
            self._in_flight += 1
        return bill

    async def settle(self, bill: str, usage: Used | None) -> None:
        """Replace a reservation by the actual usage; without one, the whole reservation stays counted."""
        if usage is not None:
            await asyncio.to_thread(self._ledger.settle, bill, Entry.of(usage, self._account.price))
        async with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()


def _read(read: Callable[[T], R], reply: T) -> R:
    try:
        return read(reply)
    except AnswerError as error:
        raise _failure_of_reply(error) from error.__cause__


def _failure_of_reply(error: AnswerError) -> Failure:
    """Return the failure of a reply that came with a status of success, so the vendor may have charged for it."""
    return Failure(error, may_pass=isinstance(error, BrokenReplyError) or error.status in TRANSIENT, is_free=False)


def asked_wait(headers: Any) -> float | None:
    """Return the seconds that a server's headers ask to wait, or None if they do not say."""
    milliseconds = retry_after_s(headers.get("retry-after-ms"))
    return (
        retry_after_s(headers.get("retry-after"), headers.get("date")) if milliseconds is None else milliseconds / 1000
    )
