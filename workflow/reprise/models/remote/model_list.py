"""List the models that a running server with OpenAI's API offers."""

import asyncio

import httpx2
from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.plain import sanitize_line
from reprise.models.base import ReplyError
from reprise.models.remote.adapter import AsyncClient
from reprise.models.remote.error_replies import ErrorReply

LIST_TIMEOUT_S = 20.0


class _ListedModel(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_ListedModel]


def list_models(url: str) -> list[str]:
    """Return the names of the models at a server; `url` is the address of its API, such as http://127.0.0.1:8000/v1.

    Raises:
        UserError: The server does not answer within `LIST_TIMEOUT_S`, or not with a list of models.
    """
    try:
        reply = _ModelList.model_validate_json(asyncio.run(_fetch(f"{url}/models")))
    except (ErrorReply, ReplyError) as error:
        reason = str(error)
    except httpx2.HTTPError as error:
        reason = f"no answer ({type(error).__name__}: {sanitize_line(str(error))})"
    except ValidationError:
        reason = "the reply is not a list of models"
    else:
        return [model.id for model in reply.data]
    raise UserError(
        f"{url}/models: {reason}. Check the address, and that the server with OpenAI's API is running. For a vendor "
        "with a key, write the model's file (docs/howto/vendors.md)."
    )


async def _fetch(url: str) -> bytes:
    async with AsyncClient(timeout=LIST_TIMEOUT_S) as client:
        client.deadline_s = LIST_TIMEOUT_S
        return (await client.get(url)).content
