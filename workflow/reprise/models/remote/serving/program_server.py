"""Serves a model's program: questions come by OpenAI's chat completions, and a function of the file answers.

Run as a file by the Python of the program's own environment, from 3.8 on; needs the standard library, numpy and Pillow.
The model is loaded and asked in the main thread, by one question at a time.
"""

from __future__ import annotations

import argparse
import base64
import faulthandler
import hmac
import importlib.util
import io
import json
import math
import os
import platform
import queue
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

KEY = "REPRISE_PROGRAM_API_KEY"
NO_PROGRAM, HUNG = 1, 3
# The logarithm of a probability of 0, as vLLM writes it.
IMPOSSIBLE = -9999.0
# Where this file says why it ends, whatever becomes of the program's own outputs.
LOG = os.dup(2)


class Times(list):  # type: ignore[type-arg]  # of Python 3.8
    """When the frames are shown, in seconds."""

    duration = 0.0
    """seconds of the whole clip; of a blind question it is not known"""


class WrongReplyError(Exception):
    """A program gave something else than it must."""


class Program:
    def __init__(self, path: Path) -> None:
        self.path = path
        spec = importlib.util.spec_from_file_location("program", path)
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        sys.modules["program"] = self.module
        spec.loader.exec_module(self.module)
        self._compares = callable(getattr(self.module, "similarity", None))
        self._options: list[str] = []
        self._shown: tuple[str, Any] = ("", np.zeros((0, 0, 0, 3), np.uint8))

    def token_of(self, option: str) -> int:
        """The number by which an option is asked for."""
        if option not in self._options:
            self._options.append(option)
        return self._options.index(option)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt, frames, times = self._question(body)
        if self._compares:
            found = self.module.similarity(frames, times, prompt)
            if found is None or not math.isfinite(found):
                raise WrongReplyError(f"`similarity` gave {found}, which is no number")
            return _choice(repr(float(found)), None)
        if "logprob_token_ids" in body:
            tokens = body["logprob_token_ids"]
            found = self._scores(frames, times, prompt, [self._options[token] for token in tokens])
            top = [
                {"token": f"token_id:{token}", "logprob": math.log(one) if one > 0 else IMPOSSIBLE}
                for token, one in zip(tokens, found)  # noqa: B905  # of Python 3.10
            ]
            return _choice("", {"content": [{"token": "", "logprob": 0.0, "top_logprobs": top}]})
        text = self.module.answer(frames, times, prompt, int(body["max_tokens"]))
        if not isinstance(text, str):
            raise WrongReplyError(f"`answer` gave {text!r:.60}, not a text")
        text.encode()
        return _choice(text, None)

    def _scores(self, frames: Any, times: Times, prompt: str, options: list[str]) -> list[float]:
        found = self.module.scores(frames, times, prompt, options)
        try:
            numbers = [float(one) for one in found]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) != len(options) or not all(0 <= one <= 1 for one in numbers):
            raise WrongReplyError(f"`scores` gave {found}, not a probability for each of {len(options)} options")
        return numbers

    def _question(self, body: dict[str, Any]) -> tuple[str, Any, Times]:
        """The text with what stands before it for the system, the frames, and when they are shown."""
        *before, asked = body["messages"]
        content: Any = asked["content"]
        times = Times()
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        text = " ".join(part["text"] for part in parts if part["type"] == "text")  # a program shows frames first
        prompt = "\n".join([*(one["content"] for one in before), text])
        urls = [part["video_url"]["url"] for part in parts if part["type"] == "video_url"]
        if not urls:
            return prompt, np.zeros((0, 0, 0, 3), np.uint8), times
        video = body["media_io_kwargs"]["video"]
        times.extend(place / video["fps"] for place in video["frames_indices"])
        times.duration = video["duration"]
        return prompt, self._frames(urls[0]), times

    def _frames(self, url: str) -> Any:
        """The frames (n, height, width, 3); the same array for the questions of a clip that follow each other."""
        if self._shown[0] != url:
            images = [base64.b64decode(one) for one in url.split("base64,", 1)[1].split(",")]
            frames = np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in images])
            frames.flags.writeable = False  # what is shown to the next question too
            self._shown = url, frames
        return self._shown[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self.path == "/version":
            self._send(200, {"version": f"on Python {platform.python_version()}"})
        elif self._is_known():
            self._send(200, {"object": "list", "data": [{"id": self.server.name}]})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._is_known():
            return
        body = json.loads(content)
        if self.path.endswith("/chat/completions"):
            self._send(*self.server.ask(body))
        elif "prompt" in body:
            self._send(200, {"tokens": [self.server.program.token_of(body["prompt"])]})
        else:
            self._send(404, {"error": {"message": f"nothing is at {self.path}"}})

    def log_message(self, format: str, *words: Any) -> None:
        """Requests are in the log of the run."""

    def _is_known(self) -> bool:
        if hmac.compare_digest(self.headers.get("Authorization", "").encode(), f"Bearer {self.server.key}".encode()):
            return True
        self._send(401, {"error": {"message": "Unauthorized"}})
        return False

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """Passes questions on to the main thread."""

    daemon_threads = True
    # Each question comes on a connection of its own: as many as a job may have on their way wait here.
    request_queue_size = 1024

    def __init__(self, port: int, name: str, program: Program, seconds: float) -> None:
        self.name, self.program, self._seconds = name, program, seconds
        self.key = os.environ.pop(KEY)
        self._questions: queue.Queue[tuple[dict[str, Any], queue.Queue[Any]]] = queue.Queue()
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=False)
        self.server_bind()

    def ask(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The reply to a question, when its turn has come."""
        reply: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._questions.put((body, reply))
        return reply.get()

    def answer_all(self) -> None:
        """Take questions until this process is ended."""
        self.server_activate()
        threading.Thread(target=self.serve_forever, daemon=True).start()
        while True:
            body, reply = self._questions.get()
            watch = threading.Timer(self._seconds, self._give_up)
            watch.daemon = True
            watch.start()
            reply.put(self._reply(body))
            watch.cancel()

    def _reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        try:
            choice = self.program.reply(body)
        except BaseException as error:  # also what a library does that exits
            log_traceback()
            return 422, {"error": {"type": "program", "code": _code(error), "message": _words(error)}}
        return 200, {"model": self.name, "choices": [choice]}

    def _give_up(self) -> None:
        """A question that takes longer than any may is the last."""
        faulthandler.dump_traceback(LOG)
        end(f"{self.program.path}: no answer after {self._seconds:g} s. If it needs longer, set "
            "`served_by.answer_minutes` in the model's file", HUNG)  # fmt: skip


def _choice(text: str, logprobs: dict[str, Any] | None) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": logprobs}


def _code(error: BaseException) -> str:
    """The name of a failure, as the workflow knows it."""
    if isinstance(error, WrongReplyError):
        return "malformed"
    if isinstance(error, UnicodeEncodeError):
        return "bad_text"
    is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return "out_of_memory" if is_memory else "failed"


def _words(error: BaseException) -> str:
    """The class of an error, its message, and where in the program it came from."""
    words = "".join(traceback.format_exception_only(type(error), error)).strip()
    return str(error) if isinstance(error, WrongReplyError) else words


def log_traceback() -> None:
    """Where the error that is handled came from; the program may have closed its own outputs."""
    os.write(LOG, traceback.format_exc().encode(errors="replace"))


def end(words: str, code: int) -> None:
    """Say why, as the last line, and end this process with whatever still runs in it."""
    os.write(LOG, f"\n{words}\n".encode(errors="replace"))
    os._exit(code)


def main() -> None:
    asked = argparse.ArgumentParser()
    for name in ("--program", "--model", "--served-model-name", "--device"):
        asked.add_argument(name, required=True)
    asked.add_argument("--port", type=int, required=True)
    asked.add_argument("--answer-seconds", type=float, required=True)
    given = asked.parse_args()
    try:
        program = Program(Path(given.program))
        server = Server(given.port, given.served_model_name, program, given.answer_seconds)
        program.module.load(given.model, given.device)
    except BaseException as error:
        log_traceback()
        end(f"{given.program}: {_words(error)}", NO_PROGRAM)
    server.answer_all()


if __name__ == "__main__":
    main()
