"""Over eight GPUs the fullest holds no more than it must; models without weights, and GPUs that are not here."""

from collections.abc import Callable
from pathlib import Path

import pytest
from accelerate.utils import check_device_map
from reprise.models.base import ModelSpec
from reprise.models.local.spread import even_device_map, meta_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, LlamaConfig
from transformers.integrations.accelerate import _get_device_map, compute_module_sizes

from tests.unit.models.adapters import tiny_video

SPEC = ModelSpec(None, "cuda", 1, "bfloat16", "sdpa", False, {})


def loads(model: object, placed: dict[str, int], count: int) -> list[int]:
    """Bytes of weights on each GPU."""
    check_device_map(model, placed)
    sizes, _ = compute_module_sizes(model, None, only_modules=False)
    return [sum(sizes[name] for name, gpu in placed.items() if gpu == at) for at in range(count)]


def test_a_72b_leaves_each_of_eight_cards_as_much_room_as_the_others() -> None:
    """80 layers of 1.76 GB, with 2.5 GB of embeddings before and after them, as the shape of Qwen2-72B has."""
    shape = {"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "vocab_size": 152_064}
    config = LlamaConfig(**shape, num_attention_heads=64, num_key_value_heads=8, dtype="bfloat16")
    model, rooms = meta_model(AutoModelForCausalLM, config, SPEC, None), dict.fromkeys(range(8), 21_400_000_000)
    placed = even_device_map(model, rooms)
    assert placed is not None
    even, usual = (loads(model, one, 8) for one in (placed, _get_device_map(model, "balanced", rooms, None)))
    assert [round(max(one) / 1e9, 1) for one in (even, usual)] == [19.3, 21.1]
    assert [round(min(one) / 1e9, 1) for one in (even, usual)] == [11.3, 2.5]


@pytest.mark.parametrize("make", [tiny_video.qwen2_vl, tiny_video.idefics2, tiny_video.internvl])
def test_every_weight_of_a_video_model_has_a_place(make: Callable[[Path], Path], tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(make(tmp_path / "m"))
    model = meta_model(AutoModelForImageTextToText, config, SPEC, None)
    sizes, _ = compute_module_sizes(model, None, only_modules=False)
    whole = sizes[""]
    placed = even_device_map(model, {0: whole, 1: whole, 2: whole // 4})
    assert placed is not None
    found = loads(model, placed, 3)
    assert sum(found) >= whole and found[2] <= whole // 4 and found[0] and found[1]
    assert even_device_map(model, {0: whole // 4, 1: whole // 4}) is None
