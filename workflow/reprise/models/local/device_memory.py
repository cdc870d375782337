"""Estimate the memory that a model needs, and choose devices whose free memory is sufficient."""

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
# In addition to weights, a device needs memory for the key-value cache of a clip (one copy for the clip and one for a
# question; more copies if there is memory), for the activations of a layer, and for torch and the driver. The estimate
# uses the shape of the model and the run's largest clip, as the processor prepares it. Without a clip, the estimate
# assumes DEFAULT_CLIP_TOKENS and has an upper limit: MAX_ALLOWANCE, or half of the weights on a device if that is less.
# If the shape of the model is unknown, the estimate is that limit.
MAX_ALLOWANCE = 8 * GB
DEFAULT_CLIP_TOKENS, CACHE_COPIES, FIXED_OVERHEAD = 16_384, 2, GB
# Number of activation rows per token that are in memory at a time in an MLP: rows of its inner width, and rows of the
# layer's outer (hidden) width. Attention of a vision tower keeps only rows of the outer width: Qwen's towers compute
# rotary embeddings of queries and keys in float32.
INNER_ROWS, OUTER_ROWS, VISION_ATTENTION_ROWS = 3, 6, 19
# Configuration keys for the width of a vision tower, and the default ratio of the inner to the outer width.
VISION_WIDTH_KEYS, MLP_RATIO = ("embed_dim", "hidden_size"), 4
# Configuration key for the layers of a vision tower whose features the language model receives in addition to the last.
FEATURE_LAYERS_KEY = "deepstack_visual_indexes"
# Bytes per value of the number formats in model files and configurations, and the names of formats in weight files.
DTYPE_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
FLOAT_DTYPES = {"F64", "F32", "BF16", "F16"}
# Matches the name of a layer up to its number. The weights of a layer stay on one device.
LAYER_PATTERN = re.compile(r".*?\.\d+(?=\.)")
# Bytes per value of a matrix that is quantised on loading. nf4 stores one additional float32 for every 64 values.
QUANTISED_BYTES = {"int8": 1.0, "nf4": 0.5 + 4 / 64}
# Matches matrices that quantisation on loading does not change.
UNQUANTISED_PATTERN = re.compile(r"embed|lm_head|shared|wte")


class ClipSize(NamedTuple):
    """The size of the model inputs for a clip."""

    token_count: int
    """number of tokens of a prompt, including those of the clip"""
    patch_count: int = 0
    """number of patches of all frames that the vision tower receives"""
    pixel_value_count: int = 0
    """number of values in the pixel arrays of all frames"""


