"""Copies of a model in processes of their own, in parallel on the GPUs of a job or resident for several runs."""

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
from reprise.models.adapters import ADAPTERS, import_object
from reprise.models.base import Adapter, ClipFrames, LargestClip, ModelSpec, PendingRequests, Request, ReusableAdapter
from reprise.models.inference.lazy import (
    LazyModel,
    OptionSets,
    build_model_spec,
    create_lazy_model,
    find_largest_clip,
    load_adapter,
)
from reprise.models.inference.money.prices import NO_BUDGET, Budget
from reprise.models.inference.outcomes import Outcome, QueryableModel, run_requests
from reprise.models.inference.resident import LoadRequest, begin_run, is_resident, resident_model
from reprise.models.inference.workers import ModelCopy, StderrRedirect, TaskFunction, Worker, WorkerDiedError
from reprise.models.keys import ModelRunKey
from reprise.models.local.device_memory import estimate_memory, group_devices
from reprise.models.local.gpus import query_free_memory, take_gpus
from reprise.models.local.weights import resolve_weights_folder

TimedOutcome = tuple[Outcome, Mapping[str, float]]
"""outcome of one request, and the seconds of each preparation step for its clip since the previous outcome"""


class CopyLostError(MachineError):
    """The process of a copy exited by itself or was killed."""


