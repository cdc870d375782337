"""The model of a run: loaded when the first answer is missing, its clips prepared ahead where there are workers."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, cast

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, load_adapter
from reprise.models.asking.ahead import Ahead, Asked, Outcome, outcome_of, ready
from reprise.models.asking.money.prices import NO_BUDGET, Account, Budget
from reprise.models.asking.outcomes import Batch, described
from reprise.models.base import (
    Adapter,
    Answer,
    Arrived,
    Clip,
    Due,
    ModelSpec,
    PreparingAdapter,
    Ready,
    Request,
    ServedModel,
)
from reprise.models.keys import ModelRunKey
from reprise.models.local.devices import take_gpus
from reprise.models.local.weights import weights_folder
from reprise.models.remote.serving.host import Host

Options = tuple[tuple[str, ...], ...]
"""of questions that ask for a score"""
BLIND = "none"
"""the sampling rule that shows no frame"""


class Taken(NamedTuple):
    """What a job has seen to already: its GPUs are taken, and its weights are whole."""

    weights: Path | None


class LazyModel:
    """A run whose answers are all journaled loads no model and starts no worker."""

    def __init__(
        self,
        key: ModelRunKey,
        store: Store,
        threads: int,
        workers: int = 0,
        taken: Taken | None = None,
        options: Options = (),
        budget: Budget = NO_BUDGET,
    ) -> None:
        self._key, self._store, self._threads, self._workers = key, store, threads, workers
        self._taken, self._options, self._budget = taken, options, budget
        self._adapter: Adapter | None = None
        self._ahead: Ahead | None = None
        self._prepare: Callable[[Clip, Sequence[Request]], Outcome] | None = None
        # The clip that is asked about now: questions that are asked again need no other preparation.
        self._now: tuple[Asked, Outcome] | None = None
        self._upcoming: Iterator[Asked] = iter(())

    def expect(self, upcoming: Iterator[Asked]) -> None:
        """What will be asked next, in this order."""
        self._upcoming = upcoming
        if self._ahead is not None:
            self._ahead.expect(upcoming)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        adapter = self._loaded()
        if self._prepare is None:
            return adapter.answers(clip, requests)
        # To look at a batch is to take its questions, which the adapter does.
        asked = Asked(clip, requests.requests if isinstance(requests, Batch) else requests)
        if self._now is None or not self._now[0].serves(asked):
            start = time.monotonic()
            outcome = self._prepare(*asked)
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

    def close(self) -> None:
        """End the workers."""
        if self._ahead is not None:
            self._ahead.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loaded(self) -> Adapter:
        if self._adapter is not None:
            return self._adapter
        name, info = self._key.answers.adapter, ADAPTERS[self._key.answers.adapter]
        if self._taken is None:
            self._locks = take_gpus(self._key.gpus, self._store.root / "locks")
            self._taken = Taken(weights_folder(self._key, self._store))
        spec = self._spec(self._taken)
        log.info(f"loading the model of {self._key.run} by adapter {name}")
        if info.preparer and self._workers:  # they begin with the first clips while the model loads
            self._ahead = Ahead(info.preparer, spec, self._workers)
            self._prepare = self._ahead.take
            self._ahead.expect(self._upcoming)
        try:
            adapter: Adapter = load_adapter(name)(spec)
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:
            stop_on_fault(error)
            raise UserError(
                f"{self._key.run}: adapter {name} cannot load its model: {described(error)}. Correct the "
                "model's file, its weights or the adapter, then run the same command again."
            ) from error
        if info.preparer and self._prepare is None:
            self._prepare = partial(outcome_of, lambda: cast(PreparingAdapter, adapter).preparer)
        self._adapter = adapter
        return adapter

    def _spec(self, taken: Taken) -> ModelSpec:
        answers = self._key.answers
        return ModelSpec(
            folder=taken.weights,
            device="cuda" if self._key.gpus else "cpu",
            threads=self._threads,
            dtype=answers.dtype,
            attention=answers.attention,
            trust_remote_code=answers.trust_remote_code,
            settings=answers.settings | self._key.serving,
            prompt_start=answers.prompt.get("user", "").partition("{")[0],
            shows_frames=answers.sampling.get("rule") != BLIND,
            options=self._options,
        )


class LazyServedModel(LazyModel):
    """The model of a run on a server: connected at the first question, asked about many clips at a time.

    A server of the run's own is started when the first answer is missing.
    """

    def __init__(self, key: ModelRunKey, store: Store, threads: int, budget: Budget, server_log: Path) -> None:
        super().__init__(key, store, threads, budget=budget)
        self._server_log = server_log
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

    def close(self) -> None:
        """End the server."""
        super().close()
        if self._host is not None:
            self._host.close()

    def _spec(self, taken: Taken) -> ModelSpec:
        spec, serving, hosting = super()._spec(taken), self._key.answers.serving, self._key.hosting
        account = Account(self._store.root, self._key.run, self._key.price, self._budget, is_paid=hosting is None)
        if hosting is None:
            return replace(spec, account=account)
        assert serving is not None and taken.weights is not None
        self._host = Host(
            serving,
            hosting,
            weights=taken.weights,
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
) -> LazyModel:
    """The model of a run; the log of a server that it starts is a file of its own."""
    if ADAPTERS[key.answers.adapter].is_remote:
        return LazyServedModel(key, store, threads, budget, server_log or store.scratch("server.log"))
    return LazyModel(key, store, threads, workers, options=options, budget=budget)
