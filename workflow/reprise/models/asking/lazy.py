"""The model of a run: loaded when the first answer is missing, its clips prepared ahead where there are workers; on the
GPUs that its job has taken, on one or spread over several, or as copies side by side, each in a process of its own."""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from reprise.core.errors import MachineError, UserError, stop_on_fault
from reprise.core.log import log
from reprise.core.owner import Owner, find_owner
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, loaded
from reprise.models.asking.kept import KeptHost, Opening, begin_all, host_of, is_kept, kept_model
from reprise.models.asking.money.prices import NO_BUDGET, Account, Budget
from reprise.models.asking.outcomes import Model, Outcome, ask, described
from reprise.models.asking.workers import (
    Ahead,
    Copy,
    Prepared,
    Serve,
    StandardError,
    Worker,
    WorkerDiedError,
    prepared,
    ready,
)
from reprise.models.base import (
    Adapter,
    AdapterOfRuns,
    Answer,
    Arrived,
    Clip,
    Due,
    LargestClip,
    ModelSpec,
    PreparingAdapter,
    Ready,
    Request,
    ServedModel,
)
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import groups_of, needed
from reprise.models.local.gpus import free_memory, take_gpus
from reprise.models.local.weights import weights_folder
from reprise.models.remote.serving.environment import build_of
from reprise.models.remote.serving.host import Host

Load = Callable[[ModelRunKey, ModelSpec], Adapter]
Options = tuple[tuple[str, ...], ...]
"""of questions that ask for a score"""


class LazyModel(AbstractContextManager["LazyModel"]):
    """A run whose answers are all journaled loads no model and starts no worker."""

    def __init__(
        self,
        key: ModelRunKey,
        store: Store,
        threads: int,
        workers: int = 0,
        weights: Path | None = None,
        options: Options = (),
        clips: Sequence[Clip] = (),
        largest: LargestClip | None = None,
        load: Load | None = None,
    ) -> None:
        """`weights` are given where the job has looked at them and taken its GPUs already, and so is the `largest` of
        the run's `clips`."""
        self._load = load or load_adapter
        self._key, self._store, self._threads, self._workers = key, store, threads, workers
        self._weights, self._options = weights, options
        self._clips, self._largest = clips, largest
        self._adapter: Adapter | None = None
        self._ahead: Ahead | None = None
        self._prepare: Callable[[Clip, Sequence[Request]], Prepared] | None = None
        # The clip that is asked about now: questions that are asked again need no other preparation.
        self._now: tuple[Due, Prepared] | None = None
        self._upcoming: Iterator[Due] = iter(())

    @property
    def _is_kept(self) -> bool:
        """Whether another process takes the GPUs."""
        return False

    def expect(self, upcoming: Iterator[Due]) -> None:
        self._upcoming = upcoming
        if self._ahead is not None:
            self._ahead.expect(upcoming)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        adapter = self.loaded()
        if self._prepare is None:
            return adapter.answers(clip, requests)
        asked = Due(clip, tuple(requests))
        if self._now is None or not self._now[0].serves(asked):
            start = time.monotonic()
            outcome = self._prepare(asked.clip, asked.requests)
            self._now = asked, outcome
            if isinstance(outcome, Ready):
                outcome.seconds["waiting"] = time.monotonic() - start
        return cast(PreparingAdapter, adapter).answers_about(ready(self._now[1]), requests)

    def spent(self) -> dict[str, float]:
        """Seconds of what was done for the clip beside its questions, since this was asked last."""
        if self._now is None or not isinstance(self._now[1], Ready):
            return {}
        seconds = dict(self._now[1].seconds)
        self._now[1].seconds.clear()
        return seconds

    def __exit__(self, *_: object) -> None:
        if self._ahead is not None:
            self._ahead.__exit__()

    def loaded(self) -> Adapter:
        """Return the adapter, which is loaded when it is needed first."""
        if self._adapter is not None:
            return self._adapter
        info = ADAPTERS[self._key.answers.adapter]
        if self._weights is None:
            build = build_of(self._key.hosting.environment) if self._key.hosting else None
            # Read before a GPU is taken: that takes minutes where they were never read.
            self._weights = weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
            if not self._is_kept:
                self._locks = take_gpus(self._key.gpus, self._store.root / "locks", Path(self._key.run).name, build)
        if self._largest is None and self._clips and self._key.gpus and self._key.hosting is None:
            self._largest = largest_of(self._clips)
        spec = self._spec()
        if info.preparer and self._workers:  # they begin with the first clips while the model loads
            self._ahead = Ahead(info.preparer, spec, self._workers)
            self._prepare = self._ahead.take
            self._ahead.expect(self._upcoming)
        adapter = self._load(self._key, spec)
        if info.preparer and self._prepare is None:
            self._prepare = partial(prepared, lambda: cast(PreparingAdapter, adapter).preparer)
        self._adapter = adapter
        return adapter

    def _spec(self) -> ModelSpec:
        return replace(spec_of(self._key, self._weights, self._threads), options=self._options, largest=self._largest)


