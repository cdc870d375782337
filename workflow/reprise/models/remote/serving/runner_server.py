"""Serve a model runner with OpenAI's chat completions API; each request calls a function of the runner's file.

The Python of the runner's environment, version 3.8 or later, runs this file, which needs only numpy and Pillow. The
main thread loads and calls the model, one request at a time.
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

KEY_VARIABLE = "REPRISE_RUNNER_API_KEY"
EXIT_START_FAILED, EXIT_TIMED_OUT = 1, 3  # exit codes
# The log probability that vLLM writes for a probability of 0.
ZERO_LOGPROB = -9999.0
# A copy of standard error, which stays open even if the runner closes its outputs.
LOG_FD = os.dup(2)


class FrameTimes(list):  # type: ignore[type-arg]  # not generic in Python 3.8
    """The times of the frames in seconds."""

    duration = 0.0
    """duration of the whole clip in seconds; 0 for a request without frames"""


class InvalidOutputError(Exception):
    """The runner returned an invalid value."""


def import_runner(path: Path) -> Any:
    """Return the module of a model runner's file."""
    spec = importlib.util.spec_from_file_location("runner", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["runner"] = module
    spec.loader.exec_module(module)
    return module


class ModelRunner:
    """A model runner: `functions` is its module, or an object with the same functions."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._has_similarity = callable(getattr(functions, "similarity", None))
        self._options: list[str] = []
        self._cached_frames: tuple[str, Any] = ("", np.zeros((0, 0, 0, 3), np.uint8))

    def get_option_token(self, option: str) -> int:
        """Return the token number that represents an option in requests for scores."""
        if option not in self._options:
            self._options.append(option)
        return self._options.index(option)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the choice of a chat completion for the body of a request."""
        prompt, frames, times = self._parse_request(body)
        if self._has_similarity:
            similarity = self._functions.similarity(frames, times, prompt)
            if similarity is None or not math.isfinite(similarity):
                raise InvalidOutputError(f"`similarity` returned {similarity}, not a finite number")
            return _build_choice(repr(float(similarity)), None)
        if "logprob_token_ids" in body:
            tokens = body["logprob_token_ids"]
            scores = self._compute_scores(frames, times, prompt, [self._options[token] for token in tokens])
            top_logprobs = [
                {"token": f"token_id:{token}", "logprob": math.log(score) if score > 0 else ZERO_LOGPROB}
                for token, score in zip(tokens, scores)  # noqa: B905  # `strict` needs Python 3.10
            ]
            return _build_choice("", {"content": [{"token": "", "logprob": 0.0, "top_logprobs": top_logprobs}]})
        text = self._functions.answer(frames, times, prompt, int(body["max_tokens"]))
        if not isinstance(text, str):
            raise InvalidOutputError(f"`answer` returned {text!r:.60}, not a string")
        text.encode()
        return _build_choice(text, None)

    def _compute_scores(self, frames: Any, times: FrameTimes, prompt: str, options: list[str]) -> list[float]:
        scores = self._functions.scores(frames, times, prompt, options)
        try:
            probabilities = [float(score) for score in scores]
        except (TypeError, ValueError):
            probabilities = []
        if len(probabilities) != len(options) or not all(0 <= number <= 1 for number in probabilities):
            raise InvalidOutputError(
                f"`scores` returned {scores}, not a probability for each of {len(options)} options"
            )
        return probabilities

    def _parse_request(self, body: dict[str, Any]) -> tuple[str, Any, FrameTimes]:
        """Return the prompt, which begins with the system message, the frames and their times."""
        *system_messages, user_message = body["messages"]
        content: Any = user_message["content"]
        times = FrameTimes()
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        # The texts before and after the frames are joined, because the runner puts the frames before the prompt.
        text = " ".join(part["text"] for part in parts if part["type"] == "text")
        prompt = "\n".join([*(message["content"] for message in system_messages), text])
        urls = [part["video_url"]["url"] for part in parts if part["type"] == "video_url"]
        if not urls:
            return prompt, np.zeros((0, 0, 0, 3), np.uint8), times
        video = body["media_io_kwargs"]["video"]
        times.extend(index / video["fps"] for index in video["frames_indices"])
        times.duration = video["duration"]
        return prompt, self._decode_frames(urls[0]), times

    def _decode_frames(self, url: str) -> Any:
        """Decode frames of shape (n, height, width, 3); consecutive requests about one clip share an array."""
        if self._cached_frames[0] != url:
            images = [base64.b64decode(image) for image in url.split("base64,", 1)[1].split(",")]
            frames = np.stack([np.asarray(Image.open(io.BytesIO(image)).convert("RGB")) for image in images])
            frames.flags.writeable = False  # later requests get the same array
            self._cached_frames = url, frames
        return self._cached_frames[1]


class Handler(BaseHTTPRequestHandler):
    """Answer one HTTP request: version, list of models, chat completion or token of an option."""

    protocol_version = "HTTP/1.1"
    server: RunnerServer

    def do_GET(self) -> None:
        if self.path == "/version":
            self._send(200, {"version": self.server.version})
        elif self._is_authorized():
            self._send(200, {"object": "list", "data": [{"id": self.server.name}]})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._is_authorized():
            return
        body = json.loads(content)
        if self.path.endswith("/chat/completions"):
            self._send(*self.server.submit(body))
        elif "prompt" in body:  # a request to tokenize an option
            self._send(200, {"tokens": [self.server.runner.get_option_token(body["prompt"])]})
        else:
            self._send(404, {"error": {"message": f"there is no endpoint {self.path}"}})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the run's log contains the requests."""

    def _is_authorized(self) -> bool:
        """Return whether the request has the server's key; otherwise send the status 401."""
        authorization = self.headers.get("Authorization", "").encode()
        if self.server.key is None or hmac.compare_digest(authorization, f"Bearer {self.server.key}".encode()):
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


class RunnerServer(ThreadingHTTPServer):
    """HTTP server on 127.0.0.1 that passes requests on to the thread that calls the model; port 0 is any free port."""

    daemon_threads = True
    # Each request uses a new connection, so the queue must be as long as the concurrency of any job.
    request_queue_size = 1024

    def __init__(self, port: int, name: str, runner: ModelRunner, key: str | None, version: str) -> None:
        self.name, self.runner, self.key, self.version = name, runner, key, version
        self.requests: queue.Queue[tuple[dict[str, Any], queue.Queue[Any]]] = queue.Queue()
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=False)
        self.server_bind()

    def submit(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the reply to a request once the thread that takes from `requests` has computed it."""
        reply: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self.requests.put((body, reply))
        return reply.get()

    def start(self) -> None:
        """Accept requests in other threads."""
        self.server_activate()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def log_failure(self, error: BaseException) -> None:
        """Log the exception that a function of the runner has raised."""
        log_traceback()

    def compute_reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the reply to a request; a KeyboardInterrupt is raised."""
        try:
            choice = self.runner.answer(body)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a library may raise SystemExit
            self.log_failure(error)
            return 422, {
                "error": {"type": "runner", "code": _classify_failure(error), "message": _describe_error(error)}
            }
        return 200, {"model": self.name, "choices": [choice]}


def _build_choice(text: str, logprobs: dict[str, Any] | None) -> dict[str, Any]:
    """Return an answer in the format of a chat completion."""
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": logprobs}


def _classify_failure(error: BaseException) -> str:
    """Return the name of the failure's reason in `inference/reasons.py`."""
    if isinstance(error, InvalidOutputError):
        return "malformed"
    if isinstance(error, UnicodeEncodeError):
        return "bad_text"
    is_memory_error = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return "out_of_memory" if is_memory_error else "failed"


def _describe_error(error: BaseException) -> str:
    """Return the class and message of an error, or only the message of an `InvalidOutputError`."""
    description = "".join(traceback.format_exception_only(type(error), error)).strip()
    return str(error) if isinstance(error, InvalidOutputError) else description


def log_traceback() -> None:
    """Log the traceback of the current exception, even if the runner has closed its own outputs."""
    os.write(LOG_FD, traceback.format_exc().encode(errors="replace"))


def exit_with_message(message: str, code: int) -> None:
    """Log a message as the last line and exit at once, even if other threads are running."""
    os.write(LOG_FD, f"\n{message}\n".encode(errors="replace"))
    os._exit(code)


def abort_on_timeout(runner: str, timeout_s: float) -> None:
    """End the process because a request takes too long."""
    faulthandler.dump_traceback(LOG_FD)
    exit_with_message(f"{runner}: no answer after {timeout_s:g} s. If it needs longer, set "
        "`served_by.answer_minutes` in the model's file", EXIT_TIMED_OUT)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--runner", "--model", "--served-model-name", "--device"):
        parser.add_argument(name, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answer-seconds", type=float, required=True)
    args = parser.parse_args()
    try:
        functions = import_runner(Path(args.runner))
        version = f"on Python {platform.python_version()}"
        key = os.environ.pop(KEY_VARIABLE)
        server = RunnerServer(args.port, args.served_model_name, ModelRunner(functions), key, version)
        functions.load(args.model, args.device)
    except BaseException as error:
        log_traceback()
        exit_with_message(f"{args.runner}: {_describe_error(error)}", EXIT_START_FAILED)
    server.start()
    while True:
        body, reply = server.requests.get()
        timer = threading.Timer(args.answer_seconds, abort_on_timeout, (args.runner, args.answer_seconds))
        timer.daemon = True
        timer.start()
        reply.put(server.compute_reply(body))
        timer.cancel()


if __name__ == "__main__":
    main()
