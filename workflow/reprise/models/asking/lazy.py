"""The model of a run: loaded when the first answer is missing, its clips prepared ahead where there are workers; on the
GPUs that its job has taken, on one or spread over several, or as copies side by side, each in a process of its own."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from reprise.core.errors import MachineError, UserError, stop_on_fault
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, loaded
from reprise.models.asking.money.prices import NO_BUDGET, Account, Budget
from reprise.models.asking.outcomes import Model, Outcome, ask, described
from reprise.models.asking.workers import Ahead, Prepared, Serve, Worker, WorkerDiedError, prepared, ready
from reprise.models.base import (
    Adapter,
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
    ) -> None:
        """`weights` are given where the job has looked at them and taken its GPUs already, and so is the `largest` of
        the run's `clips`."""
        self._key, self._store, self._threads, self._workers = key, store, threads, workers
        self._weights, self._options = weights, options
        self._clips, self._largest = clips, largest
        self._adapter: Adapter | None = None
        self._ahead: Ahead | None = None
        self._prepare: Callable[[Clip, Sequence[Request]], Prepared] | None = None
        # The clip that is asked about now: questions that are asked again need no other preparation.
        self._now: tuple[Due, Prepared] | None = None
        self._upcoming: Iterator[Due] = iter(())

    def expect(self, upcoming: Iterator[Due]) -> None:
        self._upcoming = upcoming
        if self._ahead is not None:
            self._ahead.expect(upcoming)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        adapter = self._loaded()
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

    def _loaded(self) -> Adapter:
        if self._adapter is not None:
            return self._adapter
        name, info = self._key.answers.adapter, ADAPTERS[self._key.answers.adapter]
        if self._weights is None:
            build = build_of(self._key.hosting.environment) if self._key.hosting else None
            self._locks = take_gpus(self._key.gpus, self._store.root / "locks", Path(self._key.run).name, build)
            self._weights = weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
        if self._largest is None and self._clips and self._key.gpus and self._key.hosting is None:
            self._largest = largest_of(self._clips)
        spec = self._spec()
        log.info(f"loading the model of {self._key.run} by adapter {name}")
        if info.preparer and self._workers:  # they begin with the first clips while the model loads
            self._ahead = Ahead(info.preparer, spec, self._workers)
            self._prepare = self._ahead.take
            self._ahead.expect(self._upcoming)
        try:
            adapter: Adapter = loaded(info.target)(spec)
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:
            stop_on_fault(error)
            raise UserError(
                f"{self._key.run}: adapter {name} cannot load its model: {described(error)}. Correct the "
                "model's file, its weights or the adapter, then run the same command again."
            ) from error
        if info.preparer and self._prepare is None:
            self._prepare = partial(prepared, lambda: cast(PreparingAdapter, adapter).preparer)
        self._adapter = adapter
        return adapter

    def _spec(self) -> ModelSpec:
        return replace(spec_of(self._key, self._weights, self._threads), options=self._options, largest=self._largest)


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

    def __init__(self, key: ModelRunKey, store: Store, threads: int, budget: Budget, server_log: Path) -> None:
        super().__init__(key, store, threads)
        self._budget, self._server_log = budget, server_log
        self._host: Host | None = None

    def answers_in_any_order(self, dues: Sequence[Due]) -> Iterator[Arrived]:
        """Every answer as soon as it is there; a run without questions needs no key. After the end of the run's own
        server nothing is an answer: neither the failure of a question on its way, nor what a process says that the
        server left behind."""
        if dues:
            for arrived in cast(ServedModel, self._loaded()).answers_in_any_order(dues):
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
        self._host = Host(
            serving,
            hosting,
            weights=self._weights,
            name=self._key.answers.settings["model"],
            store=self._store,
            log_file=self._server_log,
        )
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
) -> LazyModel:
    """The model of a run; the log of a server that it starts is a file of its own."""
    if ADAPTERS[key.answers.adapter].is_remote:
        return LazyServedModel(key, store, threads, budget, server_log or store.scratch("server.log"))
    return LazyModel(key, store, threads, workers, options=options, clips=clips)


