"""What a server of one's own says of itself before it is asked: the models that it serves, and its version."""

from typing import Any

import httpx2
from openai import AsyncOpenAI, OpenAIError
from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.plain import plain
from reprise.models.base import ReplyError
from reprise.models.settings import OpenAISettings
from reprise.models.thoughts import opens_thought

SECONDS = 10.0
# Signs by which tokenizers write spaces and ends of lines.
SPACES = "\u0120\u010a\u2581 \n"


class Served(BaseModel):
    """A model that a server names."""

    id: str


class Said(BaseModel):
    """The replies of `/v1/models`, of `/version`, and of vLLM's `/tokenize` to a conversation; empty where none comes:
    the questions find out why."""

    data: list[Served] = []
    version: str = ""
    token_strs: list[str] = []


async def check_introduction(client: AsyncOpenAI, settings: OpenAISettings) -> None:
    """A UserError where the server says that it is another one than the model's file names.

    What it does not say is no mistake, and vendors are not asked: they list models that an account may not use.
    """
    if settings.key is not None:
        return
    named = [one.id for one in (await _said(client, "get", "/models")).data]
    if named and settings.model not in named:
        raise UserError(
            f"{settings.url}: the server serves {', '.join(map(plain, named[:5]))}, not '{settings.model}'. Start it "
            "with that model (vLLM: --served-model-name), or correct `model` or `url` in the settings of its file."
        )
    version = plain((await _said(client, "get", f"{root_of(settings)}/version")).version)
    if settings.version is not None and version != settings.version:
        raise UserError(
            f"{settings.url}: the server says version '{version}', not '{settings.version}'. Start that version, or "
            "correct `version` in the settings of the model's file."
        )
    served = ", ".join(map(plain, named)) or "unnamed models"
    log.info(f"{settings.url}: version {version or 'unknown'}, serves {served}")


async def opens_thought_at(client: AsyncOpenAI, settings: OpenAISettings) -> bool:
    """Whether the server's chat template begins every answer with a thought, as far as it can say so."""
    body: dict[str, object] = {
        "model": settings.model, "messages": [{"role": "user", "content": "A question."}],
        "add_generation_prompt": True, "return_token_strs": True,
    }  # fmt: skip
    if "chat_template_kwargs" in settings.body:
        body["chat_template_kwargs"] = settings.body["chat_template_kwargs"]
    said = await _said(client, "post", f"{root_of(settings)}/tokenize", body=body)
    return opens_thought("".join(said.token_strs).rstrip(SPACES))


def root_of(settings: OpenAISettings) -> str:
    """The server's address, beside whose interface there may be more."""
    return settings.url.rstrip("/").removesuffix("/v1")


async def _said(client: AsyncOpenAI, method: str, path: str, **sent: Any) -> Said:
    try:
        quickly = getattr(client.with_options(max_retries=0, timeout=SECONDS), method)
        return Said.model_validate_json((await quickly(path, cast_to=httpx2.Response, **sent)).content)
    except (OpenAIError, ReplyError, ValidationError):
        return Said()
