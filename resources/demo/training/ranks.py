"""Several processes that train one model: each takes a share of the batch on one core.

Small kernels gain little from a second thread; two processes that meet once a step use two cores fully."""

import os
import threading
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

import torch
from reprise.models.local.torch_setup import prepare
from torch import Tensor
from torch import multiprocessing as torch_processes

# Longer than any compilation or evaluation.
PATIENCE_SECONDS = 900


class Exchange(NamedTuple):
    """The ranks' gradients in shared memory, two sets in turn, and the point where the ranks meet."""

    gradients: tuple[tuple[Tensor, ...], ...]
    meeting: Barrier | None

    def mean(self, own: Tensor, rank: int, step: int) -> Tensor:
        """The mean gradient of all ranks, summed in the same order everywhere."""
        if self.meeting is None:
            return own
        # A rank that is ahead writes the other set, so one meeting a step is enough.
        current = self.gradients[step % 2]
        current[rank].copy_(own)
        self.meeting.wait(PATIENCE_SECONDS)
        return torch.stack(current).mean(0)


ALONE = Exchange((), None)


def make_exchange(ranks: int, size: int, context: SpawnContext) -> Exchange:
    """The meeting place of some ranks for gradients of a size."""
    sets = tuple(tuple(torch.zeros(size).share_memory_() for _ in range(ranks)) for _ in range(2))
    return Exchange(sets, context.Barrier(ranks))


def _end_with_parent() -> None:
    """A rank alone would wait for its fellow in vain."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _enter(arguments: tuple[Any, ...], rank: int) -> None:
    """Begin a rank in its own process, which has nothing prepared yet."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare()
    from training.loop import follow  # needs what has just been prepared

    follow(*arguments, rank)  # type: ignore[call-arg]


def start_followers(ranks: int, context: SpawnContext, arguments: tuple[Any, ...]) -> list[BaseProcess]:
    """Start ranks 1 and up; they end with this process."""
    followers: list[BaseProcess] = []
    for rank in range(1, ranks):
        follower = context.Process(target=_enter, args=(arguments, rank), daemon=True)
        follower.start()
        followers.append(follower)
    return followers


def spawn_context() -> SpawnContext:
    """Processes that share tensors and start afresh."""
    context: SpawnContext = torch_processes.get_context("spawn")
    return context
