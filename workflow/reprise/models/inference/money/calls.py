"""Requests to a provider, within its rate limits and the budget, with retries.

All adapters of servers send their requests through this module, one after another or concurrently.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import SystemRandom
from typing import Any, TypeVar
from urllib.parse import urlsplit

from reprise.core.errors import UserError
from reprise.core.retry_after import retry_after_s
from reprise.models.base import AnswerError, BrokenReplyError, ReplyError, Request
from reprise.models.inference.money.limits import FrameShape, ImageTokenFormula, ProviderLimits, RateLimiter
from reprise.models.inference.money.prices import Account, Ledger, RequestCost, TokenUsage, get_budget_setting
from reprise.models.inference.reasons import TRANSIENT_REASONS
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.settings import RemoteSettings

# Seconds before a retry: the first time, at most, and the longest wait that a server may ask for.
INITIAL_WAIT_S, MAX_WAIT_S, MAX_RETRY_AFTER_S = 0.5, 30.0, 60.0
JITTER = SystemRandom()
# An allowance for the tokens between messages and whatever else a vendor's template adds to a prompt.
TEMPLATE_TOKENS = 64
T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class ApiFailure(Exception):
    """An interpreted error of a vendor's SDK."""

    error: Exception
    """error to raise for the request, or for the job"""
    is_retryable: bool = False
    """whether a retry may help"""
    wait_s: float | None = None
    """time that the server asks to wait before a retry"""
    is_free: bool = True
    """whether the vendor certainly charges nothing, as for an error that it reports"""


class TokenEstimator:
    """Upper bounds of the tokens of requests before they are sent, refined by the counts that the server reports."""

    def __init__(self, image_tokens: int | None, vendor_formula: ImageTokenFormula | None, *, is_paid: bool) -> None:
        self._image_tokens, self._vendor_formula, self._is_paid = image_tokens, vendor_formula, is_paid
        self._reported: dict[tuple[int, int, int], int] = {}

    def estimate_max_usage(self, request: Request, frames: FrameShape | None, answer_tokens: int) -> TokenUsage:
        """Return the most tokens that a request may use; a text has at most as many tokens as bytes."""
        text_tokens = len((request.system + request.prompt).encode(errors="replace")) + TEMPLATE_TOKENS
        frames_tokens = 0
        if frames is not None:
            tokens_per_frame = self._image_tokens
            if tokens_per_frame is None and self._vendor_formula is not None:
                tokens_per_frame = self._vendor_formula(frames.width, frames.height)
            if tokens_per_frame is None and self._is_paid:
                raise UserError(
                    "settings.image_tokens of the model's file: missing. The maximum cost of a request is reserved "
                    "before it is sent, and the number of tokens of a frame is unknown for this vendor. Set it to the "
                    "maximum that the vendor documents for one image, such as `image_tokens: 1500`."
                )
            frames_tokens = self._reported.get(frames[:3], frames.frames * (tokens_per_frame or 0))
        return TokenUsage(text_tokens + frames_tokens, answer_tokens)

    def record(self, frames: FrameShape | None, tokens_in: int) -> None:
        """Record the tokens that the server counted for a prompt with frames of this number and size, with its text."""
        if frames is not None and tokens_in:
            self._reported[frames[:3]] = tokens_in


