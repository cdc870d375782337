"""A model's copies side by side on the GPUs of a job, and one model for one run after the other; each in a process of
its own."""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import MachineError
from reprise.core.log import log
from reprise.core.owner import find_owner
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, loaded
from reprise.models.asking.kept import Opening, begin_all, is_kept, kept_model
from reprise.models.asking.lazy import LazyModel, Options, largest_of, lazy_model, load_adapter, spec_of
from reprise.models.asking.money.prices import NO_BUDGET, Budget
from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.asking.workers import Copy, Serve, StandardError, Worker, WorkerDiedError
from reprise.models.base import Adapter, AdapterOfRuns, Clip, Due, LargestClip, ModelSpec, Request
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import groups_of, needed
from reprise.models.local.gpus import free_memory, take_gpus
from reprise.models.local.weights import weights_folder

Answered = tuple[Outcome, Mapping[str, float]]
"""what became of one question, and what was done for its clip beside answering since the last one"""


class CopyLostError(MachineError):
    """The process of a copy has ended by itself, or was killed."""


def copy_of(
    make: Callable[[], AbstractContextManager[Serve]],
    environment: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Worker:
    """A process that makes a model and asks it. Copies share what is loaded before."""
    return Worker(make, "asking", environment, preload, starts_others=True)


def tell(model: Model | Copy, upcoming: Iterator[Due]) -> None:
    """What it will be asked, where it can use to know that."""
    if isinstance(model, Copy):
        list(_of_copy(model, list(upcoming)))
    elif isinstance(model, LazyModel):
        model.expect(upcoming)


def answered(model: Model | Copy, clip: Clip, requests: Sequence[Request]) -> Iterator[Answered]:
    """Ask a model about a clip, be it in this process or a copy in another one."""
    if isinstance(model, Copy):
        yield from _of_copy(model, clip, tuple(requests))
        return
    for outcome in ask(model, clip, requests):
        yield outcome, model.spent() if isinstance(model, LazyModel) and not outcome.answer.error else {}


def _of_copy(copy: Copy, *asked: object) -> Iterator[Answered]:
    try:
        yield from copy.results(*asked)
    except WorkerDiedError as died:
        raise CopyLostError(
            f"a process that asked the model {died}. What was answered is kept: run the same command again."
        ) from died


@contextmanager
def answering(make: Callable[[], AbstractContextManager[Model]]) -> Iterator[Serve]:
    with make() as model:
        yield partial(_serve, model)


def _serve(model: Model, asked: list[Due] | Clip, requests: Sequence[Request] = ()) -> Iterator[Answered]:
    if isinstance(asked, Clip):
        yield from answered(model, asked, requests)
    else:
        tell(model, iter(asked))


class KeptAdapter:
    """A model that stays loaded for the next run of it."""

    def __init__(self) -> None:
        self._adapter: Adapter | None = None
        self._spec: ModelSpec | None = None

    def __call__(self, key: ModelRunKey, spec: ModelSpec) -> Adapter:
        if self._adapter is not None and self._spec is not None and self._spec.of_model == spec.of_model:
            is_of_runs = isinstance(self._adapter, AdapterOfRuns)
            if is_of_runs or replace(self._spec, largest=None) == replace(spec, largest=None):
                log.info(f"the model of {key.run} is loaded already, by an earlier job")
                if isinstance(self._adapter, AdapterOfRuns):
                    self._adapter.begin(spec)
                return self._adapter
        self._adapter = None  # makes room for the new one
        gc.collect()
        self._adapter, self._spec = load_adapter(key, spec), spec
        return self._adapter


class Begin(NamedTuple):
    """The next run of a model that stays loaded; without `make` the last one has ended."""

    make: Callable[..., LazyModel] | None = None
    log: StandardError | None = None


@contextmanager
def answering_runs(largest: LargestClip | None = None) -> Iterator[Serve]:
    """Ask a model for one run after the other; it is loaded for the first, with room for this clip."""
    kept = KeptAdapter()
    with ExitStack() as run:
        models: list[LazyModel] = []

        def serve(asked: Begin | list[Due] | Clip, requests: Sequence[Request] = ()) -> Iterator[Answered]:
            if not isinstance(asked, Begin):
                yield from _serve(models[0], asked, requests)
                return
            run.close()
            models.clear()
            if asked.make is not None:
                models.append(run.enter_context(asked.make(load=kept, largest=largest)))
                models[0].loaded()

        yield serve


def copies_on(
    key: ModelRunKey, threads: int, weights: Path, largest: LargestClip | None
) -> list[Callable[[Callable[[], AbstractContextManager[Serve]]], Worker]]:
    """Return how each of a model's copies is started on its GPUs, which are taken; none where one copy has them all."""
    names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    groups = _groups(replace(spec_of(key, weights, threads), largest=largest), names, key.answers.adapter)
    if len(groups) < 2:
        return []
    log.info(f"{len(groups)} copies of the model are asked side by side, each about a share of the clips")
    modules, order = (ADAPTERS[key.answers.adapter].module,), {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
    return [
        partial(copy_of, environment=order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, preload=modules)
        for group in groups
    ]


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
    clips: Sequence[Clip] = (),
) -> Iterator[Model | Sequence[Copy]]:
    """A run's model, or a copy of it on each of the devices, or groups of them, that hold one with the largest clip.

    Where Snakemake runs the job, a model with weights stays loaded for the next job. A server that the job starts
    spreads its model itself.
    """
    workers = threads if key.gpus else 0
    owner = find_owner() if is_needed and is_kept(key) else None
    if owner is not None and key.hosting is None:
        found = weights_folder(key.checkpoint, key.answers.model, store)
        assert found is not None
        with kept_model(owner, Opening(key, store, threads, found, clips if key.gpus else ())) as kept:
            each = max(1, threads // len(kept))
            make = partial(LazyModel, key, store, each, each if key.gpus else 0, found, options)
            begin_all(kept, Begin(make))
            yield kept
        return
    weights = (
        weights_folder(key.checkpoint, key.answers.model, store)
        if is_needed and key.gpus > 1 and key.hosting is None
        else None
    )
    if weights is None:
        with lazy_model(key, store, threads, workers, options, budget, server_log, clips, owner) as model:
            yield model
        return
    with ExitStack() as ends:
        for lock in take_gpus(key.gpus, store.root / "locks", Path(key.run).name):
            ends.callback(lock.release)
        largest = largest_of(clips) if clips else None
        copies = copies_on(key, threads, weights, largest)
        each = max(1, threads // max(1, len(copies)))
        make = partial(LazyModel, key, store, each, each, weights, options, largest=largest)
        if not copies:
            yield ends.enter_context(make())
        else:
            yield [ends.enter_context(closing(start(partial(answering, make)))) for start in copies]


def _groups(spec: ModelSpec, names: Sequence[str], adapter: str) -> list[tuple[str, ...]]:
    """Return the GPUs of each copy: as many as the model's file says, or as few as hold it and its largest clip."""
    free, each = free_memory(names), spec.gpus_per_copy
    if free is None:
        return [tuple(names[at : at + (each or len(names))]) for at in range(0, len(names), each or len(names))]
    sizer = ADAPTERS[adapter].sizer
    clip = loaded(sizer)(spec) if sizer and each is None else None
    need = needed(spec.weights, spec.dtype, spec.settings.get("quantised"), clip)
    return groups_of(need, names, free, str(spec.weights), each)
