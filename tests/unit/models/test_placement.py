"""Test the placement of a real model class on several devices: no part goes to the disk, and all devices fill evenly."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accelerate.utils import check_device_map
from reprise.core.errors import UserError
from reprise.media.decoder import Footage
from reprise.models.base import LargestClip, ModelSpec
from reprise.models.local.checkpoints import plan_device_map
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.clip_size import (
    PROMPT_TOKEN_ALLOWANCE,
    compute_clip_size,
    compute_largest_clip_size,
    find_largest_clip,
)
from reprise.models.local.device_memory import GB, ClipSize, allocate_devices, estimate_memory, group_devices
from reprise.models.local.placement import build_device_map, create_on_meta, list_parts
from reprise.models.local.weights import TensorInfo
from transformers import AutoConfig, AutoModelForImageTextToText, BitsAndBytesConfig, Qwen2_5_VLConfig
from transformers.integrations.accelerate import _get_device_map
from transformers.quantizers import AutoHfQuantizer

from tests.unit.models.adapters import tiny_video
from tests.unit.models.test_devices import write_checkpoint
from tests.unit.requests import NO_FRAMES, clip_frames, model_spec
from tests.unit.videos import barcode_video

TEXT = {
    "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64,
    "num_key_value_heads": 8, "vocab_size": 152_064, "max_position_embeddings": 128_000,
}  # fmt: skip
VISION = {"hidden_size": 1280, "intermediate_size": 3456, "depth": 32, "num_heads": 16, "out_hidden_size": 8192}
MIB = 2**20
RTX4090, A6000, H100 = 23_650 * MIB, 48_100 * MIB, 80_800 * MIB


@pytest.fixture(scope="module")
def model() -> Any:
    """Return Qwen2.5-VL-72B on `meta`."""
    config = Qwen2_5_VLConfig(text_config=TEXT, vision_config=VISION, tie_word_embeddings=False, dtype="bfloat16")
    return create_on_meta(AutoModelForImageTextToText, config, trust_remote_code=False)


@pytest.fixture(scope="module")
def checkpoint(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the model's checkpoint, with sparse weights that take no disk space."""
    tensors = {
        name: TensorInfo("BF16", tuple(weight.shape), 2 * weight.numel()) for name, weight in model.named_parameters()
    }
    folder = write_checkpoint(tmp_path_factory.mktemp("checkpoint") / "m", tensors, {})
    model.config.save_pretrained(folder)
    return folder


def place_model(
    model: Any, checkpoint: Path, free: list[int], quantised: str | None = None, gpus_per_copy: int | None = None
) -> dict[str, Any]:
    """Return the device of each part of the model that transformers loads with our options."""
    settings = {"quantised": quantised} if quantised else {}
    memory: dict[int | str, int] = dict(enumerate(free))
    spec = ModelSpec(
        checkpoint,
        "cuda",
        1,
        "bfloat16",
        "sdpa",
        False,
        settings,
        free_bytes_by_device=memory,
        gpus_per_copy=gpus_per_copy,
    )
    options = plan_device_map(spec, AutoModelForImageTextToText)
    quantiser = None
    if quantised:
        config = BitsAndBytesConfig(load_in_8bit=quantised == "int8", load_in_4bit=quantised == "nf4")
        quantiser = AutoHfQuantizer.from_config(config, pre_quantized=False)
    device_by_part = _get_device_map(model, options["device_map"], options.get("max_memory"), quantiser)
    if quantiser is not None:
        quantiser.validate_environment(device_map=device_by_part)
    return dict(device_by_part)


def sum_weights_gb(
    model: Any, checkpoint: Path, device_by_part: dict[str, Any], quantised: str | None = None
) -> list[float]:
    """Return the GB of weights on each device."""
    weights = estimate_memory(checkpoint, "bfloat16", quantised).weight_bytes
    gb_by_device = dict.fromkeys(sorted(set(device_by_part.values())), 0.0)
    for part in list_parts(model, weights, 2):
        gb_by_device[device_by_part[part.name]] += part.size_bytes / GB
    assert sum(gb_by_device.values()) == pytest.approx(weights / GB)
    return list(gb_by_device.values())


