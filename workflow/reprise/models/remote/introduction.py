"""What a server of one's own says of itself before it is asked: the models that it serves, and its version."""

import httpx2
from openai import AsyncOpenAI, OpenAIError
from pydantic import BaseModel, Field, ValidationError

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


class Models(BaseModel):
    """The reply of `/v1/models`."""

    data: list[Served] = Field([])


class Version(BaseModel):
    """The reply of `/version`, which vLLM gives beside the interface."""

    version: str


async def check_introduction(client: AsyncOpenAI, settings: OpenAISettings) -> None:
    """A UserError where the server says that it is another one than the model's file names.

    What it does not say is no mistake, and vendors are not asked: they list models that an account may not use.
    """
    if settings.key is not None:
        return
    named = await _models(client)
    if named and settings.model not in named:
        raise UserError(
            f"{settings.url}: the server serves {', '.join(map(plain, named[:5]))}, not '{settings.model}'. Start it "
            "with that model (vLLM: --served-model-name), or correct `model` or `url` in the settings of its file."
        )
    version = await _version(client, settings)
    if settings.version is not None and version != settings.version:
        raise UserError(
            f"{settings.url}: the server says version '{version}', not '{settings.version}'. Start that version, or "
            "correct `version` in the settings of the model's file."
        )
    served = ", ".join(map(plain, named)) or "unnamed models"
    log.info(f"{settings.url}: version {version or 'unknown'}, serves {served}")


class Rendered(BaseModel):
    """The reply of vLLM's `/tokenize` to a conversation."""

    token_strs: list[str]


async def opens_thought_at(client: AsyncOpenAI, settings: OpenAISettings) -> bool:
    """Whether the server's chat template begins every answer with a thought, as far as it can say so."""
    body: dict[str, object] = {
        "model": settings.model, "messages": [{"role": "user", "content": "A question."}],
        "add_generation_prompt": True, "return_token_strs": True,
    }  # fmt: skip
    if "chat_template_kwargs" in settings.body:
        body["chat_template_kwargs"] = settings.body["chat_template_kwargs"]
    try:
        quickly = client.with_options(max_retries=0, timeout=SECONDS)
        content = (await quickly.post(f"{_root(settings)}/tokenize", cast_to=httpx2.Response, body=body)).content
        return opens_thought("".join(Rendered.model_validate_json(content).token_strs).rstrip(SPACES))
    except (OpenAIError, ReplyError, ValidationError):
        return False


def _root(settings: OpenAISettings) -> str:
    return settings.url.rstrip("/").removesuffix("/v1")


async def _models(client: AsyncOpenAI) -> list[str]:
    content = await _get(client, "/models")
    try:
        return [one.id for one in Models.model_validate_json(content).data]
    except ValidationError:
        return []


async def _version(client: AsyncOpenAI, settings: OpenAISettings) -> str:
    content = await _get(client, f"{_root(settings)}/version")
    try:
        return plain(Version.model_validate_json(content).version)
    except ValidationError:
        return ""


async def _get(client: AsyncOpenAI, path: str) -> bytes:
    """A reply; empty where none comes: the questions find out why."""
    try:
        found = await client.with_options(max_retries=0, timeout=SECONDS).get(path, cast_to=httpx2.Response)
    except (OpenAIError, ReplyError):
        return b""
    return bytes(found.content)
