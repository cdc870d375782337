"""Start the server of one job on a free port, wait until it answers, and end it with all its processes."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from reprise.core.errors import MachineError, UserError
from reprise.core.log import log
from reprise.core.plain import sanitize_line
from reprise.core.store import Store
from reprise.models.local.weights import check_no_adapter
from reprise.models.remote.serving.environment import find_python, make_cache_folder
from reprise.models.remote.serving.log_errors import find_root_cause
from reprise.models.remote.serving.settings import (
    HOST,
    RUNNER_COMMAND,
    VLLM_COMMAND,
    LaunchSettings,
    ServingKey,
    build_environment,
)
from reprise.models.remote.serving.supervisor import GRACE_SECONDS

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# The job's adapter reads the server's key from this variable; logs hide the value because of the name.
KEY_VARIABLE = "REPRISE_SERVER_API_KEY"
# While the server starts: time between two checks, time between two log lines, and maximum time of a check.
POLL_SECONDS, PROGRESS_SECONDS, REQUEST_TIMEOUT_SECONDS = 0.25, 10.0, 5.0
# Maximum time that a server's process takes to exit after it lost a connection.
EXIT_SECONDS = 1.0
# Lines of a server's log that a message quotes, and the part of the log in which a cause is searched.
LOG_TAIL_LINES, MAX_LOG_CHARACTERS = 5, 10_000_000


class ServerProcess:
    """A server process, from its start until it is closed."""

    def __init__(
        self,
        serving: ServingKey,
        hosting: LaunchSettings,
        *,
        weights_folder: Path,
        model_name: str,
        store: Store,
        log_file: Path,
    ) -> None:
        self._serving, self._hosting = serving, hosting
        self._weights_folder, self._model_name = weights_folder, model_name
        self._python = find_python(hosting.environment, store)
        self._cache_folder = make_cache_folder(hosting.environment, store)
        self._log_file = log_file
        self._label = f"{hosting.runner}: the model runner" if hosting.runner else serving.engine
        self._key = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    def start(self) -> dict[str, Any]:
        """Start the server, wait until it answers, and return the adapter's settings with its address and key."""
        hosting = self._hosting
        if not hosting.runner:  # a model runner may apply a LoRA adapter; vLLM would ignore it silently
            check_no_adapter(self._weights_folder)
        with socket.socket() as free_port_socket:
            free_port_socket.bind((HOST, 0))
            port = free_port_socket.getsockname()[1]
        command = [
            str(self._python), *(RUNNER_COMMAND if hosting.runner else VLLM_COMMAND),
            "--model", str(self._weights_folder.resolve()), "--served-model-name", self._model_name,
            "--port", str(port),
            *self._serving.arguments, *hosting.arguments,
        ]  # fmt: skip
        self._url = f"http://{HOST}:{port}"
        os.environ[KEY_VARIABLE] = self._key
        log.info(f"starting {self._label} on port {port}; its log: {self._log_file}")
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        with self._log_file.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(SUPERVISOR), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=build_environment(self._serving, self._key, self._cache_folder),
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.close()
            raise
        return {"url": f"{self._url}/v1", "key": KEY_VARIABLE}

    def is_running(self) -> bool:
        """Return whether the server was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def check_running(self, *, is_connection_lost: bool) -> None:
        """Raise a MachineError if the server has ended; after a lost connection, wait a moment for its end."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS if is_connection_lost else 0)
            # `wait` returns only if the process has ended.
            raise MachineError(
                f"{self._label} has ended: {self._find_failure_cause()}. Answers so far are kept. See "
                f"{self._log_file}; correct the cause, or `memory_mb` in the model's file, then run the same command "
                "again."
            )

    def close(self) -> None:
        """Stop the server and all its processes."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(b".")
            process.stdin.flush()
        try:  # The supervisor kills the server after GRACE_SECONDS; the other seconds are a margin.
            process.wait(GRACE_SECONDS + REQUEST_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            log.info("killing the server, because it does not stop")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server lists its model; raise a UserError if it ends or takes too long."""
        start = last_progress = time.monotonic()
        label, minutes = self._label, self._hosting.start_minutes
        # Each connection serves one request, so no reply can be read as the answer to another request.
        limits = httpx2.Limits(max_keepalive_connections=0, keepalive_expiry=-1)
        with httpx2.Client(
            base_url=self._url, timeout=REQUEST_TIMEOUT_SECONDS, trust_env=False, limits=limits
        ) as client:
            while self._model_name not in _list_served_models(client, self._key) or process.poll() is not None:
                now = time.monotonic()
                if process.poll() is not None:
                    raise UserError(
                        f"{label} does not start: {self._find_failure_cause()}. See {self._log_file}; correct "
                        "`served_by`, `gpus` or the weights of the model's file, then run the same command again."
                    )
                if now - start > 60 * minutes:
                    raise UserError(
                        f"{label} does not answer as '{self._model_name}' after {minutes:g} minutes: "
                        f"{self._read_last_lines()}. See {self._log_file}; if it needs longer, raise "
                        "`served_by.start_minutes`."
                    )
                if now - last_progress >= PROGRESS_SECONDS:
                    last_progress = now
                    log.info(f"{label} has been starting for {now - start:.0f} s: {self._read_last_lines(1)}")
                time.sleep(POLL_SECONDS)
        log.info(f"{label} is ready after {time.monotonic() - start:.0f} s")

    def _find_failure_cause(self) -> str:
        """Return why the server ended: the root cause in vLLM's log, or the last lines of a model runner's log."""
        cause = None if self._hosting.runner else find_root_cause(self._read_log(MAX_LOG_CHARACTERS))
        return cause or self._read_last_lines()

    def _read_log(self, characters: int) -> str:
        return self._log_file.read_text(encoding="utf-8", errors="replace")[-characters:]

    def _read_last_lines(self, count: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of the server's log, joined by slashes."""
        lines = [line for text in self._read_log(100_000).splitlines() if (line := sanitize_line(text))]
        return " / ".join(lines[-count:]) or "its log is empty"


def _list_served_models(client: httpx2.Client, key: str) -> list[str]:
    """Return the models that a server lists; empty unless the server requires the key and answers correctly.

    A server that answers without the key is not the one that this job has started.
    """
    try:
        status_without_key = client.get("/v1/models").status_code
        reply = client.get("/v1/models", headers={"Authorization": f"Bearer {key}"})
        if (status_without_key, reply.status_code) != (401, 200):
            return []
        return [model["id"] for model in reply.json()["data"]]
    except (httpx2.HTTPError, ValueError, LookupError, TypeError):
        return []
