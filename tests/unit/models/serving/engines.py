"""Environments whose engine is the stand-in, so that a server is a real process in a moment."""

import shlex
import sys
import time
from pathlib import Path

import psutil
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.models.remote.serving.environment import environment_folder, pins_file
from reprise.models.remote.serving.settings import Hosting, ServedBy, Serving, hosting_of, serving_of

STAND_IN = Path(__file__).with_name("stand_in.py")
ENVIRONMENT = "toy"


def stand_in_environment(root: Path, store: Store) -> None:
    """An environment whose Python is the stand-in."""
    _environment(root, store, f"{shlex.quote(sys.executable)} {shlex.quote(str(STAND_IN))}")


def own_environment(root: Path, store: Store) -> None:
    """An environment that is this one's Python."""
    _environment(root, store, shlex.quote(sys.executable))


def _environment(root: Path, store: Store, python: str) -> None:
    """An environment that is whole; the file that pins it lies below this folder, as in a clone."""
    pins = root / pins_file(ENVIRONMENT)
    pins.parent.mkdir(parents=True, exist_ok=True)
    pins.write_text("vllm==0.0.1\n")
    folder = environment_folder(pins, store)
    (folder / "bin").mkdir(parents=True)
    started = folder / "bin" / "python"
    started.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    started.chmod(0o755)
    write_record(folder.with_suffix(".json"), {})


def served_by(pids: Path, how: str = "", minutes: float = 1) -> tuple[Serving, Hosting]:
    """A stand-in that does as it is told, and writes its processes down."""
    served = ServedBy(
        engine="vllm",
        environment=ENVIRONMENT,
        start_minutes=minutes,
        variables={"VLLM_STAND_IN": how, "VLLM_PIDS": str(pids)},
    )
    serving = serving_of(served, "0" * 64, dtype="float32", gpus=0, trust_remote_code=False, is_video=False)
    return serving, hosting_of(served)


def served_by_program(
    file: str, start_minutes: float = 1, answer_minutes: float = 1, scores: str | None = None
) -> tuple[Serving, Hosting]:
    """A program in the environment of the tests."""
    served = ServedBy(
        engine="program", program=file, environment=ENVIRONMENT, start_minutes=start_minutes,
        answer_minutes=answer_minutes,
    )  # fmt: skip
    how = {"dtype": "float32", "gpus": 0, "trust_remote_code": False, "is_video": True, "scores": scores}
    return serving_of(served, "0" * 64, **how), hosting_of(served)


def processes(pids: Path) -> list[int]:
    """The server and what it started."""
    end = time.monotonic() + 20
    while not pids.is_file() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < end, "no server was started"
        time.sleep(0.02)
    return [int(one) for one in pids.read_text().split()]


def are_gone(found: list[int]) -> bool:
    """Whether these processes end soon."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if not any(_runs(one) for one in found):
            return True
        time.sleep(0.02)
    return False


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
