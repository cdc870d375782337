"""Limit and measure the memory of the GPU in a check."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reprise.models.local.torch_setup import torch

from bench.gpu_check.machine import query


@dataclass
class Usage:
    """Memory that torch used while free memory was limited."""

    peak_bytes: int = 0
    """all tensors of torch, except the filler"""
    refused_allocations: int = 0


def query_free_bytes() -> int:
    """Return the free bytes of the first visible GPU, without using it; 0 if the driver does not tell."""
    free_mib = next(iter(query("memory.free").values()), "")
    return int(free_mib) << 20 if free_mib.isdigit() else 0


@contextmanager
def free_memory_limited_to(free_bytes: int) -> Iterator[Usage]:
    """Fill the GPU until only this many bytes are free."""
    usage = Usage()
    torch.cuda.empty_cache()
    filler_bytes = max(0, torch.cuda.mem_get_info()[0] - free_bytes)
    filler = torch.empty(filler_bytes, dtype=torch.uint8, device="cuda")
    refused_before = torch.cuda.memory_stats()["num_ooms"]
    torch.cuda.reset_peak_memory_stats()
    try:
        yield usage
    finally:
        usage.peak_bytes = torch.cuda.max_memory_allocated() - filler.nbytes
        usage.refused_allocations = torch.cuda.memory_stats()["num_ooms"] - refused_before
        del filler
        torch.cuda.empty_cache()
