"""Serve functions of the calling program as a model: a local server, and the model's file that names it."""

import queue
import re
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reprise.commands.api_process import run_command_line
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.names import SLUG, SLUG_DESCRIPTION
from reprise.core.plain import sanitize_line
from reprise.core.yaml_files import dump_yaml, load_yaml
from reprise.models.remote.serving.runner_server import ModelRunner, RunnerServer

LIBRARY = Path(__file__).parents[1]
SERVER = "function of a Python program"  # Value of `settings.server`, by which the file of such a model is recognised.
HEADER = (
    "# yaml-language-server: $schema=../schemas/model.schema.json\n"
    "# Written by reprise.evaluate; the server of this function has ended. To remove the model, delete this file and\n"
    "# its name in `run:` and `overview:` of the suite.\n"
)
# Requests wait while the function answers others, so the limit of a request is generous.
TIMEOUT_S, CONCURRENCY, POLL_S = 3600, 2, 0.2


class _Server(RunnerServer):
    """Server that counts the failures of its functions and prints the traceback of the first one."""

    request_count = failure_count = 0
    failure = ""
    """Function and message of the first failure."""

    def compute_reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.request_count += 1
        return super().compute_reply(body)

    def log_failure(self, error: BaseException) -> None:
        self.failure_count += 1
        if self.failure_count > 1:
            return
        frames = error.__traceback__
        while frames is not None and Path(frames.tb_frame.f_code.co_filename).is_relative_to(LIBRARY):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        function = f"'{frames.tb_frame.f_code.co_qualname}'" if frames else "the function"
        self.failure = f"{function} raised {sanitize_line(''.join(traceback.format_exception_only(error)))}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have disconnected, because a run may end while requests wait."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class FunctionServer:
    """Context manager that serves functions as a model of a working folder.

    If the block fails, the configuration is restored, because later runs cannot query the functions.
    """

    def __init__(
        self,
        answer: Callable[..., str],
        scores: Callable[..., Any] | None,
        name: str | None,
        version: str | None,
        folder: Path,
    ) -> None:
        """Prepare the server of a function `answer` and, for scores of options, a function `scores`.

        `name` is the name of the model's file, and `version` that of its weights (by default a random one).
        """
        if name is None or not re.fullmatch(SLUG, name):
            raise UserError(
                f"evaluate: name: {name!r} is not a valid name. A function needs a name for its answers, such as "
                f"'my-model-step-200'. Allowed: {SLUG_DESCRIPTION}."
            )
        self.name, self._folder, self._version = name, folder, version or secrets.token_hex(8)
        self._file, self._suites = folder / f"config/models/{name}.yaml", folder / "config/suites"
        self._functions = SimpleNamespace(
            answer=lambda frames, times, prompt, max_tokens: answer(frames, times, prompt)
        )
        if scores is not None:
            self._functions.scores = scores

    def __enter__(self) -> "FunctionServer":
        if self._file.is_file() and load_yaml(self._file).get("settings", {}).get("server") != SERVER:
            raise UserError(f"{self._file}: belongs to another model. Choose another `name`.")
        files = [self._file, *self._suites.glob("*.yaml")]
        self._original_texts = {file: file.read_text(encoding="utf-8") for file in files if file.is_file()}
        self._server = _Server(0, self.name, ModelRunner(self._functions), None, self._version)
        settings = {
            "url": f"http://127.0.0.1:{self._server.server_port}/v1", "model": self.name, "server": SERVER,
            "version": self._version, "frames": "video", "check_frames": False,
            "scores": "logprob_token_ids" if hasattr(self._functions, "scores") else None,
            "concurrency": CONCURRENCY, "timeout_s": TIMEOUT_S,
        }  # fmt: skip
        write_text(self._file, HEADER + dump_yaml({"label": self.name, "adapter": "openai", "settings": settings}))
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        with suppress(queue.Empty):
            while True:  # Each waiting request blocks a thread. A reply with HTTP status 503 ends it.
                reply = self._server.requests.get_nowait()[1]
                reply.put((503, {}))
        if kind is not None:
            self._restore()

    def run_command(self, arguments: Sequence[str]) -> None:
        """Run `reprise` with these arguments in the working folder, and answer its requests with the functions.

        Raises:
            UserError: The command fails; if all requests failed, the message names the function.
        """
        try:
            run_command_line(arguments, self._folder, self._answer_request, self._has_only_failures)
        except UserError:
            if not self._has_only_failures():
                raise
            raise UserError(
                f"evaluate: {self.name}: {self._server.failure} (traceback above). All {self._server.failure_count} "
                "requests failed, so the run stopped. The configuration is restored."
            ) from None

    def _has_only_failures(self) -> bool:
        """Return whether the functions failed at every request so far, and there was one."""
        return 0 < self._server.failure_count == self._server.request_count

    def _answer_request(self) -> None:
        """Answer the next request with the functions; return after `POLL_S` seconds without a request."""
        with suppress(queue.Empty):
            body, reply = self._server.requests.get(timeout=POLL_S)
            reply.put(self._server.compute_reply(body))

    def _restore(self) -> None:
        """Restore the model's file and its entries in the suites, and remove folders that are empty then."""
        for file in (self._file, *self._suites.glob("*.yaml")):
            original_text, text = self._original_texts.get(file), file.read_text(encoding="utf-8")
            if original_text is None:
                file.unlink()
            elif file == self._file:
                write_text(file, original_text)
            elif (restored_text := _revert_changes(original_text, text, self.name)) != text:
                write_text(file, restored_text)
        for folder in (self._file.parent, self._suites, self._suites.parent):
            with suppress(OSError):  # Only an empty folder can be removed.
                folder.rmdir()


def _revert_changes(original_text: str, text: str, name: str) -> str:
    """Return a text with the original lines where changed lines contain a name; the user's other changes stay."""
    original_lines, lines = original_text.splitlines(keepends=True), text.splitlines(keepends=True)
    restored = []
    for _, first, last, new_first, new_last in SequenceMatcher(None, original_lines, lines, False).get_opcodes():
        is_reverted = any(name in line for line in lines[new_first:new_last])
        restored += original_lines[first:last] if is_reverted else lines[new_first:new_last]
    return "".join(restored)
