"""Attention of vision towers: as few calls as there are lengths of windows, and the numbers of the class's own loop."""

from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.local import vision_attention
from reprise.models.local.transformers import TransformersAdapter
from reprise.models.local.vision_attention import batch_vision_attention
from transformers import AutoModelForImageTextToText

from tests.unit.models.adapters.tiny_video import MORE, VIDEO
from tests.unit.requests import spec

PACKED = {
    name: {**VIDEO, **MORE}[name] for name in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v", "glm46v", "video_llama_3")
}
LAYERS = 2
# Patches of two videos: windows of Qwen2.5-VL have four lengths in the first.
GRIDS = torch.tensor([[8, 14, 22], [3, 8, 8]])


def encode(model: Any, grids: torch.Tensor = GRIDS) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Encode videos of these grids; return the features and the query shape of each attention call."""
    shapes: list[tuple[int, ...]] = []
    attend = torch.nn.functional.scaled_dot_product_attention

    def counted(query: Any, *given: Any, **named: Any) -> Any:
        shapes.append(tuple(query.shape))
        return attend(query, *given, **named)

    named = {"video_merge_sizes": torch.tensor([2, 2])} if model.config.model_type == "video_llama_3" else {}
    config = model.config.vision_config
    patch = config.num_channels if hasattr(config, "num_channels") else getattr(config, "in_channels", 3)
    width = patch * config.patch_size**2 * getattr(config, "temporal_patch_size", 1)
    pixels = torch.randn(int(grids.prod(1).sum()), width, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)
        features = model.model.get_video_features(pixels, grids, **named).pooler_output
    return list(features), shapes


@pytest.fixture(scope="module", params=sorted(PACKED))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = PACKED[request.param](tmp_path_factory.mktemp("checkpoint") / request.param)
    return AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="sdpa").eval()


def test_windows_of_one_length_are_attended_to_at_once(model: Any) -> None:
    expected, single = encode(model)
    assert {shape[0] for shape in single} == {1}
    batch_vision_attention(model)
    found, batched = encode(model)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    assert sum(shape[0] for shape in batched) == len(single), "no part is left out, and none is padded"
    lengths = {shape[2] for shape in single}
    assert len(batched) <= LAYERS * len(lengths) < len(single) / 2
    assert model.config.get_text_config()._attn_implementation == "sdpa"


def test_an_adapter_batches_the_windows_of_its_model(tmp_path: Path) -> None:
    adapter = TransformersAdapter(spec(PACKED["qwen2_5_vl"](tmp_path / "m")))
    _, shapes = encode(adapter.model)
    assert len(shapes) <= 6 * LAYERS, "at most one call for each length of windows or frames"


def test_sixty_four_frames_of_windows_are_a_few_calls_a_layer(tmp_path: Path) -> None:
    """32 pairs of frames of 392x392: 49 windows each, as many as the issue of 1,568 calls a layer counted."""
    folder = PACKED["qwen2_5_vl"](tmp_path / "m")
    made = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="sdpa").eval()
    tower = made.model.visual
    side = 7 * tower.window_size // tower.patch_size
    grids = torch.tensor([[32, side, side]])
    _, single = encode(made, grids)
    windowed = len(tower.blocks) - len(tower.fullatt_block_indexes)
    assert len(single) == windowed * 1568 + len(tower.fullatt_block_indexes) * 32
    batch_vision_attention(made)
    _, batched = encode(made, grids)
    assert len(batched) == len(tower.blocks)


def test_parts_that_are_more_than_a_kernel_takes_are_several_batches(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_vision_attention(model)
    expected, few = encode(model)
    monkeypatch.setattr(vision_attention, "MAX_PARTS", 3)
    found, many = encode(model)
    assert len(many) > len(few) and max(shape[0] for shape in many) == 3
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
