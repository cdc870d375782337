"""A server of OpenAI's chat completions on this machine, written from the interface's description; it says what a test
wants it to say, and remembers what it was asked."""

import asyncio
import json
import math
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
        """The frames, each as base64."""
        found: list[str] = []
        for part in self.content[:-1]:
            kind = part["type"]
            found += part[kind]["url"].split("base64,", 1)[1].split(",")
        return found


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
        return Says({"tokens": [TOKENS[asked.body["prompt"]]], "count": 1, "max_model_len": 4096})
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


def error(status: int, code: str = "", message: str = "it says no", **headers: str) -> Says:
    """An error as the interface describes it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Says({"error": {"message": message, "type": code or "x", "code": code or None}}, status, names)


class ChatServer:
    """Serves on a free port, or on this one, in a thread of its own, until its context ends."""

    def __init__(self, says: Callable[[Asked], Says] = well, port: int = 0) -> None:
        self.says = says
        self.introduces: Callable[[Asked], Says] = introduced
        self.port = port
        self.asked: list[Asked] = []
        self.looked_at: list[Asked] = []
        self.most_at_once = 0
        self._now = 0

    @property
    def prompts(self) -> list[str]:
        """Of the questions as they came."""
        return [one.prompt for one in self.asked if one.path.endswith("/chat/completions")]

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat server")
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**26)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                is_looked_at = asked.path in INTRODUCTIONS or (asked.path == "/tokenize" and "messages" in asked.body)
                (self.looked_at if is_looked_at else self.asked).append(asked)
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                says = self.introduces(asked) if is_looked_at else self.says(asked)
                try:
                    await asyncio.sleep(says.delay)
                finally:
                    self._now -= 1
                writer.write(_raw(says))
                await writer.drain()
                if says.is_cut:
                    return
                while says.drips:
                    await asyncio.sleep(DRIP_SECONDS)
                    writer.write(b" ")
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # the client gave up, or the test ends
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    """A request; none when the connection ends."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = head[0].split()
    return Asked(path, headers, json.loads(content) if content[:1] == b"{" else {}, method, content)


def _raw(says: Says) -> bytes:
    content = says.content
    length = {} if says.drips else {"Content-Length": str(len(content))}
    headers = {"Content-Type": "application/json", **length, **says.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {says.status} X\r\n{head}\r\n".encode() + (
        content[: len(content) // 2] if says.is_cut else content
    )
