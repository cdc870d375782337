"""Assign each part of a model to a device: layers stay whole, and all devices are filled to the same share.

The maps of transformers are not used, because they do not respect the available memory. For example, bitsandbytes
subtracts a tenth of it, and layers that no longer fit are offloaded to disk. Moreover, their maps fill all devices but
the last beyond an equal share.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

from reprise.core.errors import UserError
from reprise.models.local.device_memory import GB, LAYER_PATTERN, UNQUANTISED_PATTERN

# Number of bisection steps that find the share to which devices are filled, with a precision of 1/65,536.
BISECTION_STEPS = 16


class ModelPart(NamedTuple):
    """An indivisible part of a model, which stays on one device."""

    name: str
    size_bytes: float
    tied_part: str
    """name of a part that shares weights with this one and must be on the same device; empty for most parts"""


def build_device_map(
    model: Any, weight_bytes: int, dtype_bytes: int, max_bytes_by_device: Mapping[int | str, int], checkpoint: object
) -> dict[str, int | str]:
    """Return the device of each part of a model; raise a UserError if the parts do not fit.

    Args:
        model: The model on the device `meta`, whose tensors have shapes but no values.
        weight_bytes: Bytes that the weights take on all devices, quantised or not.
        dtype_bytes: Bytes of a value that is not quantised.
        max_bytes_by_device: Maximum bytes of weights on each device, in the order in which the model uses devices.
        checkpoint: The checkpoint, for the message.
    """
    parts = list_parts(model, weight_bytes, dtype_bytes)
    devices = list(max_bytes_by_device)
    low, high = 0.0, 1.0
    device_indices = _fill_devices(parts, [max_bytes_by_device[device] for device in devices])
    if device_indices is None:
        capacities_text = " + ".join(f"{capacity / GB:.3g}" for capacity in max_bytes_by_device.values())
        raise UserError(
            f"{checkpoint}: too little memory: its layers cannot be divided among devices that have "
            f"{capacities_text} GB for weights; the largest part takes "
            f"{max(part.size_bytes for part in parts) / GB:.3g} GB. Use more or larger devices (`gpus` in the model's "
            "file), or smaller weights (`dtype`, `settings.quantised`)."
        )
    for _ in range(BISECTION_STEPS):
        share = (low + high) / 2
        candidate = _fill_devices(parts, [share * max_bytes_by_device[device] for device in devices])
        if candidate is None:
            low = share
        else:
            high, device_indices = share, candidate
    return {part.name: devices[device_index] for part, device_index in zip(parts, device_indices, strict=True)}


def list_parts(model: Any, weight_bytes: int, dtype_bytes: int) -> list[ModelPart]:
    """Return the indivisible parts of a model in the model's order; their sizes add up to `weight_bytes`."""
    names: list[str] = []
    unquantised_counts, quantised_counts = Counter[str](), Counter[str]()
    first_part_by_tensor: dict[int, str] = {}  # id of a tensor object -> first part that contains it
    tied_part_by_name: dict[str, str] = {}  # part -> earlier part with the same tensor
    for name, tensors in _find_indivisible_parts(model, ""):
        names.append(name)
        for tensor_name, tensor in tensors:
            if first_part_by_tensor.setdefault(id(tensor), name) != name:
                tied_part_by_name[name] = first_part_by_tensor[id(tensor)]
                continue
            is_quantisable = tensor.dim() > 1 and not UNQUANTISED_PATTERN.search(tensor_name)
            is_quantised = is_quantisable and LAYER_PATTERN.match(tensor_name)
            (quantised_counts if is_quantised else unquantised_counts)[name] += tensor.numel()
    # The bytes of a quantised value follow from the bytes that remain after all unquantised values.
    bytes_per_value = (weight_bytes - unquantised_counts.total() * dtype_bytes) / max(1, quantised_counts.total())
    bytes_per_value = min(float(dtype_bytes), max(0.1, bytes_per_value))
    bytes_by_part = {
        name: unquantised_counts[name] * dtype_bytes + quantised_counts[name] * bytes_per_value for name in names
    }
    scale = weight_bytes / max(1.0, sum(bytes_by_part.values()))
    return [ModelPart(name, bytes_by_part[name] * scale, tied_part_by_name.get(name, "")) for name in names]


def _find_indivisible_parts(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield the name and tensors of each indivisible part: a layer, a module without children, or a single tensor.

    Layers are indivisible because the hooks of accelerate move only the inputs of whole layers between devices.
    """
    layer_classes = set(getattr(module, "_no_split_modules", None) or ())

    def walk(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        if type(module).__name__ in layer_classes or (name and not list(module.children())):
            yield name, [(f"{name}.{child_name}", tensor) for child_name, tensor in module.named_parameters()]
            return
        prefix = f"{name}." if name else ""
        for child_name, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            yield f"{prefix}{child_name}", [(f"{prefix}{child_name}", tensor)]
        for child_name, child in module.named_children():
            yield from walk(child, f"{prefix}{child_name}")

    return walk(module, name)


def _fill_devices(parts: Sequence[ModelPart], capacities: Sequence[float]) -> list[int] | None:
    """Fill devices in order; return the index of each part's device, or None if the parts do not fit."""
    remaining_bytes, device_index = list(capacities), 0
    device_index_by_part: dict[str, int] = {}
    for part in parts:
        if part.tied_part or not part.size_bytes:
            # Parts without weights compute positions from the model's inputs, which are on the first device.
            device_index_by_part[part.name] = device_index_by_part[part.tied_part] if part.tied_part else 0
            remaining_bytes[device_index_by_part[part.name]] -= part.size_bytes
            continue
        while part.size_bytes > remaining_bytes[device_index]:
            device_index += 1
            if device_index == len(remaining_bytes):
                return None
        remaining_bytes[device_index] -= part.size_bytes
        device_index_by_part[part.name] = device_index
    return [device_index_by_part[part.name] for part in parts]


def create_on_meta(model_class: Any, config: Any, *, trust_remote_code: bool) -> Any:
    """Create a model whose tensors have no values, from a configuration and an auto class or a model class."""
    with torch.device("meta"):
        if hasattr(model_class, "from_config"):
            return model_class.from_config(config, trust_remote_code=trust_remote_code)
        return model_class(config)
