"""HTTP to servers that are not trusted: a reply has a largest size and a deadline, and leads nowhere else."""

import asyncio
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
                    reader = BoundedReader(MOST_BYTES, response.headers.get("content-encoding", ""))
                    content = b"".join([reader.feed(piece) async for piece in response.aiter_raw()])
                    reader.end()
                finally:
                    await response.aclose()
        except (TooLargeError, PackedError) as error:
            raise ReplyError("malformed", str(error)) from error
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no whole reply in time", request=request) from error
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in UNPACKED]
        return httpx2.Response(response.status_code, headers=headers, content=content, request=request)


class AioClient(BoundedClient, DefaultAioHttpClient):  # type: ignore[misc]
    """Sends by aiohttp, which takes less of the processor: see bench/serving.py."""


class AsyncClient(BoundedClient, httpx2.AsyncClient):
    """Sends by httpx."""


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
