"""Load a run's model only if there are pending requests, and prepare clips ahead in worker processes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reprise.core.errors import UserError, raise_if_machine_fault
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
from reprise.models.inference.resident import LoadRequest, ResidentServer, create_server_process
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
"""distinct option lists of the requests of type `score`, such as (("Yes", "No"),)"""


class LazyModel(AbstractContextManager["LazyModel"]):
    """A run's model, which the first request loads; without pending requests, nothing is loaded."""

    def __init__(
        self,
        key: ModelRunKey,
        store: Store,
        threads: int,
        worker_count: int = 0,
        weights_folder: Path | None = None,
        option_sets: OptionSets = (),
        clips: Sequence[ClipFrames] = (),
        largest_clip: LargestClip | None = None,
        adapter_loader: AdapterLoader | None = None,
    ) -> None:
        """Keep the arguments; nothing is loaded yet.

        Args:
            worker_count: Number of processes that prepare clips ahead; 0 prepares each clip when it is queried.
            weights_folder: Folder of the weights, if the job has already verified them and taken its GPUs.
            largest_clip: Largest of the run's `clips`, if it is already computed.
            adapter_loader: Loads the adapter; `load_adapter` by default.
        """
        self._load_adapter = adapter_loader or load_adapter
        self._key, self._store, self._threads, self._worker_count = key, store, threads, worker_count
        self._weights_folder, self._option_sets = weights_folder, option_sets
        self._clips, self._largest_clip = clips, largest_clip
        self._adapter: Adapter | None = None
        self._prefetcher: ClipPrefetcher | None = None
        self._prepare: Callable[[ClipFrames, Sequence[Request]], PreparationResult] | None = None
        # If requests about the current clip are sent again, they reuse its preparation.
        self._current_batch: PendingRequests | None = None
        self._current_preparation: PreparationResult | None = None
        self._upcoming: Iterator[PendingRequests] = iter(())

    @property
    def _is_resident(self) -> bool:
        """Return whether the model stays loaded in another process, which takes the GPUs instead of this job."""
        return False

    def set_upcoming(self, upcoming: Iterator[PendingRequests]) -> None:
        """Set the upcoming clips, in order, for workers to prepare them ahead."""
        self._upcoming = upcoming
        if self._prefetcher is not None:
            self._prefetcher.set_upcoming(upcoming)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        adapter = self.get_adapter()
        if self._prepare is None:
            return adapter.answers(clip, requests)
        batch = PendingRequests(clip, tuple(requests))
        if self._current_preparation is None or self._current_batch is None or not self._current_batch.covers(batch):
            start = time.monotonic()
            preparation = self._prepare(batch.clip, batch.requests)
            self._current_batch, self._current_preparation = batch, preparation
            if isinstance(preparation, PreparedClip):
                preparation.step_seconds["waiting"] = time.monotonic() - start
        return cast(PreparingAdapter, adapter).answers_about(get_prepared_clip(self._current_preparation), requests)

    def pop_step_seconds(self) -> dict[str, float]:
        """Return the seconds of each preparation step of the current clip, and clear them."""
        if not isinstance(self._current_preparation, PreparedClip):
            return {}
        seconds = dict(self._current_preparation.step_seconds)
        self._current_preparation.step_seconds.clear()
        return seconds

    def __exit__(self, *_: object) -> None:
        if self._prefetcher is not None:
            self._prefetcher.__exit__()

    def get_adapter(self) -> Adapter:
        """Return the adapter; the first call loads it."""
        if self._adapter is not None:
            return self._adapter
        info = ADAPTERS[self._key.answers.adapter]
        if self._weights_folder is None:
            torch_build = read_torch_build(self._key.hosting.environment) if self._key.hosting else None
            # The first hashing of weights takes minutes, so the job verifies them before it takes a GPU.
            self._weights_folder = resolve_weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
            if not self._is_resident:  # The locks are kept, because a deleted lock is released.
                self._locks = take_gpus(
                    self._key.gpus, self._store.root / "locks", Path(self._key.run).name, torch_build
                )
        if self._largest_clip is None and self._clips and self._key.gpus and self._key.hosting is None:
            self._largest_clip = find_largest_clip(self._clips)
        spec = self._build_spec()
        if info.preparer and self._worker_count:  # Workers prepare the first clips while the model loads.
            self._prefetcher = ClipPrefetcher(info.preparer, spec, self._worker_count)
            self._prepare = self._prefetcher.take
            self._prefetcher.set_upcoming(self._upcoming)
        adapter = self._load_adapter(self._key, spec)
        # The weights may have changed while the job waited for a GPU, so they are verified again.
        resolve_weights_folder(self._key.checkpoint, self._key.answers.model, self._store)
        if info.preparer and self._prepare is None:
            self._prepare = partial(prepare_clip, lambda: cast(PreparingAdapter, adapter).preparer)
        self._adapter = adapter
        return adapter

    def _build_spec(self) -> ModelSpec:
        spec = build_model_spec(self._key, self._weights_folder, self._threads)
        return replace(spec, option_sets=self._option_sets, largest_clip=self._largest_clip)