def load_adapter(key: ModelRunKey, spec: ModelSpec) -> Adapter:
    """Load the model of a run."""
    name, info = key.answers.adapter, ADAPTERS[key.answers.adapter]
    log.info(f"loading the model of {key.run} by adapter {name}")
    try:
        adapter: Adapter = loaded(info.target)(spec)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        stop_on_fault(error)
        raise UserError(
            f"{key.run}: adapter {name} cannot load its model: {described(error)}. Correct the "
            "model's file, its weights or the adapter, then run the same command again."
        ) from error
    return adapter


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


def spec_of(key: ModelRunKey, weights: Path | None, threads: int) -> ModelSpec:
    """Return what an adapter is given of a run's key."""
    answers = key.answers
    return ModelSpec(
        folder=weights,
        device="cuda" if key.gpus else "cpu",
        threads=threads,
        dtype=answers.dtype,
        attention=answers.attention,
        trust_remote_code=answers.trust_remote_code,
        settings=answers.settings | key.serving,
        prompt_start=answers.prompt.get("user", "").partition("{")[0],
        shows_frames=answers.sampling.get("rule") != "none",
        gpus_per_copy=key.gpus_per_copy,
    )


def largest_of(clips: Sequence[Clip]) -> LargestClip:
    """Return the largest of a run's clips, by its frame plans and the files."""
    # Only a job that loads a model on a GPU needs the libraries behind this.
    return cast(LargestClip, loaded("reprise.models.local.clip_size:largest_clip")(clips))


class LazyServedModel(LazyModel):
    """The model of a run on a server: connected at the first question, asked about many clips at a time.

    A server of the run's own is started when the first answer is missing.
    """

    def __init__(
        self,
        key: ModelRunKey,
        store: Store,
        threads: int,
        budget: Budget,
        server_log: Path,
        owner: Owner | None = None,
    ) -> None:
        super().__init__(key, store, threads)
        self._budget, self._server_log, self._owner = budget, server_log, owner
        self._host: Host | KeptHost | None = None

    @property
    def _is_kept(self) -> bool:
        return self._owner is not None

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there; a run without questions needs no key. After the end of the run's own
        server nothing is an answer: neither the failure of a question on its way, nor what a process says that the
        server left behind."""
        if dues:
            for arrived in cast(ServedModel, self.loaded()).answers_in_any_order(dues):
                if self._host is not None:
                    self._host.check(is_lost=arrived.answer.error == "network")
                yield arrived

    def __exit__(self, *_: object) -> None:
        if self._host is not None:
            self._host.close()

    def _spec(self) -> ModelSpec:
        spec, serving, hosting = super()._spec(), self._key.answers.serving, self._key.hosting
        account = Account(self._store.root, self._key.run, self._key.price, self._budget, is_paid=hosting is None)
        if hosting is None:
            return replace(spec, account=account)
        assert serving is not None and self._weights is not None
        opening = Opening(self._key, self._store, self._threads, self._weights, server_log=self._server_log)
        self._host = KeptHost(self._owner, opening) if self._owner else host_of(opening)
        return replace(spec, account=account, settings=spec.settings | self._host.start())


def lazy_model(
    key: ModelRunKey,
    store: Store,
    threads: int,
    workers: int = 0,
    options: Options = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
    clips: Sequence[Clip] = (),
    owner: Owner | None = None,
) -> LazyModel:
    """The model of a run; the log of a server that it starts is a file of its own.

    A server stays for the next job of its `owner`.
    """
    if ADAPTERS[key.answers.adapter].is_remote:
        return LazyServedModel(key, store, threads, budget, server_log or store.scratch("server.log"), owner)
    return LazyModel(key, store, threads, workers, options=options, clips=clips)


# --- copies of a model ------------------------------------------------------------------------------------------------


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
