"""Open the model of a run: in this process, in copies on the GPUs of a job, or resident for several runs."""

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

CopyStarter = Callable[[Callable[[], AbstractContextManager[TaskFunction]]], Worker]
"""function that starts a worker process, given the function that makes its task function"""
TimedOutcome = tuple[Outcome, Mapping[str, float]]
"""outcome of one request, and the seconds of each preparation step for its clip since the previous outcome"""


class CopyLostError(MachineError):
    """The process of a copy exited by itself or was killed."""


def create_copy(
    make_task_function: Callable[[], AbstractContextManager[TaskFunction]],
    environment: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Worker:
    """Return a worker process that creates a model and queries it; all copies share the modules in `preload`."""
    return Worker(make_task_function, "inference", environment, preload, spawns_processes=True)


def announce_clips(model: QueryableModel | ModelCopy, upcoming: Iterator[PendingRequests]) -> None:
    """Tell a model which clips follow, to prepare them ahead if it can."""
    if isinstance(model, ModelCopy):
        list(_query_copy(model, list(upcoming)))  # The task has no results; `list` waits for its end.
    elif isinstance(model, LazyModel):
        model.set_upcoming(upcoming)


def query_model(
    model: QueryableModel | ModelCopy, clip: ClipFrames, requests: Sequence[Request]
) -> Iterator[TimedOutcome]:
    """Query a model in this process or a copy in another process; yield each outcome with its timings."""
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
def create_task_function(make_model: Callable[[], AbstractContextManager[QueryableModel]]) -> Iterator[TaskFunction]:
    """Create a model and yield the function with which a worker process queries it."""
    with make_model() as model:
        yield partial(_run_model_task, model)


def _run_model_task(
    model: QueryableModel, task: list[PendingRequests] | ClipFrames, requests: Sequence[Request] = ()
) -> Iterator[TimedOutcome]:
    """Query the model about a clip, or announce the upcoming clips."""
    if isinstance(task, ClipFrames):
        yield from query_model(model, task, requests)
    else:
        announce_clips(model, iter(task))


class AdapterCache:
    """An adapter loader that reuses the adapter of the previous run if the model is the same."""

    def __init__(self) -> None:
        self._adapter: Adapter | None = None
        self._spec: ModelSpec | None = None

    def __call__(self, key: ModelRunKey, spec: ModelSpec) -> Adapter:
        if self._adapter is not None and self._can_serve(spec):
            log.info(f"the model of {key.run} is loaded already, from an earlier job")
            if isinstance(self._adapter, ReusableAdapter):
                self._adapter.begin_run(spec)
            return self._adapter
        self._adapter = None  # The memory of the old model must be free before the new one is loaded.
        gc.collect()
        self._adapter, self._spec = load_adapter(key, spec), spec
        return self._adapter

    def _can_serve(self, spec: ModelSpec) -> bool:
        """Return whether the loaded adapter has the model of this run and supports the run."""
        if self._spec is None or self._spec.without_run_fields != spec.without_run_fields:
            return False
        has_same_run_fields = replace(self._spec, largest_clip=None) == replace(spec, largest_clip=None)
        return has_same_run_fields or isinstance(self._adapter, ReusableAdapter)


class BeginRun(NamedTuple):
    """A message that begins the next run of a loaded model; without `make_model`, it only ends the previous run."""

    make_model: Callable[..., LazyModel] | None = None
    stderr_redirect: StderrRedirect | None = None


@contextmanager
def create_run_task_function(largest_clip: LargestClip | None = None) -> Iterator[TaskFunction]:
    """Yield the function with which a worker process queries one model for several runs.

    The model is loaded for the first run, with room for the largest clip.
    """
    adapter_loader = AdapterCache()
    with ExitStack() as run_stack:
        models: list[LazyModel] = []  # holds only the model of the current run; empty between runs

        def run_task(
            task: BeginRun | list[PendingRequests] | ClipFrames, requests: Sequence[Request] = ()
        ) -> Iterator[TimedOutcome]:
            if not isinstance(task, BeginRun):
                yield from _run_model_task(models[0], task, requests)
                return
            run_stack.close()
            models.clear()
            if task.make_model is not None:
                model = task.make_model(adapter_loader=adapter_loader, largest_clip=largest_clip)
                models.append(run_stack.enter_context(model))
                models[0].get_adapter()  # loads the model now, so that `begin_run` reports an error

        yield run_task


def plan_copies(
    key: ModelRunKey, threads: int, weights_folder: Path, largest_clip: LargestClip | None
) -> list[CopyStarter]:
    """Return one function per copy of a model, which starts the copy on its share of this job's GPUs.

    The list is empty if a single copy uses all GPUs.
    """
    gpu_names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    spec = replace(build_model_spec(key, weights_folder, threads), largest_clip=largest_clip)
    groups = _group_gpus(spec, gpu_names, key.answers.adapter)
    if len(groups) < 2:
        return []
    log.info(f"{len(groups)} copies of the model run in parallel, each on a share of the clips")
    modules = (ADAPTERS[key.answers.adapter].module,)
    device_order = {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
    return [
        partial(create_copy, environment=device_order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, preload=modules)
        for group in groups
    ]


@contextmanager
def open_model(
    key: ModelRunKey,
    store: Store,
    threads: int,
    *,
    is_needed: bool,
    option_sets: OptionSets = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
    clips: Sequence[ClipFrames] = (),
) -> Iterator[QueryableModel | Sequence[ModelCopy]]:
    """Yield a run's model, or several copies, each on as few GPUs as hold the model and the run's largest clip.

    A model with weights stays loaded for the next job if Snakemake runs the job. A server that the job starts
    distributes its model over the GPUs itself.

    Args:
        is_needed: Whether the run has pending requests; if not, the model is never loaded.
    """
    # Workers prepare clips only for a GPU; on a CPU, they would compete with the model.
    worker_count = threads if key.gpus else 0
    # The owner is the Snakemake process that started this job, if any.
    owner = find_owner() if is_needed and is_resident(key) else None
    if owner is not None and key.hosting is None:  # The model stays loaded in a process of its own.
        weights_folder = resolve_weights_folder(key.checkpoint, key.answers.model, store)
        assert weights_folder is not None
        load_request = LoadRequest(key, store, threads, weights_folder, clips if key.gpus else ())
        with resident_model(owner, load_request) as resident_copies:
            threads_per_copy = max(1, threads // len(resident_copies))
            make_model = partial(
                LazyModel,
                key,
                store,
                threads_per_copy,
                threads_per_copy if key.gpus else 0,
                weights_folder,
                option_sets,
            )
            begin_run(resident_copies, BeginRun(make_model))
            yield resident_copies
        return
    weights_folder = (
        resolve_weights_folder(key.checkpoint, key.answers.model, store)
        if is_needed and key.gpus > 1 and key.hosting is None
        else None
    )
    if weights_folder is None:  # One model in this process, or a server.
        with create_lazy_model(
            key, store, threads, worker_count, option_sets, budget, server_log, clips, owner
        ) as model:
            yield model
        return
    with ExitStack() as stack:
        for lock in take_gpus(key.gpus, store.root / "locks", Path(key.run).name):
            stack.callback(lock.release)
        largest_clip = find_largest_clip(clips) if clips else None
        copy_starters = plan_copies(key, threads, weights_folder, largest_clip)
        threads_per_copy = max(1, threads // max(1, len(copy_starters)))
        make_model = partial(
            LazyModel,
            key,
            store,
            threads_per_copy,
            threads_per_copy,
            weights_folder,
            option_sets,
            largest_clip=largest_clip,
        )
        if not copy_starters:
            yield stack.enter_context(make_model())
        else:
            yield [
                stack.enter_context(closing(start(partial(create_task_function, make_model))))
                for start in copy_starters
            ]


def _group_gpus(spec: ModelSpec, gpu_names: Sequence[str], adapter: str) -> list[tuple[str, ...]]:
    """Return the GPUs of each copy: as many as the model's file sets, or as few as hold the model and the clip."""
    free_bytes, gpus_per_copy = query_free_memory(gpu_names), spec.gpus_per_copy
    if free_bytes is None:
        group_size = gpus_per_copy or len(gpu_names)
        return [tuple(gpu_names[start : start + group_size]) for start in range(0, len(gpu_names), group_size)]
    sizer = ADAPTERS[adapter].sizer
    clip_size = import_object(sizer)(spec) if sizer and gpus_per_copy is None else None
    requirement = estimate_memory(spec.weights_folder, spec.dtype, spec.settings.get("quantised"), clip_size)
    return group_devices(requirement, gpu_names, free_bytes, str(spec.weights_folder), gpus_per_copy)
