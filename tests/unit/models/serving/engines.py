"""Create environments with a fake engine: a server starts as a real process within moments."""

import shlex
import sys
import time
from pathlib import Path

import psutil
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.models.remote.serving.environment import get_environment_folder, get_pins_path
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import (
    LaunchSettings,
    ServerSettings,
    ServingKey,
    build_launch_settings,
    build_serving_key,
)

ENVIRONMENT, NAME = "toy", "toy@1"
TEST_PYTHON = shlex.quote(sys.executable)
"""Python of the tests' environment"""
FAKE_ENGINE = f"{TEST_PYTHON} {shlex.quote(str(Path(__file__).with_name('stand_in.py')))}"


def make_environment(root: Path, store: Store, python: str = FAKE_ENGINE) -> None:
    """Create a complete environment; its pins file lies below `root`, as in a clone."""
    pins_path = root / get_pins_path(ENVIRONMENT)
    pins_path.parent.mkdir(parents=True, exist_ok=True)
    pins_path.write_text("vllm==0.0.1\n")
    folder = get_environment_folder(pins_path, store)
    (folder / "bin").mkdir(parents=True)
    python_script = folder / "bin" / "python"
    python_script.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    python_script.chmod(0o755)
    write_record(folder.with_suffix(".json"), {})


def make_server(root: Path, keys: tuple[ServingKey, LaunchSettings]) -> ServerProcess:
    """Return the server of a clone, with its own weights and log."""
    (root / "weights").mkdir(exist_ok=True)
    paths = {
        "weights_folder": root / "weights",
        "store": Store(root / "store"),
        "log_file": root / "logs/run.server.log",
    }
    return ServerProcess(*keys, model_name=NAME, **paths)


def build_keys(pids_file: Path, behaviour: str = "", start_minutes: float = 1) -> tuple[ServingKey, LaunchSettings]:
    """Return the keys of a fake engine with this behaviour that records its process ids."""
    settings = ServerSettings(
        engine="vllm",
        environment=ENVIRONMENT,
        start_minutes=start_minutes,
        variables={"VLLM_STAND_IN": behaviour, "VLLM_PIDS": str(pids_file)},
    )
    serving = build_serving_key(settings, "0" * 64, dtype="float32", trust_remote_code=False, is_video=False)
    return serving, build_launch_settings(settings, gpus=0)


def build_runner_keys(answer_minutes: float = 1, scores: str | None = None) -> tuple[ServingKey, LaunchSettings]:
    """Return the keys of the model runner `own.py` in the tests' environment."""
    settings = ServerSettings(
        engine="runner", runner="own.py", environment=ENVIRONMENT, answer_minutes=answer_minutes,
    )  # fmt: skip
    run_settings = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
    return build_serving_key(settings, "0" * 64, **run_settings), build_launch_settings(settings, gpus=0)


def read_process_ids(pids_file: Path) -> list[int]:
    """Wait for the server and return the process ids of the server and its worker."""
    deadline = time.monotonic() + 20
    while not pids_file.is_file() or len(pids_file.read_text().split()) < 2:
        assert time.monotonic() < deadline, "no server was started"
        time.sleep(0.02)
    return [int(pid) for pid in pids_file.read_text().split()]


def have_ended(pids: list[int]) -> bool:
    """Return whether these processes end soon."""
    deadline = time.monotonic() + 20
    while any(map(_is_running, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
