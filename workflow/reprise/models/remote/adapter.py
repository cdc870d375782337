"""Provide the base class and shared functions of the adapters for servers.

They handle API keys, limits, the preparation of clips and concurrent requests. Replies are read up to a maximum size.
Each reply or error becomes an answer, a named failure of one request, or a `UserError`, which ends the job because no
request would succeed.
"""

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from reprise.core.bounded import BoundedReader, ContentEncodingError, DecompressionError, TooLargeError
from reprise.core.errors import UserError
from reprise.core.plain import sanitize_line, truncate
from reprise.models.base import (
    Answer,
    AnswerError,
    BrokenReplyError,
    ClipFrames,
    CompletedResponse,
    ModelSpec,
    PendingRequests,
    ReplyError,
    Request,
)
from reprise.models.inference.money.calls import (
    MAX_RETRY_AFTER_S,
    ApiCaller,
    ApiFailure,
    TokenEstimator,
    parse_retry_after,
)
from reprise.models.inference.money.limits import ImageTokenFormula
from reprise.models.inference.money.prices import TokenUsage
from reprise.models.inference.workers import ClipPrefetcher, get_prepared_clip, prepare_clip
from reprise.models.remote.dispatch import OpenClip, send_requests
from reprise.models.remote.error_replies import ErrorReply, has_error, has_result
from reprise.models.remote.images_preparer import EncodedFrames, ImagesPreparer
from reprise.models.remote.settings import RemoteSettings

PREPARER = f"{ImagesPreparer.__module__}:{ImagesPreparer.__name__}"
ClipOpener = Callable[[PendingRequests, EncodedFrames | None, dict[str, float]], OpenClip]
"""function that makes a clip ready for its requests.

Its arguments are the pending requests, the encoded frames (None if no frames are sent) and the seconds of each step of
the preparation.
"""
R = TypeVar("R", bound=BaseModel)

# Each connection serves one request. On a reused connection, surplus bytes of a server or proxy, such as a repeated
# reply, could be read as the answer to the next request. The expiry is negative because aiohttp reuses a connection of
# age 0.
NO_KEEPALIVE = httpx2.Limits(max_connections=1000, max_keepalive_connections=0, keepalive_expiry=-1)
# A longer reply is rejected. No answer needs this much, and a faulty server could fill the memory.
MAX_REPLY_BYTES = 1_000_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # Some servers put it before the JSON, where parsers reject it.
# Messages quote this much of a malformed reply.
EXCERPT_CHARACTERS = 120
# Words in finish reasons of any vendor that mean that the server failed to complete the answer.
SERVER_FAILURE = re.compile(r"error|abort|cancel|time_?d?_?out|fail|interrupt|disconnect|preempt|shutdown|deadline"
                            r"|overload|insufficient_system_resource")  # fmt: skip
# SDKs need only the headers with this prefix. All others are dropped, because SDKs log headers, which may repeat the
# key, and because SDKs would decode the content again.
UPLOAD_HEADER_PREFIX = "x-goog-upload-"

PAYMENT_REQUIRED = 402
# HTTP status that no request of the run would escape -> what the server does, for the message.
CONFIGURATION_ERRORS = {
    401: "rejects the key",
    PAYMENT_REQUIRED: "has no credit left for this key",
    403: "denies access: the key may not use the model, or the server is not available in this region",
    404: "does not know the model or the address",
}
# Statuses below 500 that tell the client to try again.
RETRYABLE_STATUSES = frozenset({408, 409, 421, 423, 424, 425})


