"""Spread the layers of a model evenly over several GPUs, so that each keeps as much room for clips as the others."""

from collections.abc import Mapping
from typing import Any

from reprise.models.local.torch_setup import torch

from transformers import AutoConfig
from transformers.integrations.accelerate import compute_module_sizes, get_max_layer_size, infer_auto_device_map

from reprise.models.base import ModelSpec

# The share of all weights by which a limit may differ from the least one.
PRECISION = 0.002


def meta_model(kind: Any, config: AutoConfig, spec: ModelSpec, dtype: Any) -> Any:
    """Build a model without weights, whose modules have names and sizes."""
    options = {} if dtype is None else {"dtype": dtype}
    with torch.device("meta"):
        return kind.from_config(config, trust_remote_code=spec.trust_remote_code, **options)


def even_device_map(model: Any, rooms: Mapping[int, int]) -> dict[str, int] | None:
    """Place modules one GPU after the other, with the least limit for all of them that holds the model.

    accelerate's own `balanced` gives each GPU but the last a layer more than its share, so that the last of eight is
    nearly empty and the others have the less room. None where no such limit is found.
    """
    if getattr(model, "_no_placement_params", None):  # transformers places those itself
        return None
    sizes, _ = compute_module_sizes(model, None, only_modules=False)
    split = list(model._no_split_modules or ())
    # accelerate keeps as much free on the first GPU for layers that would wait in main memory; none does here.
    reserved, _ = get_max_layer_size(list(model.named_children()), sizes, split)
    first = next(iter(rooms))

    def placed(limit: int) -> dict[str, int] | None:
        limits = {gpu: min(room, limit + reserved * (gpu == first)) for gpu, room in rooms.items()}
        found = infer_auto_device_map(model, max_memory=limits, no_split_module_classes=split)
        return dict(found) if set(found.values()) <= rooms.keys() else None

    low, high = sizes[""] // len(rooms), max(rooms.values())
    best = placed(high)
    while best is not None and high - low > PRECISION * sizes[""]:
        middle = (low + high) // 2
        found = placed(middle)
        best, low, high = (best, middle, high) if found is None else (found, low, middle)
    return best
