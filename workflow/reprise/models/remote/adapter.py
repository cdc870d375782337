"""What all adapters of servers share: keys, limits, clips prepared ahead, questions sent together; how far a reply is
read; and what replies and errors mean: an answer, a failure of one question with a name, or a mistake that ends the job
because nothing would be answered."""

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from reprise.core.bounded import BoundedReader, PackedError, TooLargeError, UnpackError
from reprise.core.errors import UserError
from reprise.core.plain import cut, plain
from reprise.models.asking.money.calls import LONGEST_ASKED_S, Calls, Estimates, Failure, asked_wait
from reprise.models.asking.money.limits import TokensOfImage
from reprise.models.asking.money.prices import Used
from reprise.models.asking.workers import Ahead, prepared, ready
from reprise.models.base import (
    Answer,
    AnswerError,
    Arrived,
    BrokenReplyError,
    Clip,
    Due,
    ModelSpec,
    ReplyError,
    Request,
)
from reprise.models.remote.error_replies import ErrorReply, error_in, has_result
from reprise.models.remote.images import Encoded, ImagesPreparer
from reprise.models.remote.sending import Opened, send
from reprise.models.remote.settings import RemoteSettings

PREPARER = f"{ImagesPreparer.__module__}:{ImagesPreparer.__name__}"
Show = Callable[[Due, Encoded | None, dict[str, float]], Opened]
"""Opens a clip with its frames, and the seconds that they took; none where the server is given the clip's file."""
R = TypeVar("R", bound=BaseModel)

# A connection serves one request: what a server or proxy sends after the reply, such as the same reply again, is never
# taken for the answer to the next question. The expiry is negative because aiohttp reuses a connection of age 0.
ONE_REQUEST_EACH = httpx2.Limits(max_connections=1000, max_keepalive_connections=0, keepalive_expiry=-1)
# Of a reply.
MOST_BYTES = 1_000_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# How much of a reply that is none a message repeats.
SHOWN_CHARACTERS = 120
# In the reason for which an answer ends that the server could not finish, by any vendor.
FAILED_END = re.compile(r"error|abort|cancel|time_?d?_?out|fail|interrupt|disconnect|preempt|shutdown|deadline|overload"
                        r"|insufficient_system_resource")  # fmt: skip
# The headers of a reply that an SDK needs. SDKs log others, in which a server may repeat the key, and decode by them.
OF_UPLOADS = "x-goog-upload-"

PAYMENT_REQUIRED = 402
MISTAKES = {
    401: "refuses the key",
    PAYMENT_REQUIRED: "has no credit left for this key",
    403: "forbids this: the key has no access to the model, or this region none to the server",
    404: "does not know the model or the address",
}
# Statuses below 500 by which a server asks to try again.
PASSING = frozenset({408, 409, 421, 423, 424, 425})


