"""A local server with OpenAI's chat completions API, whose replies a test defines; it records its requests."""

import json
import math
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "toy-1"
DRIP_SECONDS = 0.02
# Endpoints that describe the server.
METADATA_PATHS = ("/v1/models", "/version")
VERSION = "0.0.1"
TOKENS = {"Yes": 7, "No": 8, "A": 9, "B": 10}
# Number of tokens of a prompt, and of each of its frames.
TEXT_TOKENS, FRAME_TOKENS = 20, 10


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    method: str = "POST"
    raw: bytes = b""

    @property
    def content(self) -> list[dict[str, Any]]:
        """Return the parts of the user's message."""
        content = self.body["messages"][-1]["content"]
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)

    @property
    def prompt(self) -> str:
        return str(self.content[-1]["text"])

    @property
    def images(self) -> list[str]:
        """Return the frames of the request in base64."""
        return [frame for part in self.content[:-1] for frame in frames_in(part)]


def frames_in(part: Mapping[str, Any]) -> list[str]:
    media = part[part["type"]]
    return media["url"].split("base64,", 1)[1].split(",") if media else []


@dataclass(frozen=True)
class ServerReply:
    """A reply of the server: status, body, and faults of its transmission."""

    body: bytes | Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    is_truncated: bool = False
    """the connection is closed halfway through the body"""
    is_endless: bool = False
    """bytes follow the body without end"""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def completion(
    received: ReceivedRequest, text: str | None = "Yes", *, frames: int | None = None, **changes: Any
) -> dict[str, Any]:
    """Return a chat completion; `changes` replace fields of its choice, or `model` and `usage`."""
    frame_count = len(received.images) if frames is None else frames
    token_count = TEXT_TOKENS + FRAME_TOKENS * frame_count
    usage = changes.pop(
        "usage", {"prompt_tokens": token_count, "completion_tokens": 1, "total_tokens": token_count + 1}
    )
    model = changes.pop("model", received.body["model"])
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, **changes}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def describe_server(received: ReceivedRequest) -> ServerReply:
    """Return the reply of an endpoint that describes the server."""
    if received.path == "/version":
        return ServerReply({"version": VERSION})
    if received.path == "/tokenize":
        return ServerReply(
            {"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3], "token_strs": ["user", "\u010a", "assistant"]}
        )
    return ServerReply({"object": "list", "data": [{"id": MODEL, "object": "model"}]})


def build_logprobs(received: ReceivedRequest, frames: str = "") -> dict[str, Any]:
    """Return logprobs for `logprob_token_ids` that depend on the prompt and the frames."""
    yes = probability_of_yes(received.prompt + frames)
    probabilities = dict(zip(TOKENS.values(), (yes, 0.9 - yes, 0.02, 0.01), strict=True))
    top = [
        {"token": f"token_id:{token}", "logprob": math.log(probabilities[token]), "bytes": None}
        for token in received.body["logprob_token_ids"]
    ]
    return {"content": [{"token": "token_id:3", "logprob": -3.0, "bytes": None, "top_logprobs": top}]}


def probability_of_yes(prompt: str) -> float:
    return 0.1 + (zlib.crc32(prompt.encode()) % 1000) / 2000


def reply_correctly(received: ReceivedRequest) -> ServerReply:
    """Return the reply of a correct server: the prompt's last word, or scores."""
    if received.path == "/tokenize":
        tokens = [TOKENS[received.body["prompt"]]]
        return ServerReply({"tokens": tokens, "count": 1, "max_model_len": 4096, "token_strs": None})
    if "logprob_token_ids" in received.body:
        return ServerReply(completion(received, logprobs=build_logprobs(received)))
    return ServerReply(completion(received, received.prompt.split()[-1]))


def reply_by_frames(received: ReceivedRequest) -> ServerReply:
    """Return a reply that depends on the frames: scores, or one of two letters and a digest."""
    if received.path == "/tokenize":
        return reply_correctly(received)
    frames = "".join(received.images)
    if "logprob_token_ids" in received.body:
        return ServerReply(completion(received, logprobs=build_logprobs(received, frames)))
    digest = zlib.crc32(frames.encode())
    return ServerReply(completion(received, f"{'AB'[digest % 2]} {digest}"))


class FrameCachingServer:
    """Replies of a server that caches the frames of some ids, as vLLM does, and reports a miss for any other id."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._cached: dict[str, list[str]] = {}

    def __call__(self, received: ReceivedRequest) -> ServerReply:
        if received.path == "/tokenize":
            return reply_correctly(received)
        frames: list[str] = []
        for part in received.content[:-1]:
            if part[part["type"]] is not None and "uuid" in part:
                self._cached[part["uuid"]] = frames_in(part)
                if len(self._cached) > self._capacity:
                    self._cached.pop(next(iter(self._cached)))
            elif "uuid" in part and part["uuid"] not in self._cached:
                return error(400, message=f"Cache miss for {part['uuid']}, but data is not provided")
            frames += frames_in(part) or self._cached[part["uuid"]]
        logprobs = build_logprobs(received, "".join(frames)) if "logprob_token_ids" in received.body else None
        return ServerReply(completion(received, logprobs=logprobs, frames=len(frames)))


def error(status: int, code: str = "", message: str = "it says no", **headers: str) -> ServerReply:
    """Return an error in the format of the API."""
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return ServerReply(
        {"error": {"message": message, "type": code or "x", "code": code or None}}, status, header_values
    )


class ChatServer(ThreadingHTTPServer):
    """A server on a free or given port with its own threads, which runs until its context ends."""

    request_queue_size = 128  # each request opens a connection

    def __init__(self, respond: Callable[[ReceivedRequest], ServerReply] = reply_correctly, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.respond = respond
        self.describe: Callable[[ReceivedRequest], ServerReply] = describe_server
        self.received: list[ReceivedRequest] = []
        self.metadata_requests: list[ReceivedRequest] = []
        self.max_concurrent = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), name="chat server")

    @property
    def prompts(self) -> list[str]:
        """Return the prompts of the chat completions in the order of arrival."""
        return [request.prompt for request in self.received if request.path.endswith("/chat/completions")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def reply(self, received: ReceivedRequest) -> ServerReply:
        """Return the reply after its delay."""
        is_metadata = received.path in METADATA_PATHS or (received.path == "/tokenize" and "messages" in received.body)
        with self._lock:
            (self.metadata_requests if is_metadata else self.received).append(received)
            self._in_flight += 1
            self.max_concurrent = max(self.max_concurrent, self._in_flight)
            reply = self.describe(received) if is_metadata else self.respond(received)
        time.sleep(reply.delay)
        with self._lock:
            self._in_flight -= 1
        return reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChatServer

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client has disconnected
            super().handle()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content) if content[:1] == b"{" else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.reply(ReceivedRequest(self.path, headers, body, self.command, content))
        reply_content = reply.content
        self.send_response(reply.status)
        length = {} if reply.is_endless else {"Content-Length": str(len(reply_content))}
        for name, value in {"Content-Type": "application/json", **length, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply_content[: len(reply_content) // 2] if reply.is_truncated else reply_content)
        self.close_connection = reply.is_truncated
        while reply.is_endless:
            time.sleep(DRIP_SECONDS)
            self.wfile.write(b" ")

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing; requests are recorded."""
