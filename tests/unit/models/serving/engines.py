"""Environments with a fake engine, so that a server starts as a real process within moments."""

import shlex
import sys
import time
from pathlib import Path

import psutil
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.models.remote.serving.environment import environment_folder, pins_file
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import (
    LaunchSettings,
    ServerSettings,
    ServingKey,
    build_launch_settings,
    build_serving_key,
)

ENVIRONMENT, NAME = "toy", "toy@1"
OWN = shlex.quote(sys.executable)
"""Python of the tests' environment"""
STAND_IN = f"{OWN} {shlex.quote(str(Path(__file__).with_name('stand_in.py')))}"


def make_environment(root: Path, store: Store, python: str = STAND_IN) -> None:
    """Create a complete environment; the file with its pins is below this folder, as in a clone."""
    pins = root / pins_file(ENVIRONMENT)
    pins.parent.mkdir(parents=True, exist_ok=True)
    pins.write_text("vllm==0.0.1\n")
    folder = environment_folder(pins, store)
    (folder / "bin").mkdir(parents=True)
    started = folder / "bin" / "python"
    started.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    started.chmod(0o755)
    write_record(folder.with_suffix(".json"), {})


def host_in(root: Path, served: tuple[ServingKey, LaunchSettings]) -> ServerProcess:
    """Return the server of a clone, with its own weights and log."""
    (root / "weights").mkdir(exist_ok=True)
    places = {"weights": root / "weights", "store": Store(root / "store"), "log_file": root / "logs/run.server.log"}
    return ServerProcess(*served, name=NAME, **places)


def served_by(pids: Path, how: str = "", minutes: float = 1) -> tuple[ServingKey, LaunchSettings]:
    """Return the settings of a fake engine with this behaviour, which records its process ids."""
    served = ServerSettings(
        engine="vllm",
        environment=ENVIRONMENT,
        start_minutes=minutes,
        variables={"VLLM_STAND_IN": how, "VLLM_PIDS": str(pids)},
    )
    serving = build_serving_key(served, "0" * 64, dtype="float32", trust_remote_code=False, is_video=False)
    return serving, build_launch_settings(served, gpus=0)


def served_by_runner(answer_minutes: float = 1, scores: str | None = None) -> tuple[ServingKey, LaunchSettings]:
    """Return the settings of the model runner `own.py` in the environment of the tests."""
    served = ServerSettings(
        engine="runner", runner="own.py", environment=ENVIRONMENT, answer_minutes=answer_minutes,
    )  # fmt: skip
    how = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
    return build_serving_key(served, "0" * 64, **how), build_launch_settings(served, gpus=0)


def processes(pids: Path) -> list[int]:
    """Return the process ids of the server and of its worker."""
    end = time.monotonic() + 20
    while not pids.is_file() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < end, "no server was started"
        time.sleep(0.02)
    return [int(pid) for pid in pids.read_text().split()]


def have_ended(pids: list[int]) -> bool:
    """Return whether these processes end soon."""
    end = time.monotonic() + 20
    while any(map(_is_running, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
