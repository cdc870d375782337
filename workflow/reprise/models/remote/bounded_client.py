"""HTTP to servers that are not trusted: a reply has a largest size and a deadline, and leads nowhere else."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import DefaultAioHttpClient

from reprise.core.bounded import BoundedReader, PackedError, TooLargeError
from reprise.core.plain import plain
from reprise.models.base import ReplyError

MOST_BYTES = 1_000_000
PACKINGS = "gzip, deflate"
# What a reply that is unpacked no longer is.
UNPACKED = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class BoundedClient:
    """Of an asynchronous client; comes before it among the bases."""

    seconds: float | None = None
    """from the sending of a request to the last byte of its reply"""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        request.headers["Accept-Encoding"] = PACKINGS
        options["follow_redirects"] = False
        try:
            async with asyncio.timeout(self.seconds):
                response: httpx2.Response = await super().send(request, stream=True, **options)  # type: ignore[misc]
                try:
                    refuse_redirect(response)
                    reader, pieces = _reader(response), []
                    with _named():
                        async for piece in response.aiter_raw():
                            pieces.append(reader.feed(piece))
                        reader.end()
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no whole reply in time", request=request) from error
        return _whole(response, b"".join(pieces), request)


class AioClient(BoundedClient, DefaultAioHttpClient):  # type: ignore[misc]
    """Sends by aiohttp, which takes less of the processor: see bench/serving.py."""


class AsyncClient(BoundedClient, httpx2.AsyncClient):
    """Sends by httpx."""


def get_bounded(client: httpx2.Client, path: str, seconds: float, **headers: str) -> httpx2.Response:
    """A bounded reply to one request of a client that waits."""
    end = time.monotonic() + seconds
    request = client.build_request("GET", path, headers={"Accept-Encoding": PACKINGS, **headers})
    response = client.send(request, stream=True, follow_redirects=False)
    try:
        refuse_redirect(response)
        reader, pieces = _reader(response), []
        with _named():
            for piece in response.iter_raw():
                pieces.append(reader.feed(piece))
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("no whole reply in time", request=request)
            reader.end()
    finally:
        response.close()
    return _whole(response, b"".join(pieces), request)


def refuse_redirect(response: httpx2.Response) -> None:
    """Nothing is sent to a place that nobody named."""
    if response.has_redirect_location:
        place = urlsplit(str(response.url.join(response.headers["location"])))
        where = plain(f"{place.scheme}://{place.hostname or ''}{f':{place.port}' if place.port else ''}{place.path}")
        raise ReplyError(
            "bad_request",
            f"HTTP {response.status_code}: the server points to {where}, where nothing is sent. Write the right "
            "address into `url` of the settings in the model's file",
        )


@contextmanager
def _named() -> Iterator[None]:
    """What stops the reading of a reply, as the failure that it is."""
    try:
        yield
    except (TooLargeError, PackedError) as error:
        raise ReplyError("malformed", str(error)) from error


def _reader(response: httpx2.Response) -> BoundedReader:
    with _named():
        return BoundedReader(MOST_BYTES, response.headers.get("content-encoding", ""))


def _whole(response: httpx2.Response, content: bytes, request: httpx2.Request) -> httpx2.Response:
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in UNPACKED]
    return httpx2.Response(response.status_code, headers=headers, content=content, request=request)
