"""Where the processes that train one model meet once a step, and the mean of their gradients."""

from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

import torch
from torch import Tensor

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
