"""How many devices a model is spread over: by the sizes of its weights and the memory of the devices alone."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.models.quantised import BYTES, ON_LOADING
from reprise.models.weight_files import Tensor, own_dtype, tensors_of

GB = 10**9
# What a device holds besides weights: the tokens of a clip, copies of them for several questions, what layers compute.
# Half as much as the weights on it, and no more than this.
MOST_ALLOWANCE = 8 * GB
# Bytes of the number formats that a model's file, or a checkpoint's configuration, may name; and those in the files.
WIDTHS = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
FLOATS = {"F64", "F32", "BF16", "F16"}
# A layer, whose weights stay together: all that has the same name up to its number.
LAYER = re.compile(r".*?\.\d+(?=\.)")
# Matrices that quantisation on loading leaves as they are.
LEFT = re.compile(r"embed|lm_head|shared|wte")


class Needed(NamedTuple):
    """Bytes that a model's weights take on its devices, and those of the largest part that cannot be divided."""

    weights: int
    largest: int


class Placement(NamedTuple):
    """How many of the devices are used, and what the weights may take of each."""

    rooms: tuple[int, ...]

    @property
    def devices(self) -> int:
        return len(self.rooms)


def needed(folder: Path, dtype: str, quantised: str | None) -> Needed:
    """What a checkpoint needs in the number format that its model's file names."""
    return needed_by(tensors_of(folder), own_dtype(folder) if dtype not in WIDTHS else dtype, quantised)


def needed_by(tensors: Mapping[str, Tensor], dtype: str | None, quantised: str | None) -> Needed:
    """The same of these weights; without a number format they stay as they are stored."""
    parts = Counter[str]()
    for name, tensor in tensors.items():
        layer = LAYER.match(name)
        parts[layer[0] if layer else name] += _size(name, tensor, dtype, quantised)
    return Needed(parts.total(), max(parts.values(), default=0))


def _size(name: str, tensor: Tensor, dtype: str | None, quantised: str | None) -> int:
    if tensor.dtype not in FLOATS or (quantised and quantised not in ON_LOADING):
        return tensor.bytes
    if quantised and len(tensor.shape) == 2 and not LEFT.search(name):
        return int(tensor.numbers * BYTES[quantised])
    return tensor.numbers * WIDTHS[dtype] if dtype in WIDTHS else tensor.bytes


def allowance(weights: int) -> int:
    """What is left free on a device beside these weights."""
    return min(weights // 2, MOST_ALLOWANCE)


def groups_of(need: Needed, names: Sequence[str], free: Sequence[int], model: str) -> list[tuple[str, ...]]:
    """Devices by name, in as many groups as there is room for copies of a model."""
    count = placed(need, free, model).devices
    starts = range(0, len(names) - count + 1, count)
    return [tuple(names[at : at + count]) for at in starts if _rooms(need, free[at : at + count]) is not None]


def placed(need: Needed, free: Sequence[int], model: str) -> Placement:
    """The fewest devices, from the first on, that hold a model; a UserError if all of them do not.

    On several, each but the last may leave as much unused as the largest part takes.
    """
    for count in range(1, len(free) + 1):
        rooms = _rooms(need, free[:count])
        if rooms is not None:
            return Placement(rooms)
    beside = allowance(need.weights // max(1, len(free)))
    there = " + ".join(f"{one / GB:.3g}" for one in free)
    raise UserError(
        f"{model}: too little memory: its weights take {need.weights / GB:.3g} GB, and {beside / GB:.3g} GB a device "
        f"are left for clips and what layers compute; free here: {there} GB. Give it more or larger devices (`gpus` in "
        "the model's file), or smaller weights (`dtype`, `settings.quantised`)."
    )


def _rooms(need: Needed, free: Sequence[int]) -> tuple[int, ...] | None:
    """What the weights may take of each of these devices; None if together they do not hold the model."""
    beside = allowance(need.weights // len(free))
    rooms = tuple(max(0, one - beside) for one in free)
    is_enough = sum(rooms) >= need.weights + (len(free) - 1) * need.largest
    return rooms if is_enough and min(rooms) >= need.largest else None
