"""Speed up attention of vision towers that pack frames and windows into one sequence.

With sdpa, transformers calls attention for each window of each frame. For 64 frames of Qwen2.5-VL, these are 1,568
calls in each of 28 layers. Here, all windows of one length form one batch, which needs no mask and gives the same
results.
"""

import inspect
from itertools import pairwise
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

from torch.utils.weak import WeakIdKeyDictionary
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

# Towers pass the whole sequence and the bounds of its parts only to implementations with `flash` in their names. All
# others receive single parts.
BATCHED_ATTENTION = "batched_in_place_of_flash"
REPLACED_ATTENTION = "sdpa"
# Argument of a tower's modules with the bounds of the parts: cumulative lengths, from 0 to that of the sequence.
BOUNDS_ARGUMENT = "cu_seqlens"
# Kernels use one axis of their grid for the rows of a batch, and that axis is limited to 65,535 blocks.
MAX_PARTS = 16_384


class AttentionBatches(NamedTuple):
    """The parts of a packed sequence, divided into batches whose parts have the same length."""

    batches: list[tuple[Any, int]]
    """for each batch, the positions of its parts in the sequence, and the length of a part"""
    order: Any
    """for each position of the sequence, its index in the concatenated batches"""


def batch_vision_attention(model: Any) -> None:
    """Make the vision towers of a model compute attention for all parts of one length at once."""
    AttentionInterface.register(BATCHED_ATTENTION, attend_to_parts)
    model_configs = (model.config, model.config.get_text_config())
    for module in model.modules():
        configuration = getattr(module, "config", None)
        if configuration is None or any(configuration is config for config in model_configs):
            continue
        if (
            BOUNDS_ARGUMENT in inspect.signature(module.forward).parameters
            and configuration._attn_implementation == REPLACED_ATTENTION
        ):
            configuration._attn_implementation = BATCHED_ATTENTION


def attend_to_parts(
    module: Any, query: Any, key: Any, value: Any, attention_mask: None, *, cu_seq_lens_q: Any, **options: Any
) -> tuple[Any, None]:
    """Compute attention within each part of a packed sequence; the tensors are (1, heads, length, width)."""
    arguments = {name: options[name] for name in ("scaling", "dropout")}
    batches = _get_batches(cu_seq_lens_q, query.device)
    outputs = []
    for positions, length in batches.batches:
        # (1, heads, parts * length, width) -> (parts, heads, length, width)
        parts = (
            projection[0, :, positions].unflatten(1, (-1, length)).transpose(0, 1) for projection in (query, key, value)
        )
        output, _ = sdpa_attention_forward(module, *parts, attention_mask, is_causal=False, **arguments)
        outputs.append(output.flatten(0, 1))
    return torch.cat(outputs)[batches.order][None], None


_BATCHES: Any = WeakIdKeyDictionary()
"""bounds -> batches; cached because the layers of a tower share bounds, whose copy from the device takes time"""


def _get_batches(bounds: Any, device: Any) -> AttentionBatches:
    """Return the parts between these bounds, grouped by length."""
    batches: AttentionBatches | None = _BATCHES.get(bounds)
    if batches is None:
        starts_by_length: dict[int, list[int]] = {}
        offsets = bounds.tolist()
        for start, end in pairwise(offsets):
            starts_by_length.setdefault(end - start, []).append(start)
        positions_and_lengths = []
        for length, part_starts in starts_by_length.items():
            for first in range(0, len(part_starts), MAX_PARTS):
                batch_starts = torch.tensor(part_starts[first : first + MAX_PARTS])
                positions = (batch_starts[:, None] + torch.arange(length)).flatten()
                positions_and_lengths.append((positions, length))
        # The inverse of the permutation from the sequence to the concatenated batches.
        order = torch.cat([positions for positions, _ in positions_and_lengths]).argsort().to(device)
        batches = AttentionBatches(
            [(positions.to(device), length) for positions, length in positions_and_lengths], order
        )
        _BATCHES[bounds] = batches
    return batches
