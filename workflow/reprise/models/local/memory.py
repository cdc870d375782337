"""Memory of devices: what is free, what copies of a cache may take of it, and how it is released after a failure."""

import gc
from collections import Counter
from typing import Any

from reprise.models.local.torch_setup import torch

# What copies of a cache may take of a device at most.
MOST_COPIED = {"cpu": 1 << 30, "cuda": 4 << 30}
# The share of the free memory that copies may take: attention repeats keys for the heads that share them, and layers
# compute with the new tokens.
COPIED_SHARE = 2


def free_bytes(device: Any) -> int:
    """Return the bytes that torch can still allocate on a GPU: free for the driver, or kept by torch and unused."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + unused)


def room_for_copies(device: Any) -> int:
    """Return the bytes that copies of a cache may take of a device."""
    if device.type != "cuda":
        return MOST_COPIED["cpu"]
    return min(MOST_COPIED["cuda"], free_bytes(device) // COPIED_SHARE)


def release_unused() -> None:
    """Return the memory of a failed batch to the device. Call it outside the handler of the error.

    While the error is handled, its traceback keeps every tensor of the batch alive.
    """
    gc.collect()
    torch.cuda.empty_cache()


class CopyLimit:
    """The most copies of a cache that fit at once, by free memory and by the batches that did not fit before."""

    def __init__(self) -> None:
        self._most: int | None = None

    def copies(self, cache: Any) -> int:
        """Return how many copies of a cache fit on the devices that its layers are on, at least one."""
        sizes = Counter[Any]()
        for layer in cache.layers:
            for tensor in (layer.keys, layer.values):
                sizes[tensor.device] += tensor.nbytes
        fitting = min(room_for_copies(device) // max(1, size) for device, size in sizes.items())
        if self._most is not None:
            fitting = min(fitting, self._most // max(1, sizes.total()))
        return max(1, fitting)

    def lower(self, cache: Any, copies: int) -> None:
        """Remember that so many copies of a cache did not fit: later batches take half of their bytes at most."""
        size = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
        self._most = copies * size // 2