def load_adapter(key: ModelRunKey, spec: ModelSpec) -> Adapter:
    """Load the model of a run; raise a UserError if that fails."""
    name, info = key.answers.adapter, ADAPTERS[key.answers.adapter]
    log.info(f"loading the model of {key.run} with the adapter {name}")
    try:
        adapter: Adapter = import_object(info.import_string)(spec)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise_if_machine_fault(error)
        raise UserError(
            f"{key.run}: the adapter {name} cannot load the model: {describe_error(error)}. Correct the model's file, "
            "its weights or the adapter, then run the same command again."
        ) from error
    return adapter


def build_model_spec(key: ModelRunKey, weights_folder: Path | None, threads: int) -> ModelSpec:
    """Return the settings of a run's key that its adapter needs."""
    answers = key.answers
    return ModelSpec(
        folder=weights_folder,
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
    # `clip_size` is imported lazily, because only a job that loads a model on a GPU needs its libraries.
    return cast(LargestClip, import_object("reprise.models.local.clip_size:find_largest_clip")(clips))


class LazyServedModel(LazyModel):
    """A run's model on a server, which answers requests about many clips at a time.

    The first pending request connects to the server, and starts it if the job itself runs the server.
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
        self._server: ServerProcess | ResidentServer | None = None

    @property
    def _is_resident(self) -> bool:
        return self._owner is not None

    def answers_in_any_order(self, pending_requests: Sequence[PendingRequests]) -> Iterator[CompletedResponse]:
        """Yield every answer as soon as it arrives; a run without pending requests needs no API key.

        If the job's own server has ended, the job fails. Failures of requests in flight are then not recorded, nor are
        replies of processes that the server left behind.
        """
        if pending_requests:
            for response in cast(ServedModel, self.get_adapter()).answers_in_any_order(pending_requests):
                if self._server is not None:
                    self._server.check_running(is_connection_lost=response.answer.error == "network")
                yield response

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    def _build_spec(self) -> ModelSpec:
        """Return the spec for the adapter; first start the server if the job itself runs the server."""
        spec, serving, hosting = super()._build_spec(), self._key.answers.serving, self._key.hosting
        account = Account(self._store.root, self._key.run, self._key.price, self._budget, is_paid=hosting is None)
        if hosting is None:
            return replace(spec, account=account)
        assert serving is not None and self._weights_folder is not None
        load_request = LoadRequest(
            self._key, self._store, self._threads, self._weights_folder, server_log=self._server_log
        )
        self._server = ResidentServer(self._owner, load_request) if self._owner else create_server_process(load_request)
        return replace(spec, account=account, settings=spec.settings | self._server.start())


def create_lazy_model(
    key: ModelRunKey,
    store: Store,
    threads: int,
    worker_count: int = 0,
    option_sets: OptionSets = (),
    budget: Budget = NO_BUDGET,
    server_log: Path | None = None,
    clips: Sequence[ClipFrames] = (),
    owner: Owner | None = None,
) -> LazyModel:
    """Return the model of a run, not yet loaded.

    Args:
        server_log: Log file of a server that the run starts.
        owner: Snakemake process for whose next jobs the server keeps running; by default it ends with this job.
    """
    if ADAPTERS[key.answers.adapter].is_remote:
        return LazyServedModel(key, store, threads, budget, server_log or store.scratch_path("server.log"), owner)
    return LazyModel(key, store, threads, worker_count, option_sets=option_sets, clips=clips)
