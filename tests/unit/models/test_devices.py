"""Test how the threads of a job wait, and how many GPUs a model uses."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.core.errors import UserError
from reprise.models.local.device_memory import GB, MemoryRequirement, allocate_devices, estimate_memory, group_devices
from reprise.models.local.weights import TensorInfo, read_tensors
from safetensors.torch import save_file


def test_waiting_threads_do_not_occupy_the_cpu() -> None:
    """With OMP_DISPLAY_ENV, OpenMP prints its settings when it is loaded."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, "-c", "import reprise.models.local.torch_setup"]
    process = subprocess.run(command, env=environment | {"OMP_DISPLAY_ENV": "TRUE"}, stderr=subprocess.PIPE, check=True)
    assert b"OMP_WAIT_POLICY = 'PASSIVE'" in process.stderr


# --- number of devices ---------------------------------------------------------------------------------------------

# Sizes in GB of the bfloat16 weights and of the largest layer of checkpoints in the papers' tables.
MODEL_7B, MODEL_34B, MODEL_72B = (15.2, 1.1), (68.8, 1.2), (145.4, 2.5)
H100, A6000, RTX4090 = 84.5, 50.5, 25.2


@pytest.mark.parametrize(("weights", "free", "weight_gb_by_device"), [
    (MODEL_7B, [RTX4090], [17.6]),
    (MODEL_34B, [A6000] * 4, [42.5, 42.5]),
    (MODEL_72B, [H100, A6000, A6000], [76.5, 42.5, 42.5]),
    # Two devices hold the weights only if no layer leaves space unused; the allocation tries it.
    ((100.0, 3.0), [59.4, 59.5], [58.4, 58.5]),
    ((100.0, 3.0), [59.4, 59.6], [51.4, 51.6]),
    # Another process occupies most of the first device.
    (MODEL_72B, [10.4, H100, H100], [9.4, 83.5, 83.5]),
    (MODEL_72B, [RTX4090] * 4, None),
    ((0.0, 0.0), [0.0], [0.0]),
])  # fmt: skip
def test_a_model_takes_the_fewest_devices_that_hold_it(
    weights: tuple[float, float], free: list[float], weight_gb_by_device: list[float] | None
) -> None:
    requirement = MemoryRequirement(*(round(size * GB) for size in weights))
    free_bytes = [round(size * GB) for size in free]
    if weight_gb_by_device is None:
        with pytest.raises(UserError, match=r"^m: too little memory: its weights take [\d.]+ GB, and a device needs 1"):
            allocate_devices(requirement, free_bytes, "m")
    else:
        assert [round(size / GB, 1) for size in allocate_devices(requirement, free_bytes, "m")] == weight_gb_by_device


# --- kinds of GPUs -------------------------------------------------------------------------------------------------

# Kind of GPU -> free memory in MiB that the driver reports of an idle one.
FREE_MIB_BY_GPU = {
    "T4": 14_910, "RTX 3090": 23_870, "RTX 4090": 23_650, "A10G": 22_320, "L4": 22_500, "A100 40 GB": 40_040,
    "H100": 80_800, "H200": 142_600,
}  # fmt: skip
SHAPE_FIELDS = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings")  # fmt: skip
# Model -> shape, parameter count, and the number of GPUs of each kind above that it uses in a job with eight; None if it
# needs more.
MODELS: dict[str, tuple[tuple[int, ...], int, list[int | None]]] = {
    "LLaVA-OneVision-7B": ((28, 3584, 18944, 28, 4, 0, 32768), 8_030_000_000, [2, 1, 1, 1, 1, 1, 1, 1]),
    "Qwen3-VL-8B": ((36, 4096, 12288, 32, 8, 128, 262_144), 8_770_000_000, [2, 2, 2, 2, 2, 1, 1, 1]),
    "Qwen2-VL-72B": ((80, 8192, 29568, 64, 8, 0, 32768), 73_400_000_000, [None, 8, 8, 8, 8, 5, 2, 2]),
}