# --- copies of a model ------------------------------------------------------------------------------------------------


Answered = tuple[Outcome, Mapping[str, float]]
"""what became of one question, and what was done for its clip beside answering since the last one"""


class CopyLostError(MachineError):
    """The process of a copy has ended by itself, or was killed."""


def copy_of(
    make: Callable[[], AbstractContextManager[Model]],
    environment: Mapping[str, str] | None = None,
    preload: Sequence[str] = (),
) -> Worker:
    """A process that makes a model and asks it. Copies share what is loaded before."""
    return Worker(partial(_answering, make), "asking", environment, preload, starts_others=True)


def tell(model: Model | Worker, upcoming: Iterator[Due]) -> None:
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
        yield outcome, model.spent() if isinstance(model, LazyModel) and not outcome.answer.error else {}


def _of_copy(copy: Worker, *asked: object) -> Iterator[Answered]:
    try:
        yield from copy.results(*asked)
    except WorkerDiedError as died:
        raise CopyLostError(
            f"a process that asked the model {died}. What was answered is kept: run the same command again."
        ) from died


@contextmanager
def _answering(make: Callable[[], AbstractContextManager[Model]]) -> Iterator[Serve]:
    with make() as model:

        def serve(asked: list[Due] | Clip, requests: Sequence[Request] = ()) -> Iterator[Answered]:
            if isinstance(asked, Clip):
                yield from answered(model, asked, requests)
            else:
                tell(model, iter(asked))

        yield serve


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
) -> Iterator[Model | Sequence[Worker]]:
    """A run's model, or a copy of it on each of the devices, or groups of them, that hold one with the largest clip.

    A server that the job starts spreads its model itself.
    """
    workers = threads if key.gpus else 0
    weights = (
        weights_folder(key.checkpoint, key.answers.model, store)
        if is_needed and key.gpus > 1 and key.hosting is None
        else None
    )
    if weights is None:
        with lazy_model(key, store, threads, workers, options, budget, server_log, clips) as model:
            yield model
        return
    with ExitStack() as ends:
        for lock in take_gpus(key.gpus, store.root / "locks", Path(key.run).name):
            ends.callback(lock.release)
        names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        largest = largest_of(clips) if clips else None
        groups = _groups(replace(spec_of(key, weights, threads), largest=largest), names, key.answers.adapter)
        if len(groups) < 2:
            yield ends.enter_context(LazyModel(key, store, threads, workers, weights, options, largest=largest))
        else:
            log.info(f"{len(groups)} copies of the model are asked side by side, each about a share of the clips")
            each = max(1, threads // len(groups))
            make = partial(LazyModel, key, store, each, each, weights, options, largest=largest)
            modules = (ADAPTERS[key.answers.adapter].module,)
            order = {"CUDA_DEVICE_ORDER": os.environ["CUDA_DEVICE_ORDER"]}
            copies = [copy_of(make, order | {"CUDA_VISIBLE_DEVICES": ",".join(group)}, modules) for group in groups]
            yield [ends.enter_context(closing(copy)) for copy in copies]


def _groups(spec: ModelSpec, names: Sequence[str], adapter: str) -> list[tuple[str, ...]]:
    """Return the GPUs of each copy: as many as the model's file says, or as few as hold it and its largest clip."""
    free, each = free_memory(names), spec.gpus_per_copy
    if free is None:
        return [tuple(names[at : at + (each or len(names))]) for at in range(0, len(names), each or len(names))]
    sizer = ADAPTERS[adapter].sizer
    clip = loaded(sizer)(spec) if sizer and each is None else None
    need = needed(spec.weights, spec.dtype, spec.settings.get("quantised"), clip)
    return groups_of(need, names, free, str(spec.weights), each)
