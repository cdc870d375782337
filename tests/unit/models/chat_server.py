"""A server of OpenAI's chat completions on this machine, written from the interface's description; it says what a test
wants it to say, and remembers what it was asked."""

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
# Where a server says what it is.
INTRODUCTIONS = ("/v1/models", "/version")
VERSION = "0.0.1"
TOKENS = {"Yes": 7, "No": 8, "A": 9, "B": 10}
# Counted for a prompt: these, and so many a frame.
TEXT_TOKENS, FRAME_TOKENS = 20, 10


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    method: str = "POST"
    raw: bytes = b""

    @property
    def content(self) -> list[dict[str, Any]]:
        """The parts of the user's message."""
        content = self.body["messages"][-1]["content"]
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)

    @property
    def prompt(self) -> str:
        return str(self.content[-1]["text"])

    @property
    def images(self) -> list[str]:
        """The frames that came with the request, each as base64."""
        return [frame for part in self.content[:-1] for frame in frames_in(part)]


def frames_in(part: Mapping[str, Any]) -> list[str]:
    media = part[part["type"]]
    return media["url"].split("base64,", 1)[1].split(",") if media else []


@dataclass(frozen=True)
class Says:
    """A reply: its status, its body, and what may be wrong with how it comes."""

    body: bytes | Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    is_cut: bool = False
    """the connection is closed in the middle of the body"""
    drips: bool = False
    """byte after byte follows, without end"""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def completion(asked: Asked, text: str | None = "Yes", *, frames: int | None = None, **changes: Any) -> dict[str, Any]:
    """A chat completion; `changes` are of its choice, but for `model` and `usage`."""
    shown = len(asked.images) if frames is None else frames
    counted = TEXT_TOKENS + FRAME_TOKENS * shown
    usage = changes.pop("usage", {"prompt_tokens": counted, "completion_tokens": 1, "total_tokens": counted + 1})
    model = changes.pop("model", asked.body["model"])
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, **changes}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def introduced(asked: Asked) -> Says:
    """What a server says of itself."""
    if asked.path == "/version":
        return Says({"version": VERSION})
    if asked.path == "/tokenize":
        return Says(
            {"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3], "token_strs": ["user", "\u010a", "assistant"]}
        )
    return Says({"object": "list", "data": [{"id": MODEL, "object": "model"}]})


def scored(asked: Asked, shown: str = "") -> dict[str, Any]:
    """The logprobs of a server that knows `logprob_token_ids`, drawn from the prompt and what it is shown."""
    yes = probability_of_yes(asked.prompt + shown)
    chances = dict(zip(TOKENS.values(), (yes, 0.9 - yes, 0.02, 0.01), strict=True))
    top = [
        {"token": f"token_id:{token}", "logprob": math.log(chances[token]), "bytes": None}
        for token in asked.body["logprob_token_ids"]
    ]
    return {"content": [{"token": "token_id:3", "logprob": -3.0, "bytes": None, "top_logprobs": top}]}


def probability_of_yes(prompt: str) -> float:
    return 0.1 + (zlib.crc32(prompt.encode()) % 1000) / 2000


def well(asked: Asked) -> Says:
    """What a server says that does all that is asked of it: the prompt's last word, or scores."""
    if asked.path == "/tokenize":
        tokens = [TOKENS[asked.body["prompt"]]]
        return Says({"tokens": tokens, "count": 1, "max_model_len": 4096, "token_strs": None})
    if "logprob_token_ids" in asked.body:
        return Says(completion(asked, logprobs=scored(asked)))
    return Says(completion(asked, asked.prompt.split()[-1]))


def seeing(asked: Asked) -> Says:
    """The same of a server that says something else about other frames: scores, or one of two letters and a digest."""
    if asked.path == "/tokenize":
        return well(asked)
    shown = "".join(asked.images)
    if "logprob_token_ids" in asked.body:
        return Says(completion(asked, logprobs=scored(asked, shown)))
    digest = zlib.crc32(shown.encode())
    return Says(completion(asked, f"{'AB'[digest % 2]} {digest}"))


class Keeping:
    """What a server says that keeps the frames of so many ids, as vLLM does: scores of them, or that it has them no more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, list[str]] = {}

    def __call__(self, asked: Asked) -> Says:
        if asked.path == "/tokenize":
            return well(asked)
        frames: list[str] = []
        for part in asked.content[:-1]:
            if part[part["type"]] is not None and "uuid" in part:
                self._kept[part["uuid"]] = frames_in(part)
                if len(self._kept) > self._most:
                    self._kept.pop(next(iter(self._kept)))
            elif "uuid" in part and part["uuid"] not in self._kept:
                return error(400, message=f"Cache miss for {part['uuid']}, but data is not provided")
            frames += frames_in(part) or self._kept[part["uuid"]]
        logprobs = scored(asked, "".join(frames)) if "logprob_token_ids" in asked.body else None
        return Says(completion(asked, logprobs=logprobs, frames=len(frames)))


def error(status: int, code: str = "", message: str = "it says no", **headers: str) -> Says:
    """An error as the interface describes it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Says({"error": {"message": message, "type": code or "x", "code": code or None}}, status, names)


class ChatServer(ThreadingHTTPServer):
    """Serves on a free port, or on this one, by threads of its own, until its context ends."""

    request_queue_size = 128  # a connection comes with each question

    def __init__(self, says: Callable[[Asked], Says] = well, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.says = says
        self.introduces: Callable[[Asked], Says] = introduced
        self.asked: list[Asked] = []
        self.looked_at: list[Asked] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), name="chat server")

    @property
    def prompts(self) -> list[str]:
        """Of the questions as they came."""
        return [one.prompt for one in self.asked if one.path.endswith("/chat/completions")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def reply(self, asked: Asked) -> Says:
        """What it says, when the time for that has passed."""
        is_looked_at = asked.path in INTRODUCTIONS or (asked.path == "/tokenize" and "messages" in asked.body)
        with self._lock:
            (self.looked_at if is_looked_at else self.asked).append(asked)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            says = self.introduces(asked) if is_looked_at else self.says(asked)
        time.sleep(says.delay)
        with self._lock:
            self._now -= 1
        return says


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChatServer

    def handle(self) -> None:
        with suppress(ConnectionError):  # who asked has given up
            super().handle()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content) if content[:1] == b"{" else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        says = self.server.reply(Asked(self.path, headers, body, self.command, content))
        said = says.content
        self.send_response(says.status)
        length = {} if says.drips else {"Content-Length": str(len(said))}
        for name, value in {"Content-Type": "application/json", **length, **says.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said[: len(said) // 2] if says.is_cut else said)
        self.close_connection = says.is_cut
        while says.drips:
            time.sleep(DRIP_SECONDS)
            self.wfile.write(b" ")

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *words: object) -> None:
        """What was asked is kept as it came."""