@pytest.mark.parametrize(("free", "quantised"), [
    ([RTX4090] * 2, "nf4"), ([A6000] * 2, "int8"), ([RTX4090] * 4, "int8"), ([H100] * 2, None), ([A6000] * 4, None),
])  # fmt: skip
def test_quantised_or_not_no_part_of_a_model_goes_to_the_disk(
    free: list[int], quantised: str | None, model: Any, checkpoint: Path
) -> None:
    device_by_part = place_model(model, checkpoint, free, quantised)
    assert set(device_by_part.values()) == set(range(len(free)))
    for size, free_bytes in zip(sum_weights_gb(model, checkpoint, device_by_part, quantised), free, strict=True):
        assert size * GB < free_bytes - GB


def test_eight_gpus_are_filled_to_the_same_share(model: Any, checkpoint: Path) -> None:
    sizes = sum_weights_gb(model, checkpoint, place_model(model, checkpoint, [RTX4090] * 8))
    assert len(sizes) == 8 and max(sizes) - sum(sizes) / 8 < 1.8, "a layer takes 1.8 GB"
    assert min(sizes) > sum(sizes) / 8 - 6


def test_a_smaller_gpu_gets_a_smaller_share(model: Any, checkpoint: Path) -> None:
    sizes = sum_weights_gb(model, checkpoint, place_model(model, checkpoint, [H100, A6000, A6000]))
    assert sizes[0] > 1.4 * sizes[1] and sizes[1] == pytest.approx(sizes[2], abs=2.5)


def test_layers_stay_whole_and_every_parameter_has_a_device(model: Any, checkpoint: Path) -> None:
    device_by_part = place_model(model, checkpoint, [H100] * 2)
    layers = [name for name in device_by_part if ".layers." in name or ".blocks." in name]
    assert len(layers) == TEXT["num_hidden_layers"] + VISION["depth"]
    for name, _ in (*model.named_parameters(), *model.named_buffers()):
        assert any(name == part or name.startswith(f"{part}.") for part in device_by_part), name


def test_layers_that_cannot_be_divided_give_one_message(model: Any, checkpoint: Path) -> None:
    """The total room is sufficient, but each device leaves more of it unused than its share of the surplus."""
    weights = estimate_memory(checkpoint, "bfloat16", None).weight_bytes
    bytes_by_device = dict.fromkeys(range(60), int(weights / 59))
    with pytest.raises(UserError, match=r"^m: too little memory: its layers cannot be divided .* takes 2\.49 GB\."):
        build_device_map(model, weights, 2, bytes_by_device, "m")


# --- memory for clips ------------------------------------------------------------------------------------------------


def test_more_devices_leave_more_memory_for_clips(model: Any, checkpoint: Path) -> None:
    """Two GPUs of 80 GB hold the model; with `gpus_per_copy: 4` it uses four, which leaves more memory for clips."""
    on_two_gpus = sum_weights_gb(model, checkpoint, place_model(model, checkpoint, [H100] * 2))
    on_four_gpus = sum_weights_gb(model, checkpoint, place_model(model, checkpoint, [H100] * 4, gpus_per_copy=4))
    assert len(on_two_gpus) == 2 and len(on_four_gpus) == 4 and max(on_four_gpus) < max(on_two_gpus) / 2 + 2
    assert len(sum_weights_gb(model, checkpoint, place_model(model, checkpoint, [H100] * 3))) == 3, (
        "a surplus GPU leaves more memory too"
    )


