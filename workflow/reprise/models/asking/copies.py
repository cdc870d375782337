"""Copies of a model, each in a process of its own with its own devices: what one is asked streams back as it comes."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, cast

from reprise.core.errors import MachineError, UserError
from reprise.core.log import log_to_stderr
from reprise.models.asking.ahead import Asked
from reprise.models.asking.lazy import PreparingModel
from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.base import Clip, Request

Parts = Mapping[str, float]
Make = Callable[[], AbstractContextManager[Model]]


class Answered(NamedTuple):
    """What became of one question, and what was done for its clip beside answering since the last one."""

    outcome: Outcome
    parts: Parts


class Stop(NamedTuple):
    """A message that ends the job: of a mistake that the user must correct, or of this machine's failure."""

    message: str
    is_machine: bool


class CopyLostError(MachineError):
    """The process of a copy has ended by itself, or was killed."""


def answered(model: "Model | Copy", clip: Clip, requests: Sequence[Request]) -> Iterator[Answered]:
    """Ask a model about a clip, be it in this process or a copy in another one."""
    if isinstance(model, Copy):
        yield from model.answered(clip, requests)
        return
    for outcome in ask(model, clip, requests):
        is_answer = not outcome.answer.error and isinstance(model, PreparingModel)
        yield Answered(outcome, cast(PreparingModel, model).spent() if is_answer else {})


class Copy:
    """A process that makes a model and asks it; it starts at the first question. Copies share what is loaded before."""

    def __init__(self, make: Make, environment: Mapping[str, str] | None = None, preload: Sequence[str] = ()) -> None:
        self._make, self._environment, self._preload = make, dict(environment or {}), list(preload)
        self._upcoming: list[Asked] = []
        self._process: Any = None
        self._connection: Connection | None = None

    def expect(self, upcoming: Iterator[Asked]) -> None:
        """What will be asked of it, in this order."""
        self._upcoming = list(upcoming)

    def answered(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answered]:
        try:
            connection = self._connection or self._start()
            connection.send((clip, tuple(requests)))
            while (found := connection.recv()) is not None:
                if isinstance(found, Stop):
                    raise (MachineError if found.is_machine else UserError)(found.message)
                yield found
        except (EOFError, OSError) as error:
            raise CopyLostError(self._end()) from error

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("forkserver")  # without this process's threads, locks and GPU
        context.set_forkserver_preload(self._preload)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, self._make, self._environment, self._upcoming), name="asking"
        )
        self._process.start()
        theirs.close()
        return self._connection

    def _end(self) -> str:
        if self._process is None:
            return "a process that asks the model could not be started. Run the same command again."
        self._process.join()
        code = self._process.exitcode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"a process that asked the model {how}. What was answered is kept: run the same command again."


def serve(connection: Connection, make: Make, environment: Mapping[str, str], upcoming: Sequence[Asked]) -> None:
    """A copy's work, until the job that it works for ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the job hears, and ends its copies
    os.environ.update(environment)
    log_to_stderr()
    with make() as model:
        if isinstance(model, PreparingModel):
            model.expect(iter(upcoming))
        while True:
            try:
                clip, requests = connection.recv()
            except EOFError:
                return
            _answer(connection, model, clip, requests)


def _answer(connection: Connection, model: Model, clip: Clip, requests: Sequence[Request]) -> None:
    try:
        for one in answered(model, clip, requests):
            connection.send(one)
        connection.send(None)
    except UserError as mistake:
        connection.send(Stop(str(mistake), isinstance(mistake, MachineError)))
