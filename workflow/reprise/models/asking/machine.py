"""The model of a job on the GPUs that it has taken: on one or spread over several, or copies of it side by side."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.copies import copy_of, copying
from reprise.models.asking.lazy import LazyModel, Options, Taken, lazy_model
from reprise.models.asking.money.prices import NO_BUDGET, Budget
from reprise.models.asking.outcomes import Model
from reprise.models.asking.warm import warm_worker
from reprise.models.asking.workers import Worker
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import free_memory, take_gpus
from reprise.models.local.placement import groups_of, needed
from reprise.models.local.weights import weights_folder


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

    A server that the job starts spreads its model itself. On a CPU the model is asked in a process that has the
    libraries already, where one waits.
    """
    workers = threads if key.gpus else 0
    adapter = ADAPTERS[key.answers.adapter]
    if is_needed and not key.gpus and "torch" in adapter.packages:
        worker = warm_worker(copying(partial(LazyModel, key, store, threads, options=options)), adapter.module)
        if worker is not None:
            with closing(worker):
                yield [worker]
            return
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
            modules = (adapter.module,)
            order = {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
            copies = [copy_of(make, order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, modules) for group in groups]
            yield [ends.enter_context(closing(copy)) for copy in copies]
