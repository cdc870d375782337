"""The server of one job: started on a free port of this machine, waited for, and ended with all its processes."""

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
from reprise.core.plain import plain
from reprise.core.store import Store
from reprise.models.local.weights import check_no_adapter
from reprise.models.remote.serving.environment import caches_of, python_of
from reprise.models.remote.serving.failures import root_cause
from reprise.models.remote.serving.keeper import GRACE_SECONDS
from reprise.models.remote.serving.settings import HOST, PROGRAM_SERVER, VLLM, Hosting, Serving, environment

KEEPER = Path(__file__).with_name("keeper.py")
# The variable by which the job's adapter finds the server's key; the name hides its value in logs.
KEY_VARIABLE = "REPRISE_SERVER_API_KEY"
POLL_SECONDS, PROGRESS_SECONDS, ANSWER_SECONDS = 0.25, 10.0, 5.0
# After a connection was lost, until its end is known.
ENDING_SECONDS = 1.0
SAID_LINES, MOST_LOG = 5, 10_000_000


class Host:
    """A server from its start until it is closed."""

    def __init__(
        self,
        serving: Serving,
        hosting: Hosting,
        *,
        weights: Path,
        name: str,
        store: Store,
        log_file: Path,
    ) -> None:
        self._serving, self._hosting, self._weights, self._name = serving, hosting, weights, name
        self._python = python_of(hosting.environment, store)
        self._caches = caches_of(hosting.environment, store)
        self._log_file = log_file
        self._what = f"{hosting.program}: the program" if hosting.program else serving.engine
        self._key = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    def start(self) -> dict[str, Any]:
        """Start it and wait until it answers; gives the adapter's settings by which it is reached."""
        hosting = self._hosting
        if not hosting.program:  # which may apply it; vLLM would answer without
            check_no_adapter(self._weights)
        with socket.socket() as one:  # a port that nobody uses at this moment
            one.bind((HOST, 0))
            port = one.getsockname()[1]
        words = [
            str(self._python), *(PROGRAM_SERVER if hosting.program else VLLM), "--model", str(self._weights.resolve()),
            "--served-model-name", self._name, "--port", str(port), *self._serving.arguments, *hosting.arguments,
        ]  # fmt: skip
        self._url = f"http://{HOST}:{port}"
        os.environ[KEY_VARIABLE] = self._key
        log.info(f"starting {self._what} on port {port}; its log: {self._log_file}")
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        with self._log_file.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(KEEPER), *words],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(self._serving, self._key, self._caches),
                start_new_session=True,
            )
        try:
            self._wait(self._process)
        except BaseException:
            self.close()
            raise
        return {"url": f"{self._url}/v1", "key": KEY_VARIABLE}

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self, *, is_lost: bool) -> None:
        """A MachineError where it has ended, or does so in this moment, should a connection be lost."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_SECONDS if is_lost else 0)
            raise MachineError(
                f"{self._what} has ended: {self._cause()}. Answers so far are kept. See {self._log_file}; correct what "
                "it says, or `memory_mb` in the model's file, then run the same command again."
            )

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(b".")
            process.stdin.flush()
        try:
            process.wait(GRACE_SECONDS + ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            log.info("the server does not end: it is killed")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        start = told = time.monotonic()
        name, minutes = self._what, self._hosting.start_minutes
        # A connection serves one request, so that no reply can be taken for that to another.
        limits = httpx2.Limits(max_keepalive_connections=0, keepalive_expiry=-1)
        with httpx2.Client(base_url=self._url, timeout=ANSWER_SECONDS, trust_env=False, limits=limits) as client:
            while self._name not in _served(client, self._key) or process.poll() is not None:
                now = time.monotonic()
                if process.poll() is not None:
                    raise UserError(
                        f"{name} does not start: {self._cause()}. See {self._log_file}; correct `served_by`, `gpus` "
                        "or the weights of the model's file, then run the same command again."
                    )
                if now - start > 60 * minutes:
                    raise UserError(
                        f"{name} does not answer as '{self._name}' after {minutes:g} minutes: {self._said()}. See "
                        f"{self._log_file}; give it longer by `served_by.start_minutes`."
                    )
                if now - told >= PROGRESS_SECONDS:
                    told = now
                    log.info(f"{name} starts, for {now - start:.0f} s: {self._said(1)}")
                time.sleep(POLL_SECONDS)
        log.info(f"{name} answers after {time.monotonic() - start:.0f} s")

    def _cause(self) -> str:
        """Return the exception that ended vLLM, wherever in its log that stands; of a program, whose server says at the
        end why it ends, the last lines."""
        cause = None if self._hosting.program else root_cause(self._log(MOST_LOG))
        return cause or self._said()

    def _log(self, characters: int) -> str:
        return self._log_file.read_text(encoding="utf-8", errors="replace")[-characters:]

    def _said(self, count: int = SAID_LINES) -> str:
        """The last lines of its log."""
        lines = [line for one in self._log(100_000).splitlines() if (line := plain(one))]
        return " / ".join(lines[-count:]) or "it said nothing"


def _served(client: httpx2.Client, key: str) -> list[str]:
    """The models that a server names to who has the key, and to nobody else; none where it does not answer so."""
    try:
        refused = client.get("/v1/models").status_code
        reply = client.get("/v1/models", headers={"Authorization": f"Bearer {key}"})
        return [one["id"] for one in reply.json()["data"]] if (refused, reply.status_code) == (401, 200) else []
    except (httpx2.HTTPError, ValueError, LookupError, TypeError):
        return []
