"""What Anthropic's and Gemini's interfaces say, by the types of their SDKs, on the server of `chat_server`; and how the
adapter of each vendor is asked there."""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from typing import Any, NamedTuple

from anthropic.types import Message, TextBlock, ThinkingBlock, Usage
from google.genai import types
from reprise.models.base import Answer, Clip, Due, Request
from reprise.models.remote.anthropic import AnthropicAdapter
from reprise.models.remote.gemini import GeminiAdapter
from reprise.models.remote.openai import OpenAIAdapter

from tests.unit.asked import BLIND, request, spec
from tests.unit.models.chat_server import FRAME_TOKENS, MODEL, TEXT_TOKENS, Asked, ChatServer, Says, completion, well

Behaviour = Callable[[Asked], Says]
WRITE = request("say this", "write", system="Be brief.")

# --- Anthropic -------------------------------------------------------------------------------------------------------


def message(asked: Asked, text: str | None = None, **changes: Any) -> dict[str, Any]:
    """A message of the model; by default its text is the prompt's last word. `changes` are of its fields."""
    frames = sum(part["type"] == "image" for part in asked.content)
    own: dict[str, Any] = {
        "id": "x", "type": "message", "role": "assistant", "model": asked.body["model"], "stop_reason": "end_turn",
        "content": [TextBlock(type="text", text=asked.prompt.split()[-1] if text is None else text)],
        "usage": Usage(input_tokens=TEXT_TOKENS + FRAME_TOKENS * frames, output_tokens=1),
    }  # fmt: skip
    return Message.model_construct(**own | changes).model_dump(mode="json")


def thought(text: str) -> ThinkingBlock:
    return ThinkingBlock(type="thinking", thinking=text, signature="s")


def anthropic_well(asked: Asked) -> Says:
    return Says(message(asked))


def anthropic_error(status: int, kind: str = "x", said: str = "it says no", **headers: str) -> Says:
    body = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "x"}
    return Says(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


# --- Gemini ----------------------------------------------------------------------------------------------------------


def parts_of(asked: Asked) -> list[dict[str, Any]]:
    return list(asked.body["contents"][-1]["parts"])


def prompt_of(asked: Asked) -> str:
    return str(parts_of(asked)[-1]["text"])


def images_of(asked: Asked) -> list[bytes]:
    return [urlsafe_b64decode(part["inlineData"]["data"]) for part in parts_of(asked) if "inlineData" in part]


def generated(asked: Asked, text: str | None = None, **changes: Any) -> dict[str, Any]:
    """A reply; by default its text is the prompt's last word. `changes` are of its candidate, but for those named."""
    model = asked.path.split("/models/")[1].split(":")[0]
    said = changes.pop("parts", [types.Part(text=prompt_of(asked).split()[-1] if text is None else text)])
    version = changes.pop("model_version", model)
    counts = changes.pop("usage", {"prompt_token_count": TEXT_TOKENS + FRAME_TOKENS * (len(parts_of(asked)) - 1),
                                   "candidates_token_count": 1})  # fmt: skip
    own = {"content": types.Content(role="model", parts=said), "finish_reason": types.FinishReason.STOP, **changes}
    reply = types.GenerateContentResponse(
        candidates=[types.Candidate(**own)],
        model_version=version,
        usage_metadata=types.GenerateContentResponseUsageMetadata(**counts) if counts else None,
    )
    return reply.model_dump(mode="json", by_alias=True, exclude_none=True)


def gemini_well(asked: Asked) -> Says:
    return Says(generated(asked))


def gemini_error(status: int, kind: str = "X", said: str = "it says no", details: Any = (), **headers: str) -> Says:
    body = {"error": {"code": status, "message": said, "status": kind, "details": list(details)}}
    return Says(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class Files:
    """The Files interface: uploads in two steps, a file that is ready at the second look, deletion."""

    def __init__(self, server: ChatServer) -> None:
        self.there: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.looked: dict[str, int] = {}
        self.server, self.then = server, gemini_well
        self.state = "ACTIVE"

    def __call__(self, asked: Asked) -> Says:
        if asked.path.startswith("/upload/v1beta/files"):
            name = asked.body["file"]["name"]
            address = self.server.url.replace("/v1", f"/put/{name}")
            return Says({}, headers={"X-Goog-Upload-URL": address, "X-Goog-Upload-Status": "active"})
        if asked.path.startswith("/put/"):
            name = asked.path.removeprefix("/put/")
            self.there[name] = asked.raw
            self.looked[name] = 0
            return Says({"file": self._file(name)}, headers={"X-Goog-Upload-Status": "final"})
        if asked.path.startswith("/v1beta/files/"):
            name = asked.path.removeprefix("/v1beta/")
            if name not in self.there:
                return gemini_error(403, "PERMISSION_DENIED", "it may not exist")
            if asked.method == "DELETE":
                del self.there[name]
                self.deleted.append(name)
                return Says({})
            self.looked[name] += 1
            return Says(self._file(name))
        return self.then(asked)

    def _file(self, name: str) -> dict[str, Any]:
        state = self.state if self.looked[name] >= 2 else "PROCESSING"
        uri = f"https://host/v1beta/{name}"
        return {"name": name, "uri": uri, "mimeType": "video/mp4", "state": state}


# --- all of them -----------------------------------------------------------------------------------------------------


class Vendor(NamedTuple):
    adapter: type[Any]
    well: Behaviour
    """it answers with the prompt's last word"""
    reply: Callable[..., dict[str, Any]]
    """a reply, with changes"""
    images: Callable[[Asked], list[bytes]]


VENDORS = {
    "openai": Vendor(OpenAIAdapter, well, completion, lambda asked: [b64decode(one) for one in asked.images]),
    "anthropic": Vendor(
        AnthropicAdapter,
        anthropic_well,
        message,
        lambda asked: [b64decode(part["source"]["data"]) for part in asked.content[:-1]],
    ),
    "gemini": Vendor(GeminiAdapter, gemini_well, generated, images_of),
}


def adapter(vendor: str, server: ChatServer, **settings: Any) -> Any:
    url = server.url if vendor == "openai" else server.url.removesuffix("/v1")
    return VENDORS[vendor].adapter(spec(**{"url": url, "model": MODEL, "key": None, "retries": 0, **settings}))


def blind_answers(vendor: str, url: str, questions: int, **settings: Any) -> list[Answer]:
    """The answers of a server to as many questions, the text of each of which ends with its number."""
    requests = tuple(request(f"say {at}", "write", request_id=str(at)) for at in range(questions))
    place = url if vendor == "openai" else url.removesuffix("/v1")
    own = {"url": place, "model": MODEL, "key": None, "retries": 0, "timeout_s": 5, **settings}
    arrived = VENDORS[vendor].adapter(spec(**own)).answers_in_any_order([Due(BLIND, requests)])
    return [one.answer for one in sorted(arrived, key=lambda one: int(one.request.request_id))]


def answer(
    vendor: str, says: Behaviour, asked: Request = WRITE, clip: Clip = BLIND, **settings: Any
) -> tuple[Answer, list[Asked]]:
    """The one answer of a server that behaves like this, and what it was asked."""
    with ChatServer(says) as server:
        (found,) = adapter(vendor, server, **settings).answers(clip, [asked])
    return found, server.asked
