"""A real Label Studio on 127.0.0.1, with a folder of its own; it ends with the tests, by its process group."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("LABEL_STUDIO", str(ROOT / ".venv-people/bin/label-studio"))
TOKEN, USER, PASSWORD = 5 * "0123abcd", "reviewer@example.org", "Only-for-tests-1"
START_S, END_S = 3600, 60
STEPS_S = 600


@dataclass
class LabelStudio:
    """A server that answers, and the folder whose videos it shows."""

    url: str
    files: Path

    def ask(self, method: str, path: str, content: Any = None, **headers: str) -> httpx2.Response:
        """An answer of its API; any other than a success fails the test with what it says."""
        headers |= {"Authorization": f"Token {TOKEN}"}
        found = httpx2.request(method, f"{self.url}{path}", json=content, headers=headers, timeout=STEPS_S)
        assert found.is_success, f"{method} {path}: {found.status_code}: {found.text[:500]}"
        return found


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    home = tmp_path_factory.mktemp("label-studio")
    files = home / "videos"
    (files / "clips").mkdir(parents=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [PROGRAM, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--username", USER, "--password", PASSWORD, "--user-token", TOKEN]
    environment = os.environ | {
        "HOME": str(home), "LABEL_STUDIO_BASE_DATA_DIR": str(home / "data"),
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true", "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(files),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "",
    }  # fmt: skip
    for name in ("PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)
    (home / "data").mkdir()
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=home, start_new_session=True
        )
    running = LabelStudio(f"http://127.0.0.1:{port}", files)
    try:
        _wait(running, process, home / "log")
        yield running
    finally:
        left: list[psutil.Process] = []
        if process.poll() is None:
            group = psutil.Process(process.pid)
            everybody = [group, *group.children(recursive=True)]
            os.killpg(process.pid, signal.SIGTERM)
            _, left = psutil.wait_procs(everybody, timeout=END_S)
            for one in left:
                one.kill()
            process.wait()
    assert not left, f"Label Studio left {left}"


def _wait(running: LabelStudio, process: subprocess.Popen[bytes], log: Path) -> None:
    latest = time.monotonic() + START_S
    while time.monotonic() < latest:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{running.url}/health", timeout=10).is_success:
                return
        time.sleep(1)
    raise TimeoutError(log.read_text()[-2000:])
