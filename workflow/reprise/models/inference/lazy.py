"""Models that are loaded only when a run has pending requests, with workers that prepare clips ahead."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.log import log
from reprise.core.owner import Owner
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, import_object
from reprise.models.base import (
    Adapter,
    Answer,
    ClipFrames,
    CompletedResponse,
    LargestClip,
    ModelSpec,
    PendingRequests,
    PreparedClip,
    PreparingAdapter,
    Request,
    ServedModel,
)
from reprise.models.inference.money.prices import NO_BUDGET, Account, Budget
from reprise.models.inference.outcomes import describe_error
from reprise.models.inference.resident import LoadRequest, ResidentHost, create_host
from reprise.models.inference.workers import (
    ClipPrefetcher,
    PreparationResult,
    get_prepared_clip,
    prepare_clip,
)
from reprise.models.keys import ModelRunKey
from reprise.models.local.gpus import take_gpus
from reprise.models.local.weights import resolve_weights_folder
from reprise.models.remote.serving.environment import read_torch_build

if TYPE_CHECKING:
    from reprise.models.remote.serving.host import ServerProcess

AdapterLoader = Callable[[ModelRunKey, ModelSpec], Adapter]
OptionSets = tuple[tuple[str, ...], ...]
"""the options of each request that asks for a score"""


class LazyModel(AbstractContextManager["LazyModel"]):
    """A run's model that is loaded for the first request, so that a run without pending requests loads nothing."""

    def __init__(
        self,
        key: ModelRunKey,
        store: Store,
        threads: int,
        workers: int = 0,
        weights: Path | None = None,
        options: OptionSets = (),
        clips: Sequence[ClipFrames] = (),
        largest_clip: LargestClip | None = None,
        load: AdapterLoader | None = None,
    ) -> None:
        """Keep the arguments; nothing is loaded yet.

        Args:
            weights: Folder of the weights, if the job has already read them and taken its GPUs.
            largest_clip: Largest of the run's `clips`, under the same condition.
            load: Loads the adapter; `load_adapter` by default.
        """
        self._load = load or load_adapter
        self._key, self._store, self._threads, self._workers = key, store, threads, workers
        self._weights, self._options = weights, options
        self._clips, self._largest = clips, largest_clip
        self._adapter: Adapter | None = None
        self._prefetcher: ClipPrefetcher | None = None
        self._prepare: Callable[[ClipFrames, Sequence[Request]], PreparationResult] | None = None
        # Requests that are sent again about the current clip reuse its preparation.
        self._current: tuple[PendingRequests, PreparationResult] | None = None
        self._upcoming: Iterator[PendingRequests] = iter(())

    @property
    def _is_resident(self) -> bool:
        """Return whether another process takes the GPUs."""
        return False

    def set_upcoming(self, upcoming: Iterator[PendingRequests]) -> None:
        """Set the clips that follow, in order, so that workers can prepare them ahead."""
        self._upcoming = upcoming
        if self._prefetcher is not None:
            self._prefetcher.set_upcoming(upcoming)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        adapter = self.get_adapter()
        if self._prepare is None:
            return adapter.answers(clip, requests)
        batch = PendingRequests(clip, tuple(requests))
        if self._current is None or not self._current[0].covers(batch):
            start = time.monotonic()
            outcome = self._prepare(batch.clip, batch.requests)
            self._current = batch, outcome
            if isinstance(outcome, PreparedClip):
                outcome.step_seconds["waiting"] = time.monotonic() - start
        return cast(PreparingAdapter, adapter).answers_about(get_prepared_clip(self._current[1]), requests)

    def pop_step_seconds(self) -> dict[str, float]:
        """Return the seconds of each preparation step for the current clip, and reset them to nothing."""
        if self._current is None or not isinstance(self._current[1], PreparedClip):
            return {}
        seconds = dict(self._current[1].step_seconds)
        self._current[1].step_seconds.clear()
        return seconds

    def __exit__(self, *_: object) -> None:
        if self._prefetcher is not None:
            self._prefetcher.__exit__()

    def get_adapter(self) -> Adapter:
        """Return the adapter; load it first if this is the first call."""
        if self._adapter is not None:
            return self._adapter
        info = ADAPTERS[self._key.answers.adapter]
        if self._weights is None:
            build = read_torch_build(self._key.hosting.environment) if self._key.hosting else None
            # Hashing weights for the first time takes minutes, so it happens before the job takes a GPU.
            self._weights = resolve_weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
            if not self._is_resident:
                self._locks = take_gpus(self._key.gpus, self._store.root / "locks", Path(self._key.run).name, build)
        if self._largest is None and self._clips and self._key.gpus and self._key.hosting is None:
            self._largest = find_largest_clip(self._clips)
        spec = self._spec()
        if info.preparer and self._workers:  # Workers prepare the first clips while the model loads.
            self._prefetcher = ClipPrefetcher(info.preparer, spec, self._workers)
            self._prepare = self._prefetcher.take
            self._prefetcher.set_upcoming(self._upcoming)
        adapter = self._load(self._key, spec)
        # The weights may have changed while the job waited for a GPU, so they are verified again.
        resolve_weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
        if info.preparer and self._prepare is None:
            self._prepare = partial(prepare_clip, lambda: cast(PreparingAdapter, adapter).preparer)
        self._adapter = adapter
        return adapter

    def _spec(self) -> ModelSpec:
        return replace(
            build_model_spec(self._key, self._weights, self._threads), options=self._options, largest_clip=self._largest
        )


