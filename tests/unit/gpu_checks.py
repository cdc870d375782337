"""Checks for the tests of the GPU check runner: one for each way in which a check can end."""

import os
import signal
import time
from collections.abc import Iterator
from importlib import import_module

from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, passed


def succeed(session: Session) -> Iterator[Line]:
    yield passed("first", device=session.device)
    yield passed("second", GB=1.5)


def crash(session: Session) -> Iterator[Line]:
    yield passed("first")
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(session: Session) -> Iterator[Line]:
    yield passed("first")
    time.sleep(600)


def exit_early(session: Session) -> Iterator[Line]:
    yield passed("first")
    os._exit(0)


def fail(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise FailedError("scores differ", {"difference": 0.5})


def raise_error(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise RuntimeError("CUDA error: an illegal memory access")


def lack_gpus(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise NotTriedError("one GPU is visible")


def lack_package(session: Session) -> Iterator[Line]:
    yield passed("first")
    try:
        import_module("no_such_package.part")
    except ModuleNotFoundError as error:
        raise ValueError("the model cannot be loaded") from error


def broken_package(session: Session) -> Iterator[Line]:
    """Fail: the package is installed, but one of its modules is missing."""
    yield passed("first")
    import_module("json.no_such_part")
