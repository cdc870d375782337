"""On how many devices a model is: that follows from the sizes of its weights and the memory of the devices alone."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.local.weights import (
    ON_LOADING,
    Tensor,
    own_dtype,
    tensors_of,
    text_configuration,
    vision_configuration,
)

GB = 10**9
# What a device holds besides weights: what is kept of a clip's tokens, once for the clip and once for a question (more
# copies are made where there is room), what layers compute of them, and what torch and the driver take: by the shape of
# the model, and by the largest clip of the run as the model's processor prepares it. Where no clip is named: for so
# many tokens, at most half of the weights on a device, and at most this; of a model of unknown shape, that much.
MOST_ALLOWANCE = 8 * GB
TOKENS, COPIES, ALWAYS = 16_384, 2, GB
# A multilayer perceptron holds three rows of its inner width at a time, and a layer as many of its outer one, twice.
ROWS_INSIDE, ROWS_OUTSIDE = 3, 6
# By what names configurations state the width of a vision tower, and how wide its layers are inside where none does.
VISION_WIDTHS, MLP_RATIO = ("embed_dim", "hidden_size"), 4
# Bytes of the number formats that a model's file, or a checkpoint's configuration, may name; and those in the files.
WIDTHS = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
FLOATS = {"F64", "F32", "BF16", "F16"}
# A layer, whose weights stay together: all that has the same name up to its number.
LAYER = re.compile(r".*?\.\d+(?=\.)")
# Of a matrix that is quantised on loading, the bytes of a number: nf4 keeps a float32 for every 64 of them.
BYTES = {"int8": 1.0, "nf4": 0.5 + 4 / 64}
# Matrices that quantisation on loading leaves as they are.
LEFT = re.compile(r"embed|lm_head|shared|wte")


class ClipSize(NamedTuple):
    """What a model is given of a clip."""

    tokens: int
    """of a prompt, those of the clip included"""
    patches: int = 0
    """of all frames, as the vision tower sees them"""
    pixels: int = 0
    """numbers in the arrays of all frames"""


class Needed(NamedTuple):
    """Bytes that a model's weights take on its devices, and those of the largest part that cannot be divided."""

    weights: int
    largest: int
    cache: int | None = None
    """what is kept of a clip's tokens, where the configuration says the model's shape"""
    computed: int = 0
    """what one of its layers computes of them"""
    is_of_clip: bool = False
    """whether the clip is one of the run, and no bound"""

    def beside(self, devices: int) -> int:
        """What is left free on each of so many devices."""
        most = allowance(self.weights // devices)
        if self.cache is None:
            return most
        wanted = ALWAYS + COPIES * self.cache // devices + self.computed
        return wanted if self.is_of_clip else min(most, wanted)


def needed(folder: Path, dtype: str, quantised: str | None, clip: ClipSize | None = None) -> Needed:
    """What a checkpoint needs in the number format that its model's file names, and what clips take besides, where the
    shape of the language model is stated. Without a number format weights stay as they are stored."""
    format_there = dtype if dtype in WIDTHS else own_dtype(folder)
    parts = Counter[str]()
    for name, tensor in tensors_of(folder).items():
        layer = LAYER.match(name)
        parts[layer[0] if layer else name] += _size(name, tensor, format_there, quantised)
    need, text = Needed(parts.total(), max(parts.values(), default=0)), text_configuration(folder)
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings")
    found = [value for name in names if isinstance(value := text.get(name), int) and value > 0]
    if len(found) < len(names):
        return need
    layers, hidden, inner, heads, context = found
    head, width = text.get("head_dim") or hidden // heads, WIDTHS.get(format_there or "", 4)
    tokens = min(context, TOKENS if clip is None else clip.tokens)
    computed = tokens * (ROWS_INSIDE * inner + ROWS_OUTSIDE * hidden) * width
    return need._replace(
        cache=2 * tokens * layers * (text.get("num_key_value_heads") or heads) * head * width,
        computed=computed if clip is None else max(computed, _encoding(folder, clip, width)),
        is_of_clip=clip is not None,
    )


def _encoding(folder: Path, clip: ClipSize, width: int) -> int:
    """What a layer of the vision tower computes of a clip, whose frames it sees all at once, and their pixels."""
    shape = vision_configuration(folder)
    hidden = next((shape[name] for name in VISION_WIDTHS if isinstance(shape.get(name), int)), 0)
    inner = shape.get("intermediate_size") or int(hidden * (shape.get("mlp_ratio") or MLP_RATIO))
    return (clip.patches * (ROWS_INSIDE * inner + ROWS_OUTSIDE * hidden) + clip.pixels) * width


def _size(name: str, tensor: Tensor, dtype: str | None, quantised: str | None) -> int:
    if tensor.dtype not in FLOATS or (quantised and quantised not in ON_LOADING):
        return tensor.bytes
    numbers = math.prod(tensor.shape)
    if quantised and len(tensor.shape) == 2 and not LEFT.search(name):
        return int(numbers * BYTES[quantised])
    return numbers * WIDTHS[dtype] if dtype in WIDTHS else tensor.bytes


def allowance(weights: int) -> int:
    """What is left free at most on a device beside these weights."""
    return min(weights // 2, MOST_ALLOWANCE)


def groups_of(
    need: Needed, names: Sequence[str], free: Sequence[int], model: str, each: int | None = None
) -> list[tuple[str, ...]]:
    """Devices by name, in as many groups as there is room for copies of a model, or in groups of `each`."""
    if each is not None:
        return [tuple(names[at : at + each]) for at in range(0, len(names), each)]
    count = len(placed(need, free, model))
    groups = [
        tuple(names[at : at + count])
        for at in range(0, len(names) - count + 1, count)
        if _rooms(need, free[at : at + count], need.beside(count)) is not None
    ]
    return groups or [tuple(names)]


def placed(need: Needed, free: Sequence[int], model: str, fewest: int = 1) -> tuple[int, ...]:
    """What weights may take of the fewest devices, from the first on, that hold a model with room for clips; of all,
    where it may just fit on them; a UserError if it does not.

    On several, each but the last may leave as much unused as the largest part takes.
    """
    most = max(1, len(free))
    wanted, least = need.beside(most), min(ALWAYS, allowance(need.weights // most))
    there = " + ".join(f"{one / GB:.3g}" for one in free)
    for count, beside in [
        *((count, need.beside(count)) for count in range(min(fewest, most), most + 1)),
        (most, least),
    ]:
        rooms = _rooms(need, free[:count], beside)
        if rooms is None:
            continue
        if beside < wanted:
            log.info(
                f"{model}: {wanted / GB:.3g} GB a device are wanted beside its weights of {need.weights / GB:.3g} GB, "
                f"and {there} GB are free: it is tried. Questions for which that is too little fail, `out_of_memory`"
            )
        return rooms
    raise UserError(
        f"{model}: too little memory: its weights take {need.weights / GB:.3g} GB, and a device needs {least / GB:.3g} "
        f"GB beside them, better {wanted / GB:.3g} GB for clips and what layers compute; free here: {there} GB. Give "
        "it more or larger devices (`gpus` in the model's file), or smaller weights (`dtype`, `settings.quantised`)."
    )


def rooms_of_all(need: Needed, free: Sequence[int]) -> tuple[int, ...] | None:
    """What the weights may take of each of these devices with room for clips; None where that is too little."""
    return _rooms(need, free, need.beside(len(free)))


def _rooms(need: Needed, free: Sequence[int], beside: int) -> tuple[int, ...] | None:
    """What the weights may take of each of these devices; None if together they do not hold the model."""
    rooms = tuple(max(0, one - beside) for one in free)
    is_enough = sum(rooms) >= need.weights + (len(free) - 1) * need.largest
    return rooms if is_enough and min(rooms) >= need.largest else None