def test_a_larger_clip_takes_more_devices(checkpoint: Path) -> None:
    """Both tokens and vision patches count; 24,576 tokens are Qwen2.5-VL's own limit for a video."""
    free = [H100] * 4
    clip_sizes = [
        ClipSize(1024),
        ClipSize(17_000, 4 * 16_000),
        ClipSize(25_600, 4 * 24_576),
        ClipSize(100_000, 400_000),
    ]
    requirements = [estimate_memory(checkpoint, "bfloat16", None, clip) for clip in clip_sizes]
    assert [requirement.compute_reserve(2) for requirement in requirements] == sorted(
        requirement.compute_reserve(2) for requirement in requirements
    )
    assert [len(allocate_devices(requirement, free, "m")) for requirement in requirements] == [2, 3, 3, 4]
    large_vision_clip = estimate_memory(checkpoint, "bfloat16", None, ClipSize(1024, 1_000_000, 10**9))
    assert large_vision_clip.activation_bytes > 2 * (1_000_000 * 3 * VISION["intermediate_size"] + 10**9)


@pytest.mark.parametrize(("gpus_per_copy", "groups"), [(None, [("0", "1"), ("2", "3")]), (4, [("0", "1", "2", "3")])])
def test_a_copy_uses_the_number_of_gpus_in_the_models_file(
    gpus_per_copy: int | None, groups: list[tuple[str, ...]], checkpoint: Path
) -> None:
    requirement = estimate_memory(checkpoint, "bfloat16", None, ClipSize(1024))
    assert group_devices(requirement, [*"0123"], [H100] * 4, "m", gpus_per_copy) == groups


def test_the_largest_clip_is_measured_by_the_processor(tmp_path: Path) -> None:
    """The size equals that of the same frames in a request, not an upper bound."""
    videos = [barcode_video(tmp_path / f"{height}.mp4", 12, width=96, height=height) for height in (64, 128)]
    clips = [clip_frames(path, tuple(range(0, 2 * count))) for path, count in zip(videos, (4, 3), strict=True)]
    largest = find_largest_clip([*clips, NO_FRAMES, replace(clips[0], path=tmp_path / "missing.mp4", indices=(1,))])
    assert largest == (8, 128, 96)
    assert find_largest_clip([replace(clips[0], grid=(2, 4))]) == (1, 128, 384)
    assert find_largest_clip([NO_FRAMES]) == (0, 0, 0)
    assert LargestClip(8, 1080, 1920).elementwise_max(LargestClip(64, 360, 640)) == (64, 1080, 1920)
    folder = tiny_video.qwen2_5_vl(tmp_path / "m")
    largest_spec = replace(model_spec(folder), largest_clip=largest)
    processor = ClipProcessor(largest_spec)
    black = np.zeros((8, 128, 96, 3), np.uint8)
    prepared = processor.prepare(Footage(black, tuple(range(8)), 1.0, 8))
    size = compute_clip_size(largest_spec, processor)
    assert size is not None and size == compute_largest_clip_size(largest_spec)
    assert size.token_count == prepared.placeholder_count + PROMPT_TOKEN_ALLOWANCE and size.patch_count == len(
        prepared.tensors["pixel_values_videos"]
    )
    assert compute_largest_clip_size(replace(largest_spec, largest_clip=LargestClip(0, 0, 0))) == ClipSize(
        PROMPT_TOKEN_ALLOWANCE
    )
    assert compute_largest_clip_size(replace(largest_spec, largest_clip=None)) is None


@pytest.mark.parametrize("make", [tiny_video.qwen2_vl, tiny_video.idefics2, tiny_video.internvl, tiny_video.aria])
def test_every_weight_of_a_video_model_has_a_device(make: Callable[[Path], Path], tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(make(tmp_path / "m"))
    model = create_on_meta(AutoModelForImageTextToText, config, trust_remote_code=False)
    weights = sum(4 * weight.numel() for weight in model.parameters())
    device_by_part = build_device_map(model, weights, 4, {0: weights, 1: weights}, "m")
    check_device_map(model, device_by_part)
    assert set(device_by_part.values()) == {0, 1}
