"""Test whether a server answers, before anything waits for it."""

import asyncio

import httpx2

from reprise.core.errors import UserError
from reprise.core.plain import sanitize_line

DEADLINE_S = 20.0


def require_answer(url: str, location: str) -> None:
    """Raise a UserError if a server sends no HTTP status within `DEADLINE_S`; any status is an answer.

    Args:
        url: Address of the API, such as `http://127.0.0.1:8000/v1`.
        location: File and key of the address, for the message.
    """
    try:
        asyncio.run(_await_status(f"{url.rstrip('/')}/models"))
    except TimeoutError:
        reason = f"no answer within {DEADLINE_S:g} s"
    except httpx2.HTTPError as error:
        reason = sanitize_line(str(error)) or type(error).__name__
    else:
        return
    raise UserError(f"{location}: {url} does not answer: {reason}. Start the server, or correct the address.")


async def _await_status(url: str) -> None:
    async with asyncio.timeout(DEADLINE_S), httpx2.AsyncClient(timeout=None) as client, client.stream("GET", url):
        pass