def load_adapter(key: ModelRunKey, spec: ModelSpec) -> Adapter:
    """Load the model of a run; raise a UserError if its adapter cannot."""
    name, info = key.answers.adapter, ADAPTERS[key.answers.adapter]
    log.info(f"loading the model of {key.run} with the adapter {name}")
    try:
        adapter: Adapter = import_object(info.target)(spec)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        stop_on_fault(error)
        raise UserError(
            f"{key.run}: the adapter {name} cannot load the model: {describe_error(error)}. Correct the model's file, "
            "its weights or the adapter, then run the same command again."
        ) from error
    return adapter


def build_model_spec(key: ModelRunKey, weights: Path | None, threads: int) -> ModelSpec:
    """Return the part of a run's key that its adapter needs."""
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
        has_frames=answers.sampling.get("rule") != "none",
        gpus_per_copy=key.gpus_per_copy,
    )


def find_largest_clip(clips: Sequence[ClipFrames]) -> LargestClip:
    """Return the largest number of frames and the largest frame size of a run's clips."""
    # The import is lazy because only a job that loads a model on a GPU needs the libraries behind it.
    return cast(LargestClip, import_object("reprise.models.local.clip_size:find_largest_clip")(clips))


class LazyServedModel(LazyModel):
    """A run's model on a server, which answers requests about many clips at a time.

    The first pending request connects to the server; a server that belongs to the run is started for it.
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
        self._host: ServerProcess | ResidentHost | None = None

    @property
    def _is_resident(self) -> bool:
        return self._owner is not None

    def answers_in_any_order(self, pending_requests: Sequence[PendingRequests]) -> Iterator[CompletedResponse]:
        """Yield every answer as soon as it arrives; a run without pending requests needs no API key.

        The job fails once the run's own server has ended. Failures of requests in flight are then not recorded, and
        neither are replies of processes that the server left behind.
        """
        if pending_requests:
            for response in cast(ServedModel, self.get_adapter()).answers_in_any_order(pending_requests):
                if self._host is not None:
                    self._host.check(is_connection_lost=response.answer.error == "network")
                yield response

    def __exit__(self, *_: object) -> None:
        if self._host is not None:
            self._host.close()

    def _spec(self) -> ModelSpec:
        spec, serving, hosting = super()._spec(), self._key.answers.serving, self._key.hosting
        account = Account(self._store.root, self._key.run, self._key.price, self._budget, is_paid=hosting is None)
        if hosting is None:
            return replace(spec, account=account)
        assert serving is not None and self._weights is not None
        load_request = LoadRequest(self._key, self._store, self._threads, self._weights, server_log=self._server_log)
        self._host = ResidentHost(self._owner, load_request) if self._owner else create_host(load_request)
        return replace(spec, account=account, settings=spec.settings | self._host.start())


def create_lazy_model(
    key: ModelRunKey,
    store: Store,
    threads: int,
    workers: int = 0,
    options: OptionSets = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
    clips: Sequence[ClipFrames] = (),
    owner: Owner | None = None,
) -> LazyModel:
    """Return the model of a run, not yet loaded.

    Args:
        server_log: Log file of a server that the run starts.
        owner: Snakemake process for whose next job such a server keeps running.
    """
    if ADAPTERS[key.answers.adapter].is_remote:
        return LazyServedModel(key, store, threads, budget, server_log or store.scratch("server.log"), owner)
    return LazyModel(key, store, threads, workers, options=options, clips=clips)