class MemoryRequirement(NamedTuple):
    """The memory that a model needs on its devices; its largest indivisible part must fit on one device."""

    weight_bytes: int
    largest_part_bytes: int
    cache_bytes: int | None = None
    """bytes of the key-value cache of a clip, if the configuration states the model's shape"""
    activation_bytes: int = 0
    """bytes of the activations of one layer, and of a clip's pixels"""
    has_clip_size: bool = False
    """whether the estimate is for a clip of the run instead of an upper bound"""

    def compute_reserve(self, device_count: int) -> int:
        """Return the bytes that weights must leave free on each of this many devices."""
        limit = compute_max_reserve(self.weight_bytes // device_count)
        if self.cache_bytes is None:
            return limit
        reserve = FIXED_OVERHEAD + CACHE_COPIES * self.cache_bytes // device_count + self.activation_bytes
        return reserve if self.has_clip_size else min(limit, reserve)


def estimate_memory(folder: Path, dtype: str, quantised: str | None, clip: ClipSize | None = None) -> MemoryRequirement:
    """Return the memory that a checkpoint needs if it is loaded in a number format.

    If `dtype` is no number format, weights keep their stored format. The result includes the memory for clips if the
    configuration states the shape of the language model.
    """
    loaded_dtype = dtype if dtype in DTYPE_BYTES else read_checkpoint_dtype(folder)
    part_bytes = Counter[str]()  # layer, or tensor outside of the layers -> its bytes
    for name, tensor in read_tensors(folder).items():
        layer = LAYER_PATTERN.match(name)
        part_bytes[layer[0] if layer else name] += _compute_tensor_bytes(name, tensor, loaded_dtype, quantised)
    requirement = MemoryRequirement(part_bytes.total(), max(part_bytes.values(), default=0))
    text = read_text_config(folder)
    shape_keys = (
        "num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings",
    )  # fmt: skip
    shape_values = [value for key in shape_keys if isinstance(value := text.get(key), int) and value > 0]
    if len(shape_values) < len(shape_keys):
        return requirement
    layer_count, hidden_size, inner_size, head_count, context = shape_values
    head_size, dtype_bytes = text.get("head_dim") or hidden_size // head_count, DTYPE_BYTES.get(loaded_dtype or "", 4)
    tokens = min(context, DEFAULT_CLIP_TOKENS if clip is None else clip.token_count)
    outer_rows = OUTER_ROWS + len(read_vision_config(folder).get(FEATURE_LAYERS_KEY) or ())
    text_bytes = tokens * (INNER_ROWS * inner_size + outer_rows * hidden_size) * dtype_bytes
    cache_width = (text.get("num_key_value_heads") or head_count) * head_size
    vision_bytes = 0 if clip is None else _compute_vision_bytes(folder, clip, dtype_bytes)
    pixel_bytes = 0 if clip is None else clip.pixel_value_count * dtype_bytes
    return requirement._replace(
        cache_bytes=2 * tokens * layer_count * cache_width * dtype_bytes,  # keys and values
        activation_bytes=max(text_bytes, vision_bytes) + pixel_bytes,
        has_clip_size=clip is not None,
    )


def _compute_vision_bytes(folder: Path, clip: ClipSize, dtype_bytes: int) -> int:
    """Return the bytes of a vision layer's activations for all frames of a clip."""
    config = read_vision_config(folder)
    hidden_size = next((config[name] for name in VISION_WIDTH_KEYS if isinstance(config.get(name), int)), 0)
    inner_size = config.get("intermediate_size") or int(hidden_size * (config.get("mlp_ratio") or MLP_RATIO))
    values_per_patch = max(INNER_ROWS * inner_size + OUTER_ROWS * hidden_size, VISION_ATTENTION_ROWS * hidden_size)
    return clip.patch_count * values_per_patch * dtype_bytes


def _compute_tensor_bytes(name: str, tensor: TensorInfo, dtype: str | None, quantised: str | None) -> int:
    """Return the bytes that a tensor takes on a device after its conversion or quantisation on loading."""
    if tensor.dtype not in FLOAT_DTYPES or (quantised and quantised not in LOAD_TIME_METHODS):
        return tensor.size_bytes
    value_count = math.prod(tensor.shape)
    if quantised and len(tensor.shape) == 2 and not UNQUANTISED_PATTERN.search(name):
        return int(value_count * QUANTISED_BYTES[quantised])
    return value_count * DTYPE_BYTES[dtype] if dtype in DTYPE_BYTES else tensor.size_bytes


def compute_max_reserve(weight_bytes: int) -> int:
    """Return the upper limit of the bytes to leave free on a device that holds these weights."""
    return min(weight_bytes // 2, MAX_ALLOWANCE)


def group_devices(
    requirement: MemoryRequirement,
    device_names: Sequence[str],
    free_bytes: Sequence[int],
    model: str,
    group_size: int | None = None,
) -> list[tuple[str, ...]]:
    """Divide devices into groups that each hold a copy of a model, or into groups of `group_size`."""
    if group_size is not None:
        return [tuple(device_names[start : start + group_size]) for start in range(0, len(device_names), group_size)]
    count = len(allocate_devices(requirement, free_bytes, model))
    groups = [
        tuple(device_names[start : start + count])
        for start in range(0, len(device_names) - count + 1, count)
        if _compute_capacities(requirement, free_bytes[start : start + count], requirement.compute_reserve(count))
        is not None
    ]
    return groups or [tuple(device_names)]


def allocate_devices(
    requirement: MemoryRequirement, free_bytes: Sequence[int], model: str, min_devices: int = 1
) -> tuple[int, ...]:
    """Choose the fewest devices that hold a model and clips; return each device's capacity for weights in bytes.

    Devices are used in their order. A model that barely fits on all devices gets all of them. If there are several
    devices, each one but the last may waste as many bytes as the largest part takes.

    Raises:
        UserError: If the model does not fit on all devices together.
    """
    total_count = max(1, len(free_bytes))
    reserve = requirement.compute_reserve(total_count)
    min_reserve = min(FIXED_OVERHEAD, compute_max_reserve(requirement.weight_bytes // total_count))
    sizes_text = " + ".join(f"{size / GB:.3g}" for size in free_bytes)
    counts = range(min(min_devices, total_count), total_count + 1)
    attempts = [(device_count, requirement.compute_reserve(device_count)) for device_count in counts]
    for device_count, device_reserve in [*attempts, (total_count, min_reserve)]:
        capacities = _compute_capacities(requirement, free_bytes[:device_count], device_reserve)
        if capacities is None:
            continue
        if device_reserve < reserve:
            log.info(
                f"{model}: its weights take {requirement.weight_bytes / GB:.3g} GB, and each device should have "
                f"{reserve / GB:.3g} GB more; free: {sizes_text} GB. It is loaded anyway; requests that need more "
                "memory fail as `out_of_memory`"
            )
        return capacities
    raise UserError(
        f"{model}: too little memory: its weights take {requirement.weight_bytes / GB:.3g} GB, and a device needs "
        f"{min_reserve / GB:.3g} GB more, better {reserve / GB:.3g} GB for clips and activations; free: {sizes_text} "
        "GB. Use more or larger devices (`gpus` in the model's file), or smaller weights (`dtype`, "
        "`settings.quantised`)."
    )


def allocate_all_devices(requirement: MemoryRequirement, free_bytes: Sequence[int]) -> tuple[int, ...] | None:
    """Return each device's capacity for weights if all devices are used; None if a model and clips do not fit."""
    return _compute_capacities(requirement, free_bytes, requirement.compute_reserve(len(free_bytes)))


def _compute_capacities(
    requirement: MemoryRequirement, free_bytes: Sequence[int], reserve: int
) -> tuple[int, ...] | None:
    """Return each device's capacity for weights; None if the devices together cannot hold the model."""
    capacities = tuple(max(0, size - reserve) for size in free_bytes)
    is_enough = sum(capacities) >= requirement.weight_bytes + (len(free_bytes) - 1) * requirement.largest_part_bytes
    return capacities if is_enough and min(capacities) >= requirement.largest_part_bytes else None