class RemoteAdapter(ABC):
    """A model at a server, which answers many requests concurrently; answers of other models are rejected."""

    image_token_formula: ImageTokenFormula | None = None
    """the vendor's upper bound of the tokens of an image"""
    should_upload_clips = False
    """whether clips are uploaded as files instead of frames"""

    def __init__(self, spec: ModelSpec, settings: RemoteSettings) -> None:
        self._spec, self._remote_settings, self._key = spec, settings, _read_key(settings)
        self._is_paid = settings.key is not None and (spec.account is None or spec.account.is_paid)
        self._estimator = TokenEstimator(settings.image_tokens, self.image_token_formula, is_paid=self._is_paid)

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[ClipOpener]:
        """Connect to the server for the duration of one call."""

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        """Send the requests about one clip together and yield their answers in order."""
        pending = PendingRequests(clip, tuple(requests))
        answers = {response.request.request_id: response.answer for response in self.answers_in_any_order([pending])}
        yield from (answers[request.request_id] for request in pending.requests)

    def answers_in_any_order(self, pending_requests: Sequence[PendingRequests]) -> Iterator[CompletedResponse]:
        """Yield each answer as soon as it arrives."""
        largest_clip = max(
            (pending.clip for pending in pending_requests), key=lambda clip: clip.picture_count, default=None
        )
        limit = self._remote_settings.max_images
        if (
            largest_clip is not None
            and not self.should_upload_clips
            and limit is not None
            and largest_clip.picture_count > limit
        ):
            raise UserError(  # raised before any request is billed
                f"clip '{largest_clip.clip_id}' has {largest_clip.picture_count} frames, but settings.max_images of "
                f"the model's file is {limit}. Use a sampling with fewer frames, or correct `max_images`."
            )
        return send_requests(
            lambda: self._open_connection(pending_requests), pending_requests, self._remote_settings.concurrency
        )

    def create_api_caller(self, classify_error: Callable[[Exception, Any], ApiFailure | None]) -> ApiCaller:
        """Return the object that sends the requests of a connection.

        Args:
            classify_error: Function that classifies an error of the SDK, or returns None for an unknown error.
        """
        return ApiCaller(self._spec.account, self._remote_settings, classify_error, self._estimator)

    @asynccontextmanager
    async def _open_connection(
        self, pending_requests: Sequence[PendingRequests]
    ) -> AsyncIterator[Callable[[PendingRequests], Awaitable[OpenClip]]]:
        """Yield a function that opens clips on one connection; with several clips, prepare the next ones ahead."""
        pending_with_frames = (
            [] if self.should_upload_clips else [pending for pending in pending_requests if pending.clip.indices]
        )
        prefetcher_context: AbstractContextManager[ClipPrefetcher | None] = nullcontext()
        if len(pending_with_frames) > 1:
            prefetcher_context = ClipPrefetcher(PREPARER, self._spec, self._spec.threads)
        with prefetcher_context as prefetcher:
            prepare: Callable[..., Any] = partial(prepare_clip, partial(ImagesPreparer, self._spec))
            if prefetcher is not None:
                prefetcher.set_upcoming(iter(pending_with_frames))
                prepare = prefetcher.take
            async with self.connect() as open_prepared:

                async def open_clip(pending: PendingRequests) -> OpenClip:
                    await asyncio.to_thread(pending.verify_clip)
                    if not pending.clip.indices or self.should_upload_clips:
                        return open_prepared(pending, None, {})
                    clip = get_prepared_clip(await asyncio.to_thread(prepare, pending.clip, pending.requests))
                    return open_prepared(pending, clip.inputs, clip.step_seconds)

                yield open_clip


