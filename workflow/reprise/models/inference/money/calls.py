"""Send requests to a provider within its rate limits and the budget, and retry them.

All adapters for servers use this module.
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
from reprise.core.retry_after import parse_retry_after_s
from reprise.models.base import AnswerError, BrokenReplyError, ReplyError, Request
from reprise.models.inference.money.limits import FrameShape, ImageTokenFormula, ProviderLimits, RateLimiter
from reprise.models.inference.money.prices import Account, Ledger, RequestCost, TokenUsage, get_budget_setting
from reprise.models.inference.reasons import TRANSIENT_REASONS
from reprise.models.remote.error_replies import ErrorReply
from reprise.models.remote.settings import RemoteSettings

# Wait before the first retry, longest wait by exponential backoff, and longest wait that a server may request.
INITIAL_WAIT_S, MAX_WAIT_S, MAX_RETRY_AFTER_S = 0.5, 30.0, 60.0
JITTER = SystemRandom()
# An allowance for the tokens that a vendor's template adds to a prompt, such as those between messages.
TEMPLATE_TOKENS = 64
T = TypeVar("T")  # reply of a vendor's SDK
R = TypeVar("R")  # parsed reply


@dataclass(eq=False)
class ApiFailure(Exception):
    """A failed call, with the error to raise and whether the call can be retried and may have cost money."""

    error: Exception
    """error to raise for the request, or for the job"""
    is_retryable: bool = False
    """whether a retry may help"""
    wait_s: float | None = None
    """seconds that the server tells the client to wait before a retry"""
    is_free: bool = True
    """whether the vendor certainly charges nothing, for example because it reports an error"""


class TokenEstimator:
    """Estimate the maximum tokens of requests before they are sent, from earlier counts of the server if possible."""

    def __init__(self, image_tokens: int | None, vendor_formula: ImageTokenFormula | None, *, is_paid: bool) -> None:
        self._image_tokens, self._vendor_formula, self._is_paid = image_tokens, vendor_formula, is_paid
        self._reported_tokens: dict[FrameShape, int] = {}

    def estimate_max_usage(
        self, request: Request, frame_shape: FrameShape | None, max_answer_tokens: int
    ) -> TokenUsage:
        """Return the most tokens that a request may use; a text has at most as many tokens as bytes."""
        text_tokens = len((request.system + request.prompt).encode(errors="replace")) + TEMPLATE_TOKENS
        frames_tokens = 0
        if frame_shape is not None:
            tokens_per_frame = self._image_tokens
            if tokens_per_frame is None and self._vendor_formula is not None:
                tokens_per_frame = self._vendor_formula(frame_shape.width, frame_shape.height)
            if tokens_per_frame is None and self._is_paid:
                raise UserError(
                    "settings.image_tokens of the model's file: missing. The maximum cost of a request is reserved "
                    "before it is sent, and the number of tokens of a frame is unknown for this vendor. Set it to the "
                    "maximum that the vendor documents for one image, such as `image_tokens: 1500`."
                )
            frames_tokens = self._reported_tokens.get(frame_shape, frame_shape.frame_count * (tokens_per_frame or 0))
        return TokenUsage(text_tokens + frames_tokens, max_answer_tokens)

    def record(self, frame_shape: FrameShape | None, tokens_in: int) -> None:
        """Record the tokens that the server counted for a prompt, including its text, with frames of this shape."""
        if frame_shape is not None and tokens_in:
            self._reported_tokens[frame_shape] = tokens_in


class ApiCaller:
    """Send the requests of one model within the rate limits and the budget; retry those for which it may help."""

    def __init__(
        self,
        account: Account | None,
        settings: RemoteSettings,
        classify_error: Callable[[Exception, Any], ApiFailure | None],
        estimator: TokenEstimator,
    ) -> None:
        self._settings, self._classify_error, self._estimator = settings, classify_error, estimator
        self._limiter = self._budget = None
        # Without any limit, no limiter is needed; `shared` is only a name.
        if account is not None and settings.limits != ProviderLimits(shared=settings.limits.shared):
            self._limiter = RateLimiter(account.store_folder / "limits", settings.limits, urlsplit(settings.url).netloc)
        if account is not None and account.is_paid and settings.key is not None:
            self._budget = BudgetGuard(account)

    async def call_free(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request that is free of charge, such as one that counts tokens or deletes a file."""
        return await self._retry(lambda: self._send_once(send))

    async def call(
        self,
        request: Request,
        frame_shape: FrameShape | None,
        max_answer_tokens: int,
        send: Callable[[], Awaitable[T]],
        get_usage: Callable[[T], TokenUsage | None],
        parse_reply: Callable[[T], R],
    ) -> R:
        """Send a request whose answer has at most `max_answer_tokens` tokens, and return the parsed reply.

        Args:
            get_usage: Returns the tokens that a reply used, or None if it does not report them.
            parse_reply: Raises an AnswerError for a reply without an answer; transient ones are retried.
        """
        max_usage = self._estimator.estimate_max_usage(request, frame_shape, max_answer_tokens)

        async def attempt_once() -> R:
            async with self._hold_slot(max_usage.total):
                reservation = await self._budget.reserve(max_usage) if self._budget else ""
                usage: TokenUsage | None = None  # While the usage is unknown, the whole reservation counts.
                try:
                    reply = await self._send_once(send)
                    usage = get_usage(reply)
                    self._estimator.record(frame_shape, usage.input if usage else 0)
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

    async def _send_once(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return the reply to a request; convert an error of the SDK into an ApiFailure."""
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
    async def _hold_slot(self, tokens: int) -> AsyncIterator[None]:
        """Wait until the rate limits allow a request with this many tokens, and hold a slot that all jobs share."""
        with ExitStack() as stack:
            if self._limiter is not None and self._settings.limits.concurrency is not None:
                while (slot := self._limiter.acquire_slot()) is None:
                    await asyncio.sleep(0.02 * (1 + JITTER.random()))
                stack.callback(slot.release)
            while self._limiter is not None and (wait := self._limiter.try_acquire(tokens)) > 0:
                await asyncio.sleep(min(wait, MAX_WAIT_S))
            yield


class BudgetGuard:
    """Reserve the maximum cost of each request in the ledger, and replace it by the actual cost afterwards."""

    def __init__(self, account: Account) -> None:
        self._account, self._ledger = account, Ledger(account.store_folder)
        self._in_flight = 0
        self._request_settled = asyncio.Condition()

    async def reserve(self, max_usage: TokenUsage) -> str:
        """Reserve the cost of a request and return the reservation's id.

        If the budget is too small, wait for requests in flight; if there are none, raise a UserError.
        """
        account, cost = self._account, RequestCost.from_usage(max_usage, self._account.price)
        reserve = partial(self._ledger.reserve, account.name, cost, account.budget)
        async with self._request_settled:
            while not (reservation := await asyncio.to_thread(reserve)):
                if not self._in_flight:
                    spending, budget = self._ledger.read_spending(), account.budget
                    used_text = f"{spending.tokens:,} tokens of {budget.tokens:,} are used"
                    cost_text = f"use {cost.tokens:,}"
                    if account.price is not None:
                        used_text = f"${spending.usd:.4f} of ${budget.usd:g} are spent"
                        cost_text = f"cost ${cost.usd:.4f}"
                    raise UserError(
                        f"{account.name}: the budget is too small for another request: {used_text}, and a request "
                        f"may {cost_text} ({self._ledger.path} counts all suites of this store). Answers so far are "
                        f"kept; the remaining requests were not sent. Raise `{get_budget_setting(account.price)}:` in "
                        "the suite, then run the same command again."
                    )
                await self._request_settled.wait()
            self._in_flight += 1
        return reservation

    async def settle(self, reservation_id: str, usage: TokenUsage | None) -> None:
        """Replace a reservation by the actual usage; if the usage is unknown, the whole reservation counts."""
        if usage is not None:
            await asyncio.to_thread(
                self._ledger.settle, reservation_id, RequestCost.from_usage(usage, self._account.price)
            )
        async with self._request_settled:
            self._in_flight -= 1
            self._request_settled.notify_all()


def _parse(parse_reply: Callable[[T], R], reply: T) -> R:
    try:
        return parse_reply(reply)
    except AnswerError as error:
        raise _failure_of_reply(error) from error.__cause__


def _failure_of_reply(error: AnswerError) -> ApiFailure:
    """Return the failure for a reply with a successful status, which the vendor may have billed."""
    is_retryable = isinstance(error, BrokenReplyError) or error.status in TRANSIENT_REASONS
    return ApiFailure(error, is_retryable=is_retryable, is_free=False)


def parse_retry_after(headers: Any) -> float | None:
    """Return the seconds that a server's headers tell the client to wait; None if they name no time."""
    milliseconds = parse_retry_after_s(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    return parse_retry_after_s(headers.get("retry-after"), headers.get("date"))
