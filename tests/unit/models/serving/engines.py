"""Environments whose engine is the stand-in, so that a server is a real process in a moment."""

import shlex
import sys
import time
from pathlib import Path

import psutil
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.models.remote.serving.environment import environment_folder, pins_file
from reprise.models.remote.serving.host import Host
from reprise.models.remote.serving.settings import Hosting, ServedBy, Serving, hosting_of, serving_of

ENVIRONMENT, NAME = "toy", "toy@1"
OWN = shlex.quote(sys.executable)
"""this environment's Python, and the stand-in as another one's"""
STAND_IN = f"{OWN} {shlex.quote(str(Path(__file__).with_name('stand_in.py')))}"


def make_environment(root: Path, store: Store, python: str = STAND_IN) -> None:
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


def host_in(root: Path, served: tuple[Serving, Hosting]) -> Host:
    """A server of a clone, with weights and a log of its own."""
    (root / "weights").mkdir(exist_ok=True)
    places = {"weights": root / "weights", "store": Store(root / "store"), "log_file": root / "logs/run.server.log"}
    return Host(*served, name=NAME, **places)


def served_by(pids: Path, how: str = "", minutes: float = 1) -> tuple[Serving, Hosting]:
    """A stand-in that does as it is told, and writes its processes down."""
    served = ServedBy(
        engine="vllm",
        environment=ENVIRONMENT,
        start_minutes=minutes,
        variables={"VLLM_STAND_IN": how, "VLLM_PIDS": str(pids)},
    )
    serving = serving_of(served, "0" * 64, dtype="float32", trust_remote_code=False, is_video=False)
    return serving, hosting_of(served, gpus=0)


def served_by_program(answer_minutes: float = 1, scores: str | None = None) -> tuple[Serving, Hosting]:
    """The program `own.py` in the environment of the tests."""
    served = ServedBy(
        engine="program", program="own.py", environment=ENVIRONMENT, answer_minutes=answer_minutes,
    )  # fmt: skip
    how = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
    return serving_of(served, "0" * 64, **how), hosting_of(served, gpus=0)


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
    while any(map(_runs, found)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
