"""Average the gradients of the processes that train one model, once per step."""

from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

import torch
from torch import Tensor

# The timeout must exceed any compilation or evaluation.
PATIENCE_SECONDS = 900


class Exchange(NamedTuple):
    """The ranks' gradients in shared memory, in two alternating sets, and the barrier where the ranks meet."""

    gradients: tuple[tuple[Tensor, ...], ...]
    meeting: Barrier | None

    def mean(self, gradient: Tensor, rank: int, step: int) -> Tensor:
        """Return the mean gradient of all ranks, summed in the same order everywhere."""
        if self.meeting is None:
            return gradient
        # A rank that is one step ahead writes the other set, so one barrier per step is enough.
        current = self.gradients[step % 2]
        current[rank].copy_(gradient)
        self.meeting.wait(PATIENCE_SECONDS)
        return torch.stack(current).mean(0)


ALONE = Exchange((), None)


def make_exchange(ranks: int, size: int, context: SpawnContext) -> Exchange:
    """Create the exchange of a number of ranks for gradients of a size."""
    sets = tuple(tuple(torch.zeros(size).share_memory_() for _ in range(ranks)) for _ in range(2))
    return Exchange(sets, context.Barrier(ranks))
