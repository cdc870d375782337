"""Replies of Anthropic's and Gemini's APIs, built with the types of their SDKs, and helpers to query any vendor."""

from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from typing import Any, NamedTuple

from anthropic.types import Message, TextBlock, ThinkingBlock, Usage
from google.genai import types
from reprise.models.base import Answer, ClipFrames, PendingRequests, Request
from reprise.models.remote.anthropic import AnthropicAdapter
from reprise.models.remote.gemini import GeminiAdapter
from reprise.models.remote.openai import OpenAIAdapter

from tests.unit.models.chat_server import (
    FRAME_TOKENS,
    MODEL,
    TEXT_TOKENS,
    ChatServer,
    ReceivedRequest,
    ServerReply,
    completion,
    reply_correctly,
)
from tests.unit.requests import NO_FRAMES, make_request, model_spec

Behaviour = Callable[[ReceivedRequest], ServerReply]
WRITE = make_request("say this", "write", system="Be brief.")

# --- Anthropic -------------------------------------------------------------------------------------------------------


def anthropic_reply(received: ReceivedRequest, text: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return a message, by default with the prompt's last word; `changes` replace its fields."""
    frames = sum(part["type"] == "image" for part in received.content)
    fields: dict[str, Any] = {
        "id": "x", "type": "message", "role": "assistant", "model": received.body["model"], "stop_reason": "end_turn",
        "content": [TextBlock(type="text", text=received.prompt.split()[-1] if text is None else text)],
        "usage": Usage(input_tokens=TEXT_TOKENS + FRAME_TOKENS * frames, output_tokens=1),
    }  # fmt: skip
    return Message.model_construct(**fields | changes).model_dump(mode="json")


def thought(text: str) -> ThinkingBlock:
    return ThinkingBlock(type="thinking", thinking=text, signature="s")


def reply_as_anthropic(received: ReceivedRequest) -> ServerReply:
    return ServerReply(anthropic_reply(received))


def anthropic_error(status: int, kind: str = "x", message: str = "it says no", **headers: str) -> ServerReply:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "x"}
    return ServerReply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


# --- Gemini ----------------------------------------------------------------------------------------------------------


def parts_of(received: ReceivedRequest) -> list[dict[str, Any]]:
    return list(received.body["contents"][-1]["parts"])


def prompt_of(received: ReceivedRequest) -> str:
    return str(parts_of(received)[-1]["text"])


def images_of(received: ReceivedRequest) -> list[bytes]:
    return [urlsafe_b64decode(part["inlineData"]["data"]) for part in parts_of(received) if "inlineData" in part]