def _read_key(settings: RemoteSettings) -> str:
    """Return the API key from the configured environment variable."""
    if settings.key is None:
        return "none"
    key = os.environ.get(settings.key, "").strip()
    if not key:
        raise UserError(
            f"settings.key of the model's file: the environment variable '{settings.key}' is not set. Export it with "
            f"the key of {settings.url}, then run the same command again."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(
            f"the environment variable '{settings.key}' does not hold a valid key: it contains spaces or other "
            "characters that keys do not have. Correct it, then run the same command again."
        )
    return key


# --- sending requests and reading replies -----------------------------------------------------------------------------


def prepare_post(client: Any, path: str, body: bytes) -> Callable[[], Awaitable[httpx2.Response]]:
    """Return a function that posts a JSON body with the client of a vendor's SDK."""
    options = {"headers": {"Content-Type": "application/json"}}
    return partial(client.post, path, cast_to=httpx2.Response, content=body, options=options)


class BoundedClient:
    """Mixin for asynchronous HTTP clients that protects against untrusted servers.

    It limits the size and the time of a reply and rejects redirects. In the bases of a class, it must precede the
    client.
    """

    deadline_s: float | None = None
    """maximum seconds from sending a request to receiving the last byte of its reply"""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"limits": NO_KEEPALIVE, **options})

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "gzip, deflate"
        request.headers["Connection"] = "close"
        options["follow_redirects"] = False
        try:
            async with asyncio.timeout(self.deadline_s):
                response: httpx2.Response = await super().send(request, stream=True, **options)  # type: ignore[misc]
                try:
                    if response.has_redirect_location:  # only the configured URL is trusted
                        target = urlsplit(str(response.url.join(response.headers["location"])))
                        raise ReplyError(
                            "bad_request",
                            f"HTTP {response.status_code}: the server redirects to {target.scheme}://"
                            f"{sanitize_line(target.netloc.rpartition('@')[2] + target.path)}, which Reprise does not "
                            "follow. Correct `settings.url` in the model's file",
                        )
                    content = await _read_content(response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no complete reply before the timeout", request=request) from error
        if not response.is_success or has_error(content):
            raise ErrorReply(response.status_code, response.headers, content, has_result=has_result(content))
        _check_json(content)
        # SDKs treat statuses such as 204 differently, although the content is sufficient, so all become 200.
        headers = {
            name: value for name, value in response.headers.items() if name.lower().startswith(UPLOAD_HEADER_PREFIX)
        }
        headers["content-type"] = "application/json"
        return httpx2.Response(200, headers=headers, content=content, request=request)


class AsyncClient(BoundedClient, httpx2.AsyncClient):
    """A client that sends requests with httpx."""


async def _read_content(response: httpx2.Response) -> bytes:
    """Return the content of a reply; empty if the content of an error cannot be read, since its status suffices."""
    try:
        reader = BoundedReader(MAX_REPLY_BYTES, response.headers.get("content-encoding", ""))
        async for chunk in response.aiter_raw():
            reader.feed(chunk)
        return reader.decompress().removeprefix(BYTE_ORDER_MARK)
    except (TooLargeError, ContentEncodingError) as error:
        if not response.is_success:
            return b""
        error_class = BrokenReplyError if isinstance(error, DecompressionError) else ReplyError
        raise error_class("malformed", str(error)) from error


def _check_json(content: bytes) -> None:
    """Reject content other than a JSON object in UTF-8; SDKs would replace characters or fail inconsistently."""
    try:
        if content.strip() and not isinstance(json.loads(content.decode()), dict):
            raise BrokenReplyError("malformed", f"the reply is not a JSON object. {quote_beginning(content)}")
    except (ValueError, RecursionError) as error:
        reason = "the reply is not JSON" if isinstance(error, json.JSONDecodeError) else "the reply cannot be parsed"
        raise BrokenReplyError(
            "malformed", f"{reason} ({sanitize_line(str(error))}). {quote_beginning(content)}"
        ) from None


def quote_beginning(content: bytes) -> str:
    """Return a sentence that quotes the beginning of a reply."""
    # Secrets are hidden before the text is truncated, because half a secret would not be recognised.
    text = truncate(sanitize_line(content.decode(errors="replace")), EXCERPT_CHARACTERS)
    return f"It begins: {text}" if content else "It is empty"


# --- interpreting replies and errors ----------------------------------------------------------------------------------


def parse_reply(schema: type[R], content: bytes, settings: RemoteSettings, reply_kind: str) -> R:
    """Parse a reply and check that it comes from the configured model.

    Args:
        reply_kind: Name of the reply in messages, such as "chat completion".

    Raises:
        AnswerError: If the answer is malformed or comes from another model.
        BrokenReplyError: If the reply contains no answer; a retry may help.
    """
    try:
        reply = schema.model_validate_json(content)
    except ValidationError as error:
        first_error: Any = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first_error["loc"])) or "(whole reply)"
        # A reply without an answer is the server's fault. An answer with invalid parts depends on the request. Answers
        # are inside the reply's fields, so an error with a shorter location concerns the reply itself.
        has_no_answer = len(first_error["loc"]) < 2 and first_error["type"] != "too_long"
        error_class = BrokenReplyError if has_no_answer else AnswerError
        raise error_class(
            "malformed", f"invalid {reply_kind}: {location}: {first_error['msg']}. {quote_beginning(content)}"
        ) from None
    check_model(getattr(reply, "model", ""), settings)
    return reply