def create_copy(
    make: Callable[[], AbstractContextManager[TaskFunction]],
    environment: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Worker:
    """Return a worker process that makes a model and queries it; copies share the modules in `preload`."""
    return Worker(make, "inference", environment, preload, spawns_processes=True)


def announce(model: QueryableModel | ModelCopy, upcoming: Iterator[PendingRequests]) -> None:
    """Pass the upcoming clips to a model that can prepare them ahead."""
    if isinstance(model, ModelCopy):
        list(_query_copy(model, list(upcoming)))
    elif isinstance(model, LazyModel):
        model.set_upcoming(upcoming)


def query_model(
    model: QueryableModel | ModelCopy, clip: ClipFrames, requests: Sequence[Request]
) -> Iterator[TimedOutcome]:
    """Query a model about a clip, in this process or in that of a copy, and yield each outcome with its timings."""
    if isinstance(model, ModelCopy):
        yield from _query_copy(model, clip, tuple(requests))
        return
    for outcome in run_requests(model, clip, requests):
        yield outcome, model.pop_step_seconds() if isinstance(model, LazyModel) and not outcome.answer.error else {}


def _query_copy(copy: ModelCopy, *arguments: object) -> Iterator[TimedOutcome]:
    try:
        yield from copy.run_task(*arguments)
    except WorkerDiedError as error:
        raise CopyLostError(
            f"a process that runs the model {error}. Answers so far are kept. Run the same command again."
        ) from error


@contextmanager
def create_task_function(make: Callable[[], AbstractContextManager[QueryableModel]]) -> Iterator[TaskFunction]:
    """Make a model and yield the function by which a worker process queries it."""
    with make() as model:
        yield partial(_serve, model)


def _serve(
    model: QueryableModel, task: list[PendingRequests] | ClipFrames, requests: Sequence[Request] = ()
) -> Iterator[TimedOutcome]:
    """Query the model about a clip, or announce the upcoming clips to it."""
    if isinstance(task, ClipFrames):
        yield from query_model(model, task, requests)
    else:
        announce(model, iter(task))


class AdapterCache:
    """A loader that reuses the adapter of the previous run where both runs have the same model."""

    def __init__(self) -> None:
        self._adapter: Adapter | None = None
        self._spec: ModelSpec | None = None

    def __call__(self, key: ModelRunKey, spec: ModelSpec) -> Adapter:
        if (
            self._adapter is not None
            and self._spec is not None
            and self._spec.without_run_fields == spec.without_run_fields
        ):
            is_reusable = isinstance(self._adapter, ReusableAdapter)
            if is_reusable or replace(self._spec, largest_clip=None) == replace(spec, largest_clip=None):
                log.info(f"the model of {key.run} is loaded already, from an earlier job")
                if isinstance(self._adapter, ReusableAdapter):
                    self._adapter.begin(spec)
                return self._adapter
        self._adapter = None  # The memory of the old model must be free before the new one is loaded.
        gc.collect()
        self._adapter, self._spec = load_adapter(key, spec), spec
        return self._adapter


class BeginRun(NamedTuple):
    """A message that begins the next run of a loaded model; without `make` it only ends the previous run."""

    make: Callable[..., LazyModel] | None = None
    log: StderrRedirect | None = None


@contextmanager
def create_run_task_function(largest_clip: LargestClip | None = None) -> Iterator[TaskFunction]:
    """Yield the function by which a worker process queries one model for one run after another.

    The model is loaded for the first run, with room for the largest clip.
    """
    load = AdapterCache()
    with ExitStack() as run:
        models: list[LazyModel] = []

        def serve(
            task: BeginRun | list[PendingRequests] | ClipFrames, requests: Sequence[Request] = ()
        ) -> Iterator[TimedOutcome]:
            if not isinstance(task, BeginRun):
                yield from _serve(models[0], task, requests)
                return
            run.close()
            models.clear()
            if task.make is not None:
                models.append(run.enter_context(task.make(load=load, largest_clip=largest_clip)))
                models[0].get_adapter()

        yield serve


def plan_copies(
    key: ModelRunKey, threads: int, weights: Path, largest_clip: LargestClip | None
) -> list[Callable[[Callable[[], AbstractContextManager[TaskFunction]]], Worker]]:
    """Return a function for each of a model's copies that starts it on its share of the GPUs taken by this job.

    The list is empty if a single copy uses all of the GPUs.
    """
    names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    groups = _group_gpus(
        replace(build_model_spec(key, weights, threads), largest_clip=largest_clip), names, key.answers.adapter
    )
    if len(groups) < 2:
        return []
    log.info(f"{len(groups)} copies of the model run in parallel, each on a share of the clips")
    modules, order = (ADAPTERS[key.answers.adapter].module,), {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
    return [
        partial(create_copy, environment=order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, preload=modules)
        for group in groups
    ]


@contextmanager
def open_model(
    key: ModelRunKey,
    store: Store,
    threads: int,
    *,
    is_needed: bool,
    options: OptionSets = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
    clips: Sequence[ClipFrames] = (),
) -> Iterator[QueryableModel | Sequence[ModelCopy]]:
    """Yield a run's model, or one copy for each GPU, or group of GPUs, that can hold it with the run's largest clip.

    A model with weights stays loaded for the next job if Snakemake runs the job. A server that the job starts
    distributes its model over the GPUs itself.
    """
    workers = threads if key.gpus else 0
    owner = find_owner() if is_needed and is_resident(key) else None
    if owner is not None and key.hosting is None:
        folder = resolve_weights_folder(key.checkpoint, key.answers.model, store)
        assert folder is not None
        load_request = LoadRequest(key, store, threads, folder, clips if key.gpus else ())
        with resident_model(owner, load_request) as resident_copies:
            threads_per_copy = max(1, threads // len(resident_copies))
            make = partial(
                LazyModel, key, store, threads_per_copy, threads_per_copy if key.gpus else 0, folder, options
            )
            begin_run(resident_copies, BeginRun(make))
            yield resident_copies
        return
    weights = (
        resolve_weights_folder(key.checkpoint, key.answers.model, store)
        if is_needed and key.gpus > 1 and key.hosting is None
        else None
    )
    if weights is None:
        with create_lazy_model(key, store, threads, workers, options, budget, server_log, clips, owner) as model:
            yield model
        return
    with ExitStack() as stack:
        for lock in take_gpus(key.gpus, store.root / "locks", Path(key.run).name):
            stack.callback(lock.release)
        largest = find_largest_clip(clips) if clips else None
        starters = plan_copies(key, threads, weights, largest)
        threads_per_copy = max(1, threads // max(1, len(starters)))
        make = partial(
            LazyModel, key, store, threads_per_copy, threads_per_copy, weights, options, largest_clip=largest
        )
        if not starters:
            yield stack.enter_context(make())
        else:
            yield [stack.enter_context(closing(start(partial(create_task_function, make)))) for start in starters]


def _group_gpus(spec: ModelSpec, names: Sequence[str], adapter: str) -> list[tuple[str, ...]]:
    """Return the GPUs of each copy: as many as the model's file sets, or as few as hold it and its largest clip."""
    free, gpus_per_copy = query_free_memory(names), spec.gpus_per_copy
    if free is None:
        return [
            tuple(names[start : start + (gpus_per_copy or len(names))])
            for start in range(0, len(names), gpus_per_copy or len(names))
        ]
    sizer = ADAPTERS[adapter].sizer
    clip_size = import_object(sizer)(spec) if sizer and gpus_per_copy is None else None
    memory = estimate_memory(spec.weights, spec.dtype, spec.settings.get("quantised"), clip_size)
    return group_devices(memory, names, free, str(spec.weights), gpus_per_copy)