class RemoteAdapter(ABC):
    """A model at a server: many questions are on their way at a time, and each answer must be of the named model."""

    tokens_of_image: TokensOfImage | None = None
    """of the vendor whose interface is spoken"""
    takes_files = False
    """whether the server is given clips as files"""

    def __init__(self, spec: ModelSpec, settings: RemoteSettings) -> None:
        self._spec, self._remote, self._key = spec, settings, _key(settings)
        self._is_paid = settings.key is not None and (spec.account is None or spec.account.is_paid)
        self._estimates = Estimates(settings.image_tokens, self.tokens_of_image, is_paid=self._is_paid)

    @abstractmethod
    def connected(self) -> AbstractAsyncContextManager[Show]:
        """A connection for one call."""

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """The questions about one clip, sent together, answered in their order."""
        due = Due(clip, tuple(requests))
        found = {given.request.request_id: given.answer for given in self.answers_in_any_order([due])}
        yield from (found[request.request_id] for request in due.requests)

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there."""
        most = max((due.clip for due in dues), key=lambda clip: clip.pictures, default=None)
        limit = self._remote.max_images
        if most is not None and not self.takes_files and limit is not None and most.pictures > limit:
            raise UserError(  # before anything is paid for
                f"clip '{most.clip_id}' is shown with {most.pictures} frames, but settings.max_images of the model's "
                f"file is {limit}. Use a sampling of fewer frames, or correct `max_images`."
            )
        return send(lambda: self._line(dues), dues, self._remote.concurrency)

    def calls(self, failure_of: Callable[[Exception, Any], Failure | None]) -> Calls:
        """What sends the requests of a connection; an error of the SDK is named by this function."""
        return Calls(self._spec.account, self._remote, failure_of, self._estimates)

    @asynccontextmanager
    async def _line(self, dues: Sequence[Due]) -> AsyncIterator[Callable[[Due], Awaitable[Opened]]]:
        """Opens clips on one connection. Where clips follow each other, the next ones are prepared ahead."""
        shown = [] if self.takes_files else [due for due in dues if due.clip.indices]
        with Ahead(PREPARER, self._spec, self._spec.threads) if len(shown) > 1 else nullcontext() as ahead:
            prepare: Callable[..., Any] = partial(prepared, partial(ImagesPreparer, self._spec))
            if ahead is not None:
                ahead.expect(iter(shown))
                prepare = ahead.take
            async with self.connected() as show:

                async def opened(due: Due) -> Opened:
                    await asyncio.to_thread(due.check)
                    if not due.clip.indices or self.takes_files:
                        return show(due, None, {})
                    clip = ready(await asyncio.to_thread(prepare, due.clip, due.requests))
                    return show(due, clip.value, clip.seconds)

                yield opened


def _key(settings: RemoteSettings) -> str:
    if settings.key is None:
        return "none"
    key = os.environ.get(settings.key, "").strip()
    if not key:
        raise UserError(
            f"settings.key of the model's file: the environment variable '{settings.key}' is not set. Export it with "
            f"the key of {settings.url}, then run the same command again."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"the environment variable '{settings.key}' holds no key: it has signs that no key has.")
    return key


# --- what is sent, and how far a reply is read ------------------------------------------------------------------------


def posting(client: Any, path: str, body: bytes) -> Callable[[], Awaitable[httpx2.Response]]:
    """What sends a body by a vendor's SDK."""
    options = {"headers": {"Content-Type": "application/json"}}
    return partial(client.post, path, cast_to=httpx2.Response, content=body, options=options)