def gemini_reply(received: ReceivedRequest, text: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return a reply, by default with the prompt's last word; `changes` replace fields of its candidate."""
    model = received.path.split("/models/")[1].split(":")[0]
    message = changes.pop("parts", [types.Part(text=prompt_of(received).split()[-1] if text is None else text)])
    version = changes.pop("model_version", model)
    counts = changes.pop("usage", {"prompt_token_count": TEXT_TOKENS + FRAME_TOKENS * (len(parts_of(received)) - 1),
                                   "candidates_token_count": 1})  # fmt: skip
    fields = {
        "content": types.Content(role="model", parts=message),
        "finish_reason": types.FinishReason.STOP,
        **changes,
    }
    reply = types.GenerateContentResponse(
        candidates=[types.Candidate(**fields)],
        model_version=version,
        usage_metadata=types.GenerateContentResponseUsageMetadata(**counts) if counts else None,
    )
    return reply.model_dump(mode="json", by_alias=True, exclude_none=True)


def reply_as_gemini(received: ReceivedRequest) -> ServerReply:
    return ServerReply(gemini_reply(received))


def gemini_error(
    status: int, kind: str = "X", message: str = "it says no", details: Any = (), **headers: str
) -> ServerReply:
    body = {"error": {"code": status, "message": message, "status": kind, "details": list(details)}}
    return ServerReply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class FilesApi:
    """The Files API: uploads in two steps, files that are ready at the second poll, and deletion."""

    def __init__(self, server: ChatServer) -> None:
        self.content_by_name: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.poll_count_by_name: dict[str, int] = {}
        self.server, self.respond = server, reply_as_gemini
        self.state = "ACTIVE"

    def __call__(self, received: ReceivedRequest) -> ServerReply:
        if received.path.startswith("/upload/v1beta/files"):
            name = received.body["file"]["name"]
            address = self.server.url.replace("/v1", f"/put/{name}")
            return ServerReply({}, headers={"X-Goog-Upload-URL": address, "X-Goog-Upload-Status": "active"})
        if received.path.startswith("/put/"):
            name = received.path.removeprefix("/put/")
            self.content_by_name[name] = received.raw
            self.poll_count_by_name[name] = 0
            return ServerReply({"file": self._file(name)}, headers={"X-Goog-Upload-Status": "final"})
        if received.path.startswith("/v1beta/files/"):
            name = received.path.removeprefix("/v1beta/")
            if name not in self.content_by_name:
                return gemini_error(403, "PERMISSION_DENIED", "it may not exist")
            if received.method == "DELETE":
                del self.content_by_name[name]
                self.deleted.append(name)
                return ServerReply({})
            self.poll_count_by_name[name] += 1
            return ServerReply(self._file(name))
        return self.respond(received)

    def _file(self, name: str) -> dict[str, Any]:
        state = self.state if self.poll_count_by_name[name] >= 2 else "PROCESSING"
        uri = f"https://host/v1beta/{name}"
        return {"name": name, "uri": uri, "mimeType": "video/mp4", "state": state}


# --- all vendors -----------------------------------------------------------------------------------------------------


class Vendor(NamedTuple):
    make_adapter: type[Any]
    respond: Behaviour
    """reply with the prompt's last word"""
    build_body: Callable[..., dict[str, Any]]
    """build the body of a reply with changes"""
    decode_images: Callable[[ReceivedRequest], list[bytes]]


VENDORS = {
    "openai": Vendor(
        OpenAIAdapter, reply_correctly, completion, lambda received: [b64decode(image) for image in received.images]
    ),
    "anthropic": Vendor(
        AnthropicAdapter,
        reply_as_anthropic,
        anthropic_reply,
        lambda received: [b64decode(part["source"]["data"]) for part in received.content[:-1]],
    ),
    "gemini": Vendor(GeminiAdapter, reply_as_gemini, gemini_reply, images_of),
}


def make_adapter(vendor: str, server: ChatServer, **settings: Any) -> Any:
    url = server.url if vendor == "openai" else server.url.removesuffix("/v1")
    return VENDORS[vendor].make_adapter(
        model_spec(**{"url": url, "model": MODEL, "key": None, "retries": 0, **settings})
    )


def text_only_answers(vendor: str, url: str, request_count: int, **settings: Any) -> list[Answer]:
    """Return the answers of a server to this many requests, whose prompts end with their numbers."""
    requests = tuple(make_request(f"say {index}", "write", request_id=str(index)) for index in range(request_count))
    base_url = url if vendor == "openai" else url.removesuffix("/v1")
    fields = {"url": base_url, "model": MODEL, "key": None, "retries": 0, "timeout_s": 5, **settings}
    completed = (
        VENDORS[vendor].make_adapter(model_spec(**fields)).answers_in_any_order([PendingRequests(NO_FRAMES, requests)])
    )
    return [response.answer for response in sorted(completed, key=lambda response: int(response.request.request_id))]


def query_vendor(
    vendor: str, respond: Behaviour, sent_request: Request = WRITE, clip: ClipFrames = NO_FRAMES, **settings: Any
) -> tuple[Answer, list[ReceivedRequest]]:
    """Return the answer of a server with this behaviour, and the requests that it received."""
    with ChatServer(respond) as server:
        (response,) = make_adapter(vendor, server, **settings).answers(clip, [sent_request])
    return response, server.received
