"""Copies of a model in processes of their own, side by side on the GPUs of a job or kept for one run after another."""

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
from reprise.models.asking.lazy import LazyModel, Options, find_largest_clip, lazy_model, load_adapter, spec_of
from reprise.models.asking.money.prices import NO_BUDGET, Budget
from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.asking.workers import Copy, Serve, StandardError, Worker, WorkerDiedError
from reprise.models.base import Adapter, AdapterOfRuns, Clip, Due, LargestClip, ModelSpec, Request
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import groups_of, needed
from reprise.models.local.gpus import free_memory, take_gpus
from reprise.models.local.weights import weights_folder

TimedOutcome = tuple[Outcome, Mapping[str, float]]
"""outcome of one request, and the seconds of each preparation step for its clip since the previous outcome"""


class CopyLostError(MachineError):
    """The process of a copy exited by itself or was killed."""


def copy_of(
    make: Callable[[], AbstractContextManager[Serve]],
    environment: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Worker:
    """Return a worker process that makes a model and queries it; copies share the modules in `preload`."""
    return Worker(make, "asking", environment, preload, starts_others=True)


def announce(model: Model | Copy, upcoming: Iterator[Due]) -> None:
    """Pass the upcoming clips to a model that can prepare them ahead."""
    if isinstance(model, Copy):
        list(_query_copy(model, list(upcoming)))
    elif isinstance(model, LazyModel):
        model.expect(upcoming)


def answered(model: Model | Copy, clip: Clip, requests: Sequence[Request]) -> Iterator[TimedOutcome]:
    """Query a model about a clip, in this process or in that of a copy, and yield each outcome with its timings."""
    if isinstance(model, Copy):
        yield from _query_copy(model, clip, tuple(requests))
        return
    for outcome in ask(model, clip, requests):
        yield outcome, model.spent() if isinstance(model, LazyModel) and not outcome.answer.error else {}


def _query_copy(copy: Copy, *arguments: object) -> Iterator[TimedOutcome]:
    try:
        yield from copy.results(*arguments)
    except WorkerDiedError as error:
        raise CopyLostError(
            f"a process that asked the model {error}. What was answered is kept: run the same command again."
        ) from error


@contextmanager
def answering(make: Callable[[], AbstractContextManager[Model]]) -> Iterator[Serve]:
    """Make a model and yield the function by which a worker process queries it."""
    with make() as model:
        yield partial(_serve, model)


def _serve(model: Model, task: list[Due] | Clip, requests: Sequence[Request] = ()) -> Iterator[TimedOutcome]:
    """Query the model about a clip, or announce the upcoming clips to it."""
    if isinstance(task, Clip):
        yield from answered(model, task, requests)
    else:
        announce(model, iter(task))


class KeptAdapter:
    """A loader that reuses the adapter of the previous run where both runs have the same model."""

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
        self._adapter = None  # The memory of the old model must be free before the new one is loaded.
        gc.collect()
        self._adapter, self._spec = load_adapter(key, spec), spec
        return self._adapter


class Begin(NamedTuple):
    """A message that begins the next run of a loaded model; without `make` it only ends the previous run."""

    make: Callable[..., LazyModel] | None = None
    log: StandardError | None = None


@contextmanager
def answering_runs(largest: LargestClip | None = None) -> Iterator[Serve]:
    """Yield the function by which a worker process queries one model for one run after another.

    The model is loaded for the first run, with room for the `largest` clip.
    """
    load = KeptAdapter()
    with ExitStack() as run:
        models: list[LazyModel] = []

        def serve(task: Begin | list[Due] | Clip, requests: Sequence[Request] = ()) -> Iterator[TimedOutcome]:
            if not isinstance(task, Begin):
                yield from _serve(models[0], task, requests)
                return
            run.close()
            models.clear()
            if task.make is not None:
                models.append(run.enter_context(task.make(load=load, largest=largest)))
                models[0].loaded()

        yield serve


def plan_copies(
    key: ModelRunKey, threads: int, weights: Path, largest: LargestClip | None
) -> list[Callable[[Callable[[], AbstractContextManager[Serve]]], Worker]]:
    """Return a function for each of a model's copies that starts it on its share of the GPUs taken by this job.

    The list is empty where a single copy uses all of the GPUs.
    """
    names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    groups = _group_gpus(replace(spec_of(key, weights, threads), largest=largest), names, key.answers.adapter)
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
    """Yield a run's model, or one copy for each GPU, or group of GPUs, that can hold it with the run's largest clip.

    A model with weights stays loaded for the next job where Snakemake runs the job. A server that the job starts
    distributes its model over the GPUs itself.
    """
    workers = threads if key.gpus else 0
    owner = find_owner() if is_needed and is_kept(key) else None
    if owner is not None and key.hosting is None:
        folder = weights_folder(key.checkpoint, key.answers.model, store)
        assert folder is not None
        with kept_model(owner, Opening(key, store, threads, folder, clips if key.gpus else ())) as kept_copies:
            threads_per_copy = max(1, threads // len(kept_copies))
            make = partial(
                LazyModel, key, store, threads_per_copy, threads_per_copy if key.gpus else 0, folder, options
            )
            begin_all(kept_copies, Begin(make))
            yield kept_copies
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
    with ExitStack() as stack:
        for lock in take_gpus(key.gpus, store.root / "locks", Path(key.run).name):
            stack.callback(lock.release)
        largest = find_largest_clip(clips) if clips else None
        starters = plan_copies(key, threads, weights, largest)
        threads_per_copy = max(1, threads // max(1, len(starters)))
        make = partial(LazyModel, key, store, threads_per_copy, threads_per_copy, weights, options, largest=largest)
        if not starters:
            yield stack.enter_context(make())
        else:
            yield [stack.enter_context(closing(start(partial(answering, make)))) for start in starters]


def _group_gpus(spec: ModelSpec, names: Sequence[str], adapter: str) -> list[tuple[str, ...]]:
    """Return the GPUs of each copy: as many as the model's file sets, or as few as hold it and its largest clip."""
    free, gpus_per_copy = free_memory(names), spec.gpus_per_copy
    if free is None:
        return [
            tuple(names[start : start + (gpus_per_copy or len(names))])
            for start in range(0, len(names), gpus_per_copy or len(names))
        ]
    sizer = ADAPTERS[adapter].sizer
    clip_size = loaded(sizer)(spec) if sizer and gpus_per_copy is None else None
    memory = needed(spec.weights, spec.dtype, spec.settings.get("quantised"), clip_size)
    return groups_of(memory, names, free, str(spec.weights), gpus_per_copy)