class ApiCaller:
    """The requests of one model: each passes the rate limits and the budget, and is retried where that may help."""

    def __init__(
        self,
        account: Account | None,
        settings: RemoteSettings,
        classify_error: Callable[[Exception, Any], ApiFailure | None],
        estimates: TokenEstimator,
    ) -> None:
        self._settings, self._classify_error, self._estimates = settings, classify_error, estimates
        self._limiter = self._budget = None
        if account is not None and settings.limits != ProviderLimits(shared=settings.limits.shared):
            self._limiter = RateLimiter(account.store / "limits", settings.limits, urlsplit(settings.url).netloc)
        if account is not None and account.is_paid and settings.key is not None:
            self._budget = BudgetGuard(account)

    async def call_free(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request that is free of charge, such as one that counts tokens or deletes a file."""
        return await self._retry(lambda: self._interpret(send))

    async def call(
        self,
        request: Request,
        frames: FrameShape | None,
        tokens_out: int,
        send: Callable[[], Awaitable[T]],
        get_usage: Callable[[T], TokenUsage | None],
        parse_reply: Callable[[T], R],
    ) -> R:
        """Send a request whose answer has at most `tokens_out` tokens, and return the parsed reply.

        Args:
            get_usage: Returns the tokens that a reply used, or None if it does not report them.
            parse_reply: Raises an AnswerError for a reply without an answer; transient ones are retried.
        """
        max_usage = self._estimates.estimate_max_usage(request, frames, tokens_out)

        async def attempt_once() -> R:
            async with self._permit(max_usage.total):
                reservation = await self._budget.reserve(max_usage) if self._budget else ""
                usage: TokenUsage | None = None  # While the cost is unknown, the whole reservation stays counted.
                try:
                    reply = await self._interpret(send)
                    usage = get_usage(reply)
                    self._estimates.record(frames, usage.input if usage else 0)
                    return _parse(parse_reply, reply)
                except ApiFailure as failure:
                    usage = TokenUsage(0, 0) if failure.is_free else usage
                    raise
                finally:
                    if self._budget is not None:
                        await self._budget.settle(reservation, usage)
                    if self._limiter is not None and usage is not None:
                        self._limiter.refund(max_usage.total - usage.total)

        return await self._retry(attempt_once)

    async def _retry(self, attempt_once: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(self._settings.retries + 1):
            try:
                return await attempt_once()
            except ApiFailure as failure:
                wait = failure.wait_s
                if not wait:  # Exponential backoff with jitter.
                    wait = min(MAX_WAIT_S, INITIAL_WAIT_S * 2**attempt) * JITTER.uniform(0.75, 1.0)
                if not failure.is_retryable or attempt == self._settings.retries or wait > MAX_RETRY_AFTER_S:
                    raise failure.error from failure.__cause__
                if self._limiter is not None and failure.wait_s is not None:
                    self._limiter.pause(wait)
                await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _interpret(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return the reply; raise an error of the SDK as an ApiFailure."""
        try:
            return await send()
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, ReplyError | ErrorReply):
                cause = cause.__cause__
            if isinstance(cause, ReplyError):
                raise _failure_of_reply(cause) from error
            failure = self._classify_error(error if cause is None else cause, self._settings)
            if failure is None:
                raise
            raise failure from error

    @asynccontextmanager
    async def _permit(self, tokens: int) -> AsyncIterator[None]:
        """Hold one of the slots that all jobs share, once the limits allow a request with this many tokens."""
        with ExitStack() as stack:
            if self._limiter is not None and self._settings.limits.concurrency is not None:
                while (slot := self._limiter.acquire_slot()) is None:
                    await asyncio.sleep(0.02 * (1 + JITTER.random()))
                stack.callback(slot.release)
            while self._limiter is not None and (wait := self._limiter.try_acquire(tokens)) > 0:
                await asyncio.sleep(min(wait, MAX_WAIT_S))
            yield


class BudgetGuard:
    """The account of a run: it reserves the most that a request may cost, and then settles the actual cost."""

    def __init__(self, account: Account) -> None:
        self._account, self._ledger = account, Ledger(account.store)
        self._in_flight = 0
        self._changed = asyncio.Condition()

    async def reserve(self, max_usage: TokenUsage) -> str:
        """Reserve the cost of a request; if the budget is too small, wait for requests in flight, or end the job."""
        account, cost = self._account, RequestCost.from_usage(max_usage, self._account.price)
        reserve = partial(self._ledger.reserve, account.name, cost, account.budget)
        async with self._changed:
            while not (reservation := await asyncio.to_thread(reserve)):
                if not self._in_flight:
                    spent, budget = self._ledger.spent(), account.budget
                    usage, maximum = f"{spent.tokens:,} tokens of {budget.tokens:,} are used", f"use {cost.tokens:,}"
                    if account.price is not None:
                        usage, maximum = f"${spent.usd:.4f} of ${budget.usd:g} are spent", f"cost ${cost.usd:.4f}"
                    raise UserError(
                        f"{account.name}: the budget is too small for another request: {usage}, and a request may "
                        f"{maximum} ({self._ledger.path} counts all suites of this store). Answers so far are kept; "
                        f"the remaining requests were not sent. Raise `{get_budget_setting(account.price)}:` in the "
                        "suite, then run the same command again."
                    )
                await self._changed.wait()
            self._in_flight += 1
        return reservation

    async def settle(self, reservation_id: str, usage: TokenUsage | None) -> None:
        """Replace a reservation by the actual usage; without one, the whole reservation stays counted."""
        if usage is not None:
            await asyncio.to_thread(
                self._ledger.settle, reservation_id, RequestCost.from_usage(usage, self._account.price)
            )
        async with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()


def _parse(parse_reply: Callable[[T], R], reply: T) -> R:
    try:
        return parse_reply(reply)
    except AnswerError as error:
        raise _failure_of_reply(error) from error.__cause__


def _failure_of_reply(error: AnswerError) -> ApiFailure:
    """Return the failure of a reply with a successful status, for which the vendor may have charged."""
    return ApiFailure(
        error, is_retryable=isinstance(error, BrokenReplyError) or error.status in TRANSIENT_REASONS, is_free=False
    )


def parse_retry_after(headers: Any) -> float | None:
    """Return the seconds that a server's headers ask to wait; None if they name no time."""
    milliseconds = retry_after_s(headers.get("retry-after-ms"))
    return (
        retry_after_s(headers.get("retry-after"), headers.get("date")) if milliseconds is None else milliseconds / 1000
    )
