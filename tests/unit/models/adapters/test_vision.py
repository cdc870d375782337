"""Test the attention of vision towers: one call per window length, and the results of the class's own loop."""

from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.local import vision_attention
from reprise.models.local.transformers import TransformersAdapter
from reprise.models.local.vision_attention import batch_vision_attention
from transformers import AutoModelForImageTextToText

from tests.unit.models.adapters.tiny_video import UNLISTED_CLASSES, VIDEO_CLASSES
from tests.unit.requests import model_spec

WINDOWED_CLASSES = {
    name: {**VIDEO_CLASSES, **UNLISTED_CLASSES}[name]
    for name in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v", "glm46v", "video_llama_3")
}
LAYER_COUNT = 2
# Patches of two videos (time, rows, columns); in the first, windows of Qwen2.5-VL have four lengths.
VIDEO_GRIDS = torch.tensor([[8, 14, 22], [3, 8, 8]])


def encode(model: Any, grids: torch.Tensor = VIDEO_GRIDS) -> tuple[list[Any], list[tuple[int, ...]]]:
    """Encode videos of these grids; return the features and the query shape of each attention call."""
    shapes: list[tuple[int, ...]] = []
    attend = torch.nn.functional.scaled_dot_product_attention

    def record_shape(query: Any, *arguments: Any, **options: Any) -> Any:
        shapes.append(tuple(query.shape))
        return attend(query, *arguments, **options)

    options = {"video_merge_sizes": torch.tensor([2, 2])} if model.config.model_type == "video_llama_3" else {}
    config = model.config.vision_config
    channels = config.num_channels if hasattr(config, "num_channels") else getattr(config, "in_channels", 3)
    width = channels * config.patch_size**2 * getattr(config, "temporal_patch_size", 1)
    pixels = torch.randn(int(grids.prod(1).sum()), width, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.nn.functional, "scaled_dot_product_attention", record_shape)
        features = model.model.get_video_features(pixels, grids, **options).pooler_output
    return list(features), shapes


@pytest.fixture(scope="module", params=sorted(WINDOWED_CLASSES))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = WINDOWED_CLASSES[request.param](tmp_path_factory.mktemp("checkpoint") / request.param)
    return AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="sdpa").eval()


def test_windows_of_one_length_share_a_call(model: Any) -> None:
    expected, unbatched_shapes = encode(model)
    assert {shape[0] for shape in unbatched_shapes} == {1}
    batch_vision_attention(model)
    batched_features, batched_shapes = encode(model)
    for features, expected_features in zip(batched_features, expected, strict=True):
        torch.testing.assert_close(features, expected_features, rtol=0, atol=1e-6)
    assert sum(shape[0] for shape in batched_shapes) == len(unbatched_shapes), (
        "every window is attended to once, without padding"
    )
    lengths = {shape[2] for shape in unbatched_shapes}
    assert len(batched_shapes) <= LAYER_COUNT * len(lengths) < len(unbatched_shapes) / 2
    assert model.config.get_text_config()._attn_implementation == "sdpa"


def test_an_adapter_batches_the_windows_of_its_model(tmp_path: Path) -> None:
    adapter = TransformersAdapter(model_spec(WINDOWED_CLASSES["qwen2_5_vl"](tmp_path / "m")))
    _, shapes = encode(adapter.model)
    assert len(shapes) <= 6 * LAYER_COUNT, "at most one call for each length of windows or frames"


def test_sixty_four_frames_take_one_call_per_layer(tmp_path: Path) -> None:
    """32 pairs of frames of 392x392 with 49 windows each would take 1,568 calls per layer without batches."""
    folder = WINDOWED_CLASSES["qwen2_5_vl"](tmp_path / "m")
    model = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="sdpa").eval()
    tower = model.model.visual
    side = 7 * tower.window_size // tower.patch_size
    grids = torch.tensor([[32, side, side]])
    _, unbatched_shapes = encode(model, grids)
    windowed_layer_count = len(tower.blocks) - len(tower.fullatt_block_indexes)
    assert len(unbatched_shapes) == windowed_layer_count * 1568 + len(tower.fullatt_block_indexes) * 32
    batch_vision_attention(model)
    _, batched_shapes = encode(model, grids)
    assert len(batched_shapes) == len(tower.blocks)


def test_more_parts_than_a_kernel_takes_are_several_batches(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batch_vision_attention(model)
    expected, shapes_of_few_batches = encode(model)
    monkeypatch.setattr(vision_attention, "MAX_PARTS", 3)
    batched_features, shapes_of_many_batches = encode(model)
    assert (
        len(shapes_of_many_batches) > len(shapes_of_few_batches)
        and max(shape[0] for shape in shapes_of_many_batches) == 3
    )
    for features, expected_features in zip(batched_features, expected, strict=True):
        torch.testing.assert_close(features, expected_features, rtol=0, atol=1e-6)