class BoundedClient:
    """Of an asynchronous client, before which it comes among the bases: servers are not trusted, so a reply has a
    largest size and a deadline, and leads nowhere else."""

    seconds: float | None = None
    """from the sending of a request to the last byte of its reply"""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"limits": ONE_REQUEST_EACH, **options})

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "gzip, deflate"
        request.headers["Connection"] = "close"
        options["follow_redirects"] = False
        try:
            async with asyncio.timeout(self.seconds):
                response: httpx2.Response = await super().send(request, stream=True, **options)  # type: ignore[misc]
                try:
                    if response.has_redirect_location:  # nothing is sent to a place that nobody named
                        place = urlsplit(str(response.url.join(response.headers["location"])))
                        raise ReplyError(
                            "bad_request",
                            f"HTTP {response.status_code}: the server points to {place.scheme}://"
                            f"{plain(place.netloc.rpartition('@')[2] + place.path)}, where nothing is sent. Write the "
                            "right address into `url` of the settings in the model's file",
                        )
                    content = await _content_of(response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no whole reply in time", request=request) from error
        if not response.is_success or error_in(content):
            raise ErrorReply(response.status_code, response.headers, content, has_result=has_result(content))
        _check_json(content)
        # A status such as 204 tells no more than the content, and SDKs differ in what they make of it.
        headers = {name: value for name, value in response.headers.items() if name.lower().startswith(OF_UPLOADS)}
        headers["content-type"] = "application/json"
        return httpx2.Response(200, headers=headers, content=content, request=request)


class AsyncClient(BoundedClient, httpx2.AsyncClient):
    """Sends by httpx."""


async def _content_of(response: httpx2.Response) -> bytes:
    """The content of a reply; of an error that cannot be read, its status says enough."""
    try:
        reader = BoundedReader(MOST_BYTES, response.headers.get("content-encoding", ""))
        async for piece in response.aiter_raw():
            reader.feed(piece)
        return reader.end().removeprefix(BYTE_ORDER_MARK)
    except (TooLargeError, PackedError) as error:
        if not response.is_success:
            return b""
        named = BrokenReplyError if isinstance(error, UnpackError) else ReplyError
        raise named("malformed", str(error)) from error


def _check_json(content: bytes) -> None:
    """Refuse what is no object of JSON in UTF-8: SDKs would replace signs, or fail in ways of their own."""
    try:
        if content.strip() and not isinstance(json.loads(content.decode()), dict):
            raise BrokenReplyError("malformed", f"a reply that is no JSON object. {beginning(content)}")
    except (ValueError, RecursionError) as error:
        reason = "a reply that is no JSON" if isinstance(error, json.JSONDecodeError) else "a reply that cannot be read"
        raise BrokenReplyError("malformed", f"{reason} ({plain(str(error))}). {beginning(content)}") from None


def beginning(content: bytes) -> str:
    # Cut after secrets are hidden: half of one would not be seen as such.
    words = cut(plain(content.decode(errors="replace")), SHOWN_CHARACTERS)
    return f"It begins: {words}" if content else "It is empty"


# --- what a reply or an error means -----------------------------------------------------------------------------------


def read_reply(kind: type[R], content: bytes, settings: RemoteSettings, what: str) -> R:
    """The reply of the model that was asked, and of no other."""
    try:
        reply = kind.model_validate_json(content)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "(whole reply)"
        # A reply without an answer comes of the server, an answer of another form of the question.
        is_none = len(first["loc"]) < 2 and first["type"] != "too_long"
        named = BrokenReplyError if is_none else AnswerError
        raise named("malformed", f"no {what}: {place}: {first['msg']}. {beginning(content)}") from None
    check_model(getattr(reply, "model", ""), settings)
    return reply


def used_in(kind: type[BaseModel], response: httpx2.Response) -> Used | None:
    """The tokens that a reply says it took; of one that is none nobody knows."""
    try:
        reply: Any = kind.model_validate_json(response.content)
    except ValidationError:
        return None
    return reply.usage.used if reply.usage else None


def check_model(model: str, settings: RemoteSettings) -> None:
    """Only the model that was asked may answer: vendors route requests to others."""
    pinned = settings.served_as or settings.model
    if model != pinned:
        raise AnswerError("other_model", f"'{model}' answered, not '{pinned}'")


def check_end(name: str, reason: str | None, whole: Collection[str]) -> None:
    """Refuse a text that the server did not bring to one of these ends: part of an answer is none."""
    end = (reason or "").lower()
    if FAILED_END.search(end):
        raise AnswerError("server_error", f"{name}: {reason}. The server failed in the middle of the answer")
    if end not in whole:
        raise AnswerError("unfinished", f"{name}: {reason or 'none'}. Expected: {', '.join(sorted(whole))}")


def no_words(reason: str, *, is_cut: bool) -> AnswerError:
    """Why an answer is without a word, where the vendor gives this reason for its end."""
    if is_cut:
        return AnswerError("still_thinking", f"{reason}. Set settings.max_tokens in the model's file")
    return AnswerError("empty", reason)


def timed_out(settings: RemoteSettings) -> Failure:
    """No answer in time; it may have been paid for."""
    error = AnswerError("timeout", f"{settings.url}: no answer in {settings.timeout_s:g} s")
    return Failure(error, may_pass=True, is_free=False)


def broken(error: BaseException, settings: RemoteSettings, *, is_protocol: bool = False) -> Failure:
    """No connection, or one that broke when the answer may have been paid for; with `is_protocol` a reply that is no
    valid HTTP."""
    cause = error.__cause__ or error
    words = f"{type(cause).__name__}: {plain(str(cause))}"
    if is_protocol:
        words = f"the server, or a proxy before it, sent no valid HTTP: {plain(str(getattr(cause, 'message', cause)))}"
    return Failure(AnswerError("network", f"{settings.url}: {words}"), may_pass=True, is_free=False)


def of_status(
    reply: ErrorReply, settings: RemoteSettings, *, status: int | None = None, is_too_long: bool = False
) -> Failure:
    """What a server's error means, of its own status or of this one; vendors take nothing for it."""
    status, said, is_free = status or reply.status, reply.message, not reply.has_result
    if status in MISTAKES:
        return Failure(
            UserError(
                f"{settings.url}: the server {MISTAKES[status]} (model '{settings.model}', key "
                f"{f'in {settings.key}' if settings.key else 'none: see settings.key'}). It says: {said}. Answers so "
                "far are kept. Correct the model's file or the key, then run the same command again."
            ),
            is_free=is_free,
        )
    wait = asked_wait(reply.headers)
    if wait is not None and wait > LONGEST_ASKED_S:
        said = f"{said}; it asks to wait {wait:.0f} s"
    if status == 429:
        return Failure(AnswerError("rate_limited", said), may_pass=True, wait_s=wait, is_free=is_free)
    said = f"{reply.title}: {said}"
    if is_too_long:
        return Failure(AnswerError("beyond_context", said), is_free=is_free)
    if status in PASSING or status >= 500:
        return Failure(AnswerError("server_error", said), may_pass=True, wait_s=wait, is_free=is_free)
    return Failure(AnswerError("bad_request", said), is_free=is_free)
