"""The number of devices that a model needs, computed from the sizes of its weights and the free memory of devices."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.local.weights import (
    LOAD_TIME_METHODS,
    TensorInfo,
    read_checkpoint_dtype,
    read_tensors,
    read_text_config,
    read_vision_config,
)

GB = 10**9
# Besides weights, a device holds the key-value cache of a clip, once for the clip and once for a question (more copies
# are made if there is room), the activations of the layers, and the memory of torch and the driver. The estimate uses
# the shape of the model and the largest clip of the run as the model's processor prepares it. Without a clip it assumes
# this many tokens, and at most half of the weights on a device and at most this allowance. If the shape of the model is
# unknown, that upper limit is the estimate.
MAX_ALLOWANCE = 8 * GB
DEFAULT_CLIP_TOKENS, CACHE_COPIES, FIXED_OVERHEAD = 16_384, 2, GB
# A multilayer perceptron holds three rows of its inner width at a time, and a layer holds six of its outer width.
INNER_ROWS, OUTER_ROWS = 3, 6
# Configuration keys for the width of a vision tower, and the default ratio of the inner to the outer layer width.
VISION_WIDTH_KEYS, MLP_RATIO = ("embed_dim", "hidden_size"), 4
# Bytes of the number formats that a model's file or a checkpoint's configuration may name; then those in weight files.
DTYPE_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
FLOAT_DTYPES = {"F64", "F32", "BF16", "F16"}
# Matches the name of a layer up to its number. The weights of a layer stay on one device.
LAYER_PATTERN = re.compile(r".*?\.\d+(?=\.)")
# Bytes per number of a matrix that is quantised on loading: nf4 stores one float32 for every 64 numbers.
QUANTISED_BYTES = {"int8": 1.0, "nf4": 0.5 + 4 / 64}
# Matches matrices that quantisation on loading does not change.
UNQUANTISED_PATTERN = re.compile(r"embed|lm_head|shared|wte")


class ClipSize(NamedTuple):
    """The size of a clip as model input."""

    tokens: int
    """tokens of a prompt, including those of the clip"""
    patches: int = 0
    """patches of all frames, as the vision tower receives them"""
    pixels: int = 0
    """numbers in the arrays of all frames"""


class MemoryRequirement(NamedTuple):
    """The bytes that a model needs on its devices, and those of the largest part that cannot be divided."""

    weights: int
    largest_part: int
    cache: int | None = None
    """bytes of the key-value cache of a clip, if the configuration states the model's shape"""
    activations: int = 0
    """bytes of the activations of one layer"""
    has_clip_size: bool = False
    """whether the estimate is for a clip of the run, not an upper bound"""

    def compute_reserve(self, device_count: int) -> int:
        """Return the bytes to leave free on each device if there are this many devices."""
        limit = compute_max_reserve(self.weights // device_count)
        if self.cache is None:
            return limit
        reserve = FIXED_OVERHEAD + CACHE_COPIES * self.cache // device_count + self.activations
        return reserve if self.has_clip_size else min(limit, reserve)


def estimate_memory(folder: Path, dtype: str, quantised: str | None, clip: ClipSize | None = None) -> MemoryRequirement:
    """Return what a checkpoint needs in the number format that its model's file names.

    Without a number format the weights stay as stored. The memory for clips is included if the configuration states the
    shape of the language model.
    """
    loaded_dtype = dtype if dtype in DTYPE_BYTES else read_checkpoint_dtype(folder)
    part_bytes = Counter[str]()
    for name, tensor in read_tensors(folder).items():
        layer = LAYER_PATTERN.match(name)
        part_bytes[layer[0] if layer else name] += _tensor_bytes(name, tensor, loaded_dtype, quantised)
    requirement = MemoryRequirement(part_bytes.total(), max(part_bytes.values(), default=0))
    text = read_text_config(folder)
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings")
    shape = [value for name in names if isinstance(value := text.get(name), int) and value > 0]
    if len(shape) < len(names):
        return requirement
    layers, hidden, inner, heads, context = shape
    head, width = text.get("head_dim") or hidden // heads, DTYPE_BYTES.get(loaded_dtype or "", 4)
    tokens = min(context, DEFAULT_CLIP_TOKENS if clip is None else clip.tokens)
    computed = tokens * (INNER_ROWS * inner + OUTER_ROWS * hidden) * width
    return requirement._replace(
        cache=2 * tokens * layers * (text.get("num_key_value_heads") or heads) * head * width,
        activations=computed if clip is None else max(computed, _vision_bytes(folder, clip, width)),
        has_clip_size=clip is not None,
    )


def _vision_bytes(folder: Path, clip: ClipSize, width: int) -> int:
    """Return the bytes that a layer of the vision tower computes for all frames of a clip at once, and their pixels."""
    config = read_vision_config(folder)
    hidden = next((config[name] for name in VISION_WIDTH_KEYS if isinstance(config.get(name), int)), 0)
    inner = config.get("intermediate_size") or int(hidden * (config.get("mlp_ratio") or MLP_RATIO))
    return (clip.patches * (INNER_ROWS * inner + OUTER_ROWS * hidden) + clip.pixels) * width


def _tensor_bytes(name: str, tensor: TensorInfo, dtype: str | None, quantised: str | None) -> int:
    if tensor.dtype not in FLOAT_DTYPES or (quantised and quantised not in LOAD_TIME_METHODS):
        return tensor.bytes
    numbers = math.prod(tensor.shape)
    if quantised and len(tensor.shape) == 2 and not UNQUANTISED_PATTERN.search(name):
        return int(numbers * QUANTISED_BYTES[quantised])
    return numbers * DTYPE_BYTES[dtype] if dtype in DTYPE_BYTES else tensor.bytes


def compute_max_reserve(weights: int) -> int:
    """Return the upper limit of the memory to leave free on a device besides these weights."""
    return min(weights // 2, MAX_ALLOWANCE)


def group_devices(
    requirement: MemoryRequirement, names: Sequence[str], free: Sequence[int], model: str, group_size: int | None = None
) -> list[tuple[str, ...]]:
    """Return devices by name, in groups that each hold a copy of a model, or in groups of `group_size`."""
    if group_size is not None:
        return [tuple(names[start : start + group_size]) for start in range(0, len(names), group_size)]
    count = len(allocate_devices(requirement, free, model))
    groups = [
        tuple(names[start : start + count])
        for start in range(0, len(names) - count + 1, count)
        if _rooms(requirement, free[start : start + count], requirement.compute_reserve(count)) is not None
    ]
    return groups or [tuple(names)]


def allocate_devices(
    requirement: MemoryRequirement, free: Sequence[int], model: str, min_devices: int = 1
) -> tuple[int, ...]:
    """Return the bytes that weights may take on each of the fewest devices that hold a model with room for clips.

    Devices are taken from the first on. If a model may only just fit on all devices, it gets all of them. With several
    devices, each but the last may leave as much unused as the largest part takes.

    Raises:
        UserError: the model does not fit on all devices together.
    """
    total = max(1, len(free))
    reserve, floor = (
        requirement.compute_reserve(total),
        min(FIXED_OVERHEAD, compute_max_reserve(requirement.weights // total)),
    )
    sizes = " + ".join(f"{size / GB:.3g}" for size in free)
    for count, device_reserve in [
        *((count, requirement.compute_reserve(count)) for count in range(min(min_devices, total), total + 1)),
        (total, floor),
    ]:
        rooms = _rooms(requirement, free[:count], device_reserve)
        if rooms is None:
            continue
        if device_reserve < reserve:
            log.info(
                f"{model}: its weights take {requirement.weights / GB:.3g} GB, and each device should have "
                f"{reserve / GB:.3g} GB more; free: {sizes} GB. It is loaded anyway; requests that need more memory "
                "fail as `out_of_memory`"
            )
        return rooms
    raise UserError(
        f"{model}: too little memory: its weights take {requirement.weights / GB:.3g} GB, and a device needs "
        f"{floor / GB:.3g} GB more, better {reserve / GB:.3g} GB for clips and activations; free: {sizes} GB. Use more "
        "or larger devices (`gpus` in the model's file), or smaller weights (`dtype`, `settings.quantised`)."
    )


def allocate_all_devices(requirement: MemoryRequirement, free: Sequence[int]) -> tuple[int, ...] | None:
    """Return the bytes that weights may take on each of all devices with room for clips; None if that is too little."""
    return _rooms(requirement, free, requirement.compute_reserve(len(free)))


def _rooms(requirement: MemoryRequirement, free: Sequence[int], reserve: int) -> tuple[int, ...] | None:
    """Return the bytes that weights may take on each device; None if the devices cannot hold the model together."""
    rooms = tuple(max(0, size - reserve) for size in free)
    is_enough = sum(rooms) >= requirement.weights + (len(free) - 1) * requirement.largest_part
    return rooms if is_enough and min(rooms) >= requirement.largest_part else None
