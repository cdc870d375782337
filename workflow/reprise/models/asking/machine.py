"""The model of a job on the GPUs that it has taken: on one or spread over several, or copies of it side by side, each
in a process of its own with its own devices: what one is asked streams back as it comes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import MachineError
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.ahead import Asked
from reprise.models.asking.lazy import LazyModel, Options, Taken, lazy_model
from reprise.models.asking.money.prices import NO_BUDGET, Budget
from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.asking.workers import Work, Worker, WorkerDiedError
from reprise.models.base import Clip, Request
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import free_memory, take_gpus
from reprise.models.local.placement import groups_of, needed
from reprise.models.local.weights import weights_folder

Make = Callable[[], AbstractContextManager[Model]]


class Answered(NamedTuple):
    """What became of one question, and what was done for its clip beside answering since the last one."""

    outcome: Outcome
    parts: Mapping[str, float]


class CopyLostError(MachineError):
    """The process of a copy has ended by itself, or was killed."""


def copy_of(make: Make, environment: Mapping[str, str] | None = None, preload: Sequence[str] = ()) -> Worker:
    """A process that makes a model and asks it. Copies share what is loaded before."""
    return Worker(partial(_answering, make), "asking", environment, preload, starts_others=True)


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


@contextmanager
def model_on(
    key: ModelRunKey,
    store: Store,
    threads: int,
    *,
    is_needed: bool,
    options: Options = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
) -> Iterator[Model | Sequence[Worker]]:
    """A run's model, or a copy of it on each of the devices, or groups of them, that hold one.

    A server that the job starts spreads its model itself.
    """
    workers = threads if key.gpus else 0
    if not is_needed or key.gpus < 2 or key.hosting is not None:
        with lazy_model(key, store, threads, workers, options, budget, server_log) as model:
            yield model
        return
    with ExitStack() as ends:
        for lock in take_gpus(key.gpus, store.root / "locks"):
            ends.callback(lock.release)
        taken = Taken(weights_folder(key, store))
        names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        free, groups = free_memory(names), [tuple(names)]
        if free is not None and taken.weights is not None:
            need = needed(taken.weights, key.answers.dtype, key.answers.settings.get("quantised"))
            groups = groups_of(need, names, free, str(taken.weights))
        if len(groups) < 2:
            yield ends.enter_context(LazyModel(key, store, threads, workers, taken, options))
        else:
            log.info(f"{len(groups)} copies of the model are asked side by side, each about a share of the clips")
            each = max(1, threads // len(groups))
            make = partial(LazyModel, key, store, each, each, taken, options)
            modules = (ADAPTERS[key.answers.adapter].module,)
            order = {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
            copies = [copy_of(make, order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, modules) for group in groups]
            yield [ends.enter_context(closing(copy)) for copy in copies]
