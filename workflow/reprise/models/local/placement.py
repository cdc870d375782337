"""Which part of a model goes to which device: layers stay whole, and every device is filled to the same share.

The map is computed here because transformers' own ones do not keep to the memory that they are given: bitsandbytes
takes a tenth off it, and what is left over goes to the disk; and all devices but the last are filled with more than
their share, so that of eight cards the last one stays nearly empty.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

from reprise.core.errors import UserError
from reprise.models.local.devices import GB, LAYER, LEFT

# Halvings of the share to which devices are filled: the last one is a 65,536th.
STEPS = 16


class Part(NamedTuple):
    """A part of a model that is on one device."""

    name: str
    bytes: float
    beside: str
    """another part whose weights this one has, so that both are on one device; empty for most"""


def device_map(
    model: Any, weights: int, width: int, rooms: Mapping[int | str, int], where: object
) -> dict[str, int | str]:
    """Return the device of each part of a model on `meta`; a UserError where a device would be filled beyond its room.

    Args:
        model: the model, whose parts have shapes and no numbers.
        weights: bytes that it takes on its devices, quantised or not.
        width: bytes of a number that is not quantised.
        rooms: bytes that weights may take of each device, in the order in which the model passes through them.
        where: the checkpoint, for the message.
    """
    parts = parts_of(model, weights, width)
    devices = list(rooms)
    low, high = 0.0, 1.0
    places = _filled(parts, [rooms[one] for one in devices])
    if places is None:
        raise UserError(
            f"{where}: too little memory: its layers cannot be divided among devices that have "
            f"{' + '.join(f'{one / GB:.3g}' for one in rooms.values())} GB for weights; the largest part takes "
            f"{max(part.bytes for part in parts) / GB:.3g} GB. Give the model more or larger devices (`gpus` in its "
            "file), or smaller weights (`dtype`, `settings.quantised`)."
        )
    for _ in range(STEPS):
        share = (low + high) / 2
        found = _filled(parts, [share * rooms[one] for one in devices])
        low, high, places = (low, share, found) if found is not None else (share, high, places)
    return {part.name: devices[place] for part, place in zip(parts, places, strict=True)}


def parts_of(model: Any, weights: int, width: int) -> list[Part]:
    """Return the undivided parts of a model in its own order; their sizes add up to `weights`."""
    names: list[str] = []
    plain, quantised = Counter[str](), Counter[str]()
    first: dict[int, str] = {}
    beside: dict[str, str] = {}
    for name, tensors in _undivided(model, ""):
        names.append(name)
        for inner, tensor in tensors:
            if first.setdefault(id(tensor), name) != name:
                beside[name] = first[id(tensor)]
                continue
            is_matrix = tensor.dim() > 1 and LAYER.match(inner) and not LEFT.search(inner)
            (quantised if is_matrix else plain)[name] += tensor.numel()
    # Of a number in a layer's matrix: what is left of the weights beside all others.
    bytes_each = (weights - plain.total() * width) / max(1, quantised.total())
    bytes_each = min(float(width), max(0.1, bytes_each))
    sizes = {name: plain[name] * width + quantised[name] * bytes_each for name in names}
    scale = weights / max(1.0, sum(sizes.values()))
    return [Part(name, sizes[name] * scale, beside.get(name, "")) for name in names]


def _undivided(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield layers, which hooks of accelerate bring inputs to, other modules without parts, and lone parameters."""
    whole = set(getattr(module, "_no_split_modules", None) or ())

    def walk(module: Any, name: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        if type(module).__name__ in whole or (name and not list(module.children())):
            yield name, [(f"{name}.{inner}", tensor) for inner, tensor in module.named_parameters()]
            return
        begin = f"{name}." if name else ""
        for inner, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            yield f"{begin}{inner}", [(f"{begin}{inner}", tensor)]
        for inner, child in module.named_children():
            yield from walk(child, f"{begin}{inner}")

    return walk(module, name)


def _filled(parts: Sequence[Part], rooms: Sequence[float]) -> list[int] | None:
    """Return the device of each part when devices are filled one after the other; None where some are left over."""
    left, at = list(rooms), 0
    places: dict[str, int] = {}
    for part in parts:
        if part.beside or not part.bytes:
            # Positions have no weights. The first device is the one whose inputs they are computed from.
            places[part.name] = places[part.beside] if part.beside else 0
            left[places[part.name]] -= part.bytes
            continue
        while part.bytes > left[at]:
            at += 1
            if at == len(left):
                return None
        left[at] -= part.bytes
        places[part.name] = at
    return [places[part.name] for part in parts]


def on_meta(kind: Any, config: Any, *, trust_remote_code: bool) -> Any:
    """Return a model without numbers, as an auto class or a class of its own makes it of a configuration."""
    with torch.device("meta"):
        if hasattr(kind, "from_config"):
            return kind.from_config(config, trust_remote_code=trust_remote_code)
        return kind(config)
