"""Copies of a model, each in a process of its own with its own devices: what one is asked streams back as it comes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

from reprise.core.errors import MachineError
from reprise.models.asking.ahead import Asked
from reprise.models.asking.lazy import LazyModel
from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.asking.workers import Work, Worker, WorkerDiedError
from reprise.models.base import Clip, Request

Make = Callable[[], AbstractContextManager[Model]]


class Answered(NamedTuple):
    """What became of one question, and what was done for its clip beside answering since the last one."""

    outcome: Outcome
    parts: Mapping[str, float]


class CopyLostError(MachineError):
    """The process of a copy has ended by itself, or was killed."""


def copy_of(make: Make, environment: Mapping[str, str] | None = None, preload: Sequence[str] = ()) -> Worker:
    """A process that makes a model and asks it. Copies share what is loaded before."""
    return Worker(copying(make), "asking", environment, preload, starts_others=True)


def copying(make: Make) -> Callable[[], AbstractContextManager[Work]]:
    """What a worker needs to make a model and to ask it."""
    return partial(_answering, make)


def tell(model: Model | Worker, upcoming: Iterator[Asked]) -> None:
    """What it will be asked, where it can use to know that."""
    if isinstance(model, Worker):
        list(_of_copy(model, list(upcoming)))
    elif isinstance(model, LazyModel):
        model.expect(upcoming)


def answered(model: Model | Worker, clip: Clip, requests: Sequence[Request]) -> Iterator[Answered]:
    """Ask a model about a clip, be it in this process or a copy in another one."""
    if isinstance(model, Worker):
        yield from _of_copy(model, clip, tuple(requests))
        return
    for outcome in ask(model, clip, requests):
        yield Answered(outcome, model.spent() if isinstance(model, LazyModel) and not outcome.answer.error else {})


def _of_copy(copy: Worker, *asked: object) -> Iterator[Answered]:
    try:
        yield from copy.results(*asked)
    except WorkerDiedError as died:
        raise CopyLostError(
            f"a process that asked the model {died}. What was answered is kept: run the same command again."
        ) from died


@contextmanager
def _answering(make: Make) -> Iterator[Work]:
    with make() as model:

        def work(asked: list[Asked] | Clip, requests: Sequence[Request] = ()) -> Iterator[Answered]:
            if isinstance(asked, Clip):
                yield from answered(model, asked, requests)
            else:
                tell(model, iter(asked))

        yield work