def write_checkpoint(folder: Path, tensors: dict[str, TensorInfo], config: dict[str, Any]) -> Path:
    """Write a sparse file of weights, which takes no disk space, and its configuration."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    header, end = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [end, end + tensor.size_bytes]}
        end += tensor.size_bytes
    content = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(len(content).to_bytes(8, "little") + content)
        stream.truncate(8 + len(content) + end)
    return folder


@pytest.mark.parametrize("gpu_kind", FREE_MIB_BY_GPU)
def test_a_model_is_spread_over_as_many_gpus_as_it_needs(gpu_kind: str, tmp_path: Path) -> None:
    names, free = [*"01234567"], [FREE_MIB_BY_GPU[gpu_kind] * 2**20] * 8
    for name, (shape, parameter_count, expected_counts) in MODELS.items():
        layer_parameter_count = parameter_count // shape[0]
        tensors = {
            f"layers.{layer}.w": TensorInfo("BF16", (layer_parameter_count,), 2 * layer_parameter_count)
            for layer in range(shape[0])
        }
        config = {"text_config": dict(zip(SHAPE_FIELDS, shape, strict=True)), "dtype": "bfloat16"}
        requirement = estimate_memory(write_checkpoint(tmp_path / name, tensors, config), "bfloat16", None)
        count = expected_counts[list(FREE_MIB_BY_GPU).index(gpu_kind)]
        if parameter_count < 9e9 and gpu_kind != "T4":
            assert len(allocate_devices(requirement, free[:1], name)) == 1, (
                "one GPU of 24 GB, which the allocation tries even if it may be too small"
            )
        if count is None:
            with pytest.raises(UserError, match="too little memory"):
                group_devices(requirement, names, free, name)
        else:
            assert [len(group) for group in group_devices(requirement, names, free, name)] == [count] * (8 // count), (
                name
            )


LAYERS = {
    "model.embed_tokens.weight": TensorInfo("BF16", (1000, 64), 128_000),
    "model.layers.0.mlp.weight": TensorInfo("BF16", (256, 64), 32_768),
    "model.layers.0.norm.weight": TensorInfo("F32", (64,), 256),
    "model.layers.1.mlp.weight": TensorInfo("BF16", (128, 64), 16_384),
    "lm_head.weight": TensorInfo("BF16", (1000, 64), 128_000),
}
PACKED = {
    "layers.0.qweight": TensorInfo("I32", (8, 64), 2048),
    "layers.0.scales": TensorInfo("F16", (1, 64), 128),
    "head.weight": TensorInfo("F16", (10, 64), 1280),
}


@pytest.mark.parametrize(("tensors", "dtype", "quantised", "weights", "largest"), [
    (LAYERS, "checkpoint", None, 305_408, 128_000),
    (LAYERS, "bfloat16", None, 305_280, 128_000),
    (LAYERS, "float32", None, 610_560, 256_000),
    (LAYERS, "bfloat16", "int8", 280_704, 128_000),
    (LAYERS, "bfloat16", "nf4", 269_952, 128_000),
    # Quantised tensors of a checkpoint keep their size whatever the dtype of the others.
    (PACKED, "float32", "gptq", 3456, 2176),
])  # fmt: skip
def test_weights_are_counted_as_they_will_be_in_memory(
    tensors: dict[str, TensorInfo], dtype: str, quantised: str | None, weights: int, largest: int, tmp_path: Path
) -> None:
    assert estimate_memory(write_checkpoint(tmp_path / "m", tensors, {}), dtype, quantised) == MemoryRequirement(
        weights, largest
    )


INDEX = "model.safetensors.index.json"


def write_sharded_checkpoint(folder: Path) -> Path:
    """Write a checkpoint of two files with their index, and an unrelated third file."""
    folder.mkdir()
    parts = {"a.safetensors": {"x": torch.zeros(3, 4)}, "b.safetensors": {"layers.0.y": torch.zeros(8).half()}}
    for name, tensors in {**parts, "other.safetensors": {"z": torch.zeros(9)}}.items():
        save_file(tensors, folder / name)
    weight_map = {name: file for file, tensors in parts.items() for name in tensors}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"text_config": {"torch_dtype": "float16"}}))
    return folder


def test_only_files_in_the_index_belong_to_the_checkpoint(tmp_path: Path) -> None:
    folder = write_sharded_checkpoint(tmp_path / "c")
    assert read_tensors(folder) == {"x": TensorInfo("F32", (3, 4), 48), "layers.0.y": TensorInfo("F16", (8,), 16)}
    assert estimate_memory(folder, "float32", None).weight_bytes == 80
    assert estimate_memory(folder, "checkpoint", None).weight_bytes == 40


@pytest.mark.parametrize(("file", "damage", "message"), [
    ("b.safetensors", None, r"1 of the 2 files that it names are missing: b\.saf"),
    ("a.safetensors", lambda content: content[:-1], "damaged or truncated: .* file not fully covered"),
    (INDEX, lambda content: b"{", "not JSON"),
    (INDEX, lambda content: b"{}", "it has no weight_map"),
    (INDEX, lambda content: b"[]", "not a JSON object"),
    (INDEX, lambda content: b'{"weight_map": {"x": "../a"}}', r"1 of the 1 files .* are missing: \.\./a"),
])  # fmt: skip
def test_a_truncated_file_is_named_before_weights_are_loaded(
    file: str, damage: Callable[[bytes], bytes] | None, message: str, tmp_path: Path
) -> None:
    folder = write_sharded_checkpoint(tmp_path / "c")
    if damage is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(damage((folder / file).read_bytes()))
    with pytest.raises(UserError, match=message) as caught:
        read_tensors(folder)
    assert str(caught.value).startswith(f"{folder}/") and str(caught.value).endswith("Fetch the checkpoint again.")
