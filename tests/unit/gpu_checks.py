"""Checks that end in every way that a check can, for the runner's tests."""

import os
import signal
import time
from collections.abc import Iterator
from importlib import import_module

from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, passed


def fine(session: Session) -> Iterator[Line]:
    yield passed("first", device=session.device)
    yield passed("second", GB=1.5)


def crash(session: Session) -> Iterator[Line]:
    yield passed("first")
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(session: Session) -> Iterator[Line]:
    yield passed("first")
    time.sleep(600)


def leave(session: Session) -> Iterator[Line]:
    yield passed("first")
    os._exit(0)


def wrong(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise FailedError("scores differ", {"difference": 0.5})


def error(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise RuntimeError("CUDA error: an illegal memory access")


def small(session: Session) -> Iterator[Line]:
    yield passed("first")
    raise NotTriedError("one GPU is visible")


def absent(session: Session) -> Iterator[Line]:
    yield passed("first")
    try:
        import_module("no_such_package.part")
    except ModuleNotFoundError as missing:
        raise ValueError("the model cannot be loaded") from missing


def broken_package(session: Session) -> Iterator[Line]:
    """A package that is there, without one of its parts, is a failure."""
    yield passed("first")
    import_module("json.no_such_part")