def read_usage(schema: type[BaseModel], response: httpx2.Response) -> TokenUsage | None:
    """Return the token usage that a reply reports; None for a malformed reply."""
    try:
        reply: Any = schema.model_validate_json(response.content)
    except ValidationError:
        return None
    return reply.usage.token_usage if reply.usage else None


def check_model(model: str, settings: RemoteSettings) -> None:
    """Reject an answer from another model, because vendors may reroute requests."""
    expected = settings.served_as or settings.model
    if model != expected:
        raise AnswerError(
            "other_model",
            f"'{model}' answered, not '{expected}'. If both are the same model, set `served_as` in the model's file",
        )


def check_finish_reason(field: str, reason: str | None, accepted: Collection[str]) -> None:
    """Reject an answer whose finish reason is not one of the accepted reasons for complete answers."""
    normalised = (reason or "").lower()
    if SERVER_FAILURE.search(normalised):
        raise AnswerError("server_error", f"{field}: {reason}. The server failed during the answer")
    if normalised not in accepted:
        raise AnswerError("unfinished", f"{field}: {reason or 'none'}. Expected: {', '.join(sorted(accepted))}")


def empty_answer_error(reason: str, *, is_truncated: bool) -> AnswerError:
    """Return the error of an answer without text.

    Args:
        reason: The finish reason that the vendor gives, for the message.
        is_truncated: Whether the answer reached its token limit, which means that the model was still thinking.
    """
    if is_truncated:
        return AnswerError("still_thinking", f"{reason}. Raise settings.max_tokens in the model's file")
    return AnswerError("empty", reason)


def timeout_failure(settings: RemoteSettings) -> ApiFailure:
    """Return the failure of a request that timed out; the vendor may have billed it."""
    error = AnswerError("timeout", f"{settings.url}: no answer within {settings.timeout_s:g} s")
    return ApiFailure(error, is_retryable=True, is_free=False)


def connection_failure(
    error: BaseException, settings: RemoteSettings, *, is_protocol_error: bool = False
) -> ApiFailure:
    """Return the failure of a refused or lost connection; the vendor may have billed the request.

    Args:
        is_protocol_error: Whether the reply was invalid HTTP.
    """
    cause = error.__cause__ or error
    reason = f"{type(cause).__name__}: {sanitize_line(str(cause))}"
    if is_protocol_error:
        reason = f"the server or a proxy sent invalid HTTP: {sanitize_line(str(getattr(cause, 'message', cause)))}"
    return ApiFailure(AnswerError("network", f"{settings.url}: {reason}"), is_retryable=True, is_free=False)


def classify_status(
    reply: ErrorReply, settings: RemoteSettings, *, status: int | None = None, is_too_long: bool = False
) -> ApiFailure:
    """Classify an error that a server reports; vendors bill the request only if the reply also contains a result.

    Args:
        status: Status to use instead of the reply's own, if that is misleading.
        is_too_long: Whether the prompt exceeds the model's context.
    """
    status, message, is_free = status or reply.status, reply.message, not reply.has_result
    if status in CONFIGURATION_ERRORS:
        return ApiFailure(
            UserError(
                f"{settings.url}: the server {CONFIGURATION_ERRORS[status]} (model '{settings.model}', key "
                f"{f'in {settings.key}' if settings.key else 'none: see settings.key'}). Its message: {message}. "
                "Answers so far are kept. Correct the model's file or the key, then run the same command again."
            ),
            is_free=is_free,
        )
    wait_s = parse_retry_after(reply.headers)
    if wait_s is not None and wait_s > MAX_RETRY_AFTER_S:
        message = f"{message}; it asks to wait {wait_s:.0f} s"
    if status == 429:
        return ApiFailure(AnswerError("rate_limited", message), is_retryable=True, wait_s=wait_s, is_free=is_free)
    message = f"{reply.title}: {message}"
    if is_too_long:
        return ApiFailure(AnswerError("beyond_context", message), is_free=is_free)
    if status in RETRYABLE_STATUSES or status >= 500:
        return ApiFailure(AnswerError("server_error", message), is_retryable=True, wait_s=wait_s, is_free=is_free)
    return ApiFailure(AnswerError("bad_request", message), is_free=is_free)
