"""The device of each part of a model: layers stay whole, and all devices are filled to the same share.

The map is computed here because transformers' own maps do not respect the given memory. bitsandbytes subtracts a tenth
from it, and layers that no longer fit are offloaded to disk. All devices but the last are filled beyond their share, so
that the last of eight cards stays nearly empty.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

from reprise.core.errors import UserError
from reprise.models.local.device_memory import GB, LAYER_PATTERN, UNQUANTISED_PATTERN

# Bisection steps for the share to which devices are filled, down to a 65,536th.
BISECTION_STEPS = 16


class ModelPart(NamedTuple):
    """A part of a model that stays on one device."""

    name: str
    bytes: float
    tied_part: str
    """the part that this one shares weights with, so that both are on one device; empty for most parts"""


def build_device_map(
    model: Any, weights: int, dtype_bytes: int, max_memory: Mapping[int | str, int], checkpoint: object
) -> dict[str, int | str]:
    """Return the device of each part of a model on `meta`; raise a UserError if a device would exceed its room.

    Args:
        model: the model, whose parts have shapes but no numbers.
        weights: bytes that the model takes on its devices, quantised or not.
        dtype_bytes: bytes of a number that is not quantised.
        max_memory: bytes that weights may take on each device, in the order in which the model uses them.
        checkpoint: the checkpoint, for the message.
    """
    parts = list_parts(model, weights, dtype_bytes)
    devices = list(max_memory)
    low, high = 0.0, 1.0
    places = _fill_devices(parts, [max_memory[device] for device in devices])
    if places is None:
        raise UserError(
            f"{checkpoint}: too little memory: its layers cannot be divided among devices that have "
            f"{' + '.join(f'{room / GB:.3g}' for room in max_memory.values())} GB for weights; the largest part takes "
            f"{max(part.bytes for part in parts) / GB:.3g} GB. Use more or larger devices (`gpus` in the model's "
            "file), or smaller weights (`dtype`, `settings.quantised`)."
        )
    for _ in range(BISECTION_STEPS):
        share = (low + high) / 2
        candidate = _fill_devices(parts, [share * max_memory[device] for device in devices])
        low, high, places = (low, share, candidate) if candidate is not None else (share, high, places)
    return {part.name: devices[place] for part, place in zip(parts, places, strict=True)}


def list_parts(model: Any, weights: int, dtype_bytes: int) -> list[ModelPart]:
    """Return the indivisible parts of a model in its own order; their sizes add up to `weights`."""
    names: list[str] = []
    unquantised, quantised = Counter[str](), Counter[str]()
    first_part: dict[int, str] = {}
    shared_with: dict[str, str] = {}
    for name, tensors in _indivisible_parts(model, ""):
        names.append(name)
        for inner, tensor in tensors:
            if first_part.setdefault(id(tensor), name) != name:
                shared_with[name] = first_part[id(tensor)]
                continue
            is_matrix = tensor.dim() > 1 and LAYER_PATTERN.match(inner) and not UNQUANTISED_PATTERN.search(inner)
            (quantised if is_matrix else unquantised)[name] += tensor.numel()
    # Bytes of a number in a layer's matrix: the weights that remain after all others.
    bytes_each = (weights - unquantised.total() * dtype_bytes) / max(1, quantised.total())
    bytes_each = min(float(dtype_bytes), max(0.1, bytes_each))
    sizes = {name: unquantised[name] * dtype_bytes + quantised[name] * bytes_each for name in names}
    scale = weights / max(1.0, sum(sizes.values()))
    return [ModelPart(name, sizes[name] * scale, shared_with.get(name, "")) for name in names]


def _indivisible_parts(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield layers, whose inputs the hooks of accelerate move, other modules without children, and lone parameters."""
    layer_classes = set(getattr(module, "_no_split_modules", None) or ())

    def walk(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        if type(module).__name__ in layer_classes or (name and not list(module.children())):
            yield name, [(f"{name}.{inner}", tensor) for inner, tensor in module.named_parameters()]
            return
        prefix = f"{name}." if name else ""
        for inner, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            yield f"{prefix}{inner}", [(f"{prefix}{inner}", tensor)]
        for inner, child in module.named_children():
            yield from walk(child, f"{prefix}{inner}")

    return walk(module, name)


def _fill_devices(parts: Sequence[ModelPart], rooms: Sequence[float]) -> list[int] | None:
    """Return the device of each part when devices are filled in order; None if some parts do not fit."""
    remaining, device = list(rooms), 0
    places: dict[str, int] = {}
    for part in parts:
        if part.tied_part or not part.bytes:
            # Positions have no weights. They go to the first device, because they are computed from its inputs.
            places[part.name] = places[part.tied_part] if part.tied_part else 0
            remaining[places[part.name]] -= part.bytes
            continue
        while part.bytes > remaining[device]:
            device += 1
            if device == len(remaining):
                return None
        remaining[device] -= part.bytes
        places[part.name] = device
    return [places[part.name] for part in parts]


def create_on_meta(model_class: Any, config: Any, *, trust_remote_code: bool) -> Any:
    """Create a model without numbers from a configuration, by an auto class or a model class."""
    with torch.device("meta"):
        if hasattr(model_class, "from_config"):
            return model_class.from_config(config, trust_remote_code=trust_remote_code)
        return model_class(config)
