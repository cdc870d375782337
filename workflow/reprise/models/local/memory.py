"""Measure free device memory, limit the copies of a cache, and release memory after a failure."""

import gc
from collections import Counter
from typing import Any

from reprise.models.local.torch_setup import torch

# Maximum bytes that copies of a cache may use on a device.
MAX_COPY_BYTES = {"cpu": 1 << 30, "cuda": 4 << 30}
# Copies may use the free memory divided by this number. Attention needs the rest to repeat keys for the heads that
# share them, and layers need it for the new tokens.
COPY_MEMORY_DIVISOR = 2


def get_free_bytes(device: Any) -> int:
    """Return the bytes that torch can allocate on a GPU: bytes free in the driver, and reserved by torch but unused."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + unused)


def compute_copy_budget(device: Any) -> int:
    """Return the bytes that copies of a cache may use on a device."""
    if device.type != "cuda":
        return MAX_COPY_BYTES["cpu"]
    return min(MAX_COPY_BYTES["cuda"], get_free_bytes(device) // COPY_MEMORY_DIVISOR)


def release_unused_memory() -> None:
    """Release the memory of a failed batch. Call this function outside the handler of the error.

    Inside the handler, the error's traceback keeps all tensors of the batch alive.
    """
    gc.collect()
    torch.cuda.empty_cache()


class CopyLimit:
    """The maximum number of copies of a cache, according to free memory and earlier failures."""

    def __init__(self) -> None:
        self._max_bytes: int | None = None

    def compute_max_copies(self, cache: Any) -> int:
        """Return how many copies of a cache fit on the devices of its layers; at least one."""
        bytes_by_device = Counter[Any]()
        for layer in cache.layers:
            for tensor in (layer.keys, layer.values):
                bytes_by_device[tensor.device] += tensor.nbytes
        copy_count = min(compute_copy_budget(device) // max(1, size) for device, size in bytes_by_device.items())
        if self._max_bytes is not None:
            copy_count = min(copy_count, self._max_bytes // max(1, bytes_by_device.total()))
        return max(1, copy_count)

    def record_failure(self, cache: Any, copy_count: int) -> None:
        """Record that this many copies of a cache did not fit; later batches use at most half of their bytes."""
        cache_bytes = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
        self._max_bytes = copy_count * cache_bytes // 2
