"""Device memory: free bytes, the share that copies of a cache may use, and its release after a failure."""

import gc
from collections import Counter
from typing import Any

from reprise.models.local.torch_setup import torch

# Upper limit of the memory that copies of a cache may use on a device.
MAX_COPY_BYTES = {"cpu": 1 << 30, "cuda": 4 << 30}
# Copies may use the free memory divided by this: attention repeats keys for the heads that share them, and layers need
# memory for the new tokens.
COPY_MEMORY_DIVISOR = 2


def get_free_bytes(device: Any) -> int:
    """Return the bytes that torch can still allocate on a GPU: free for the driver, or reserved by torch and unused."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + unused)


def compute_copy_budget(device: Any) -> int:
    """Return the bytes that copies of a cache may use on a device."""
    if device.type != "cuda":
        return MAX_COPY_BYTES["cpu"]
    return min(MAX_COPY_BYTES["cuda"], get_free_bytes(device) // COPY_MEMORY_DIVISOR)


def release_unused_memory() -> None:
    """Return the memory of a failed batch to the device. Call it outside the handler of the error.

    While the error is handled, its traceback keeps every tensor of the batch alive.
    """
    gc.collect()
    torch.cuda.empty_cache()


class CopyLimit:
    """The maximum number of copies of a cache that fit at once, from free memory and earlier failures."""

    def __init__(self) -> None:
        self._max_bytes: int | None = None

    def max_copies(self, cache: Any) -> int:
        """Return how many copies of a cache fit on the devices of its layers, at least one."""
        sizes = Counter[Any]()
        for layer in cache.layers:
            for tensor in (layer.keys, layer.values):
                sizes[tensor.device] += tensor.nbytes
        fitting = min(compute_copy_budget(device) // max(1, size) for device, size in sizes.items())
        if self._max_bytes is not None:
            fitting = min(fitting, self._max_bytes // max(1, sizes.total()))
        return max(1, fitting)

    def record_failure(self, cache: Any, copies: int) -> None:
        """Record that this many copies of a cache did not fit; later batches use at most half of their bytes."""
        size = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
        self._max_bytes = copies * size // 2
