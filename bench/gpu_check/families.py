"""Write checkpoints with random weights in the shapes of four families, those of most models in the tables."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from reprise.models.local.torch_setup import torch

from reprise.core.store import Store
from reprise.models.local.weights import get_snapshot_folder
from transformers import (
    GotOcr2ImageProcessor,
    InternVLConfig,
    InternVLProcessor,
    InternVLVideoProcessor,
    Qwen2_5_VLConfig,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3VLConfig,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

from bench.checkpoints import (
    FAMILIES,
    HALF,
    SIZE_7B,
    TEMPLATE,
    TINY_SIZE,
    Size,
    random_model,
    special_token_ids,
    tokenizer,
)
from bench.gpu_check.outcome import NotTriedError, Session

# Language model layers of a checkpoint with the widths of a real one; the vision tower keeps all of its layers.
LAYERS_KEPT = 4
# Maximum size of a file of weights, and the free disk space that a checkpoint needs relative to its size.
MAX_FILE_SIZE, FREE_SPACE_FACTOR = "4GB", 1.2
# GPU memory for the weights and the activations of clips.
WHOLE_BYTES = 20_000_000_000  # For a 7B model with all of its layers.
# The 7B model gets a name as if it came from the hub.
MODEL = {"repo": "gpu/check", "revision": "0" * 40}
INTERNVL_TOKENS = {
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}


@dataclass(frozen=True)
class Shapes:
    """Shapes of one size for all families; `size` is a `Size` of bench/checkpoints.py."""

    size: Size
    qwen2_5: dict[str, Any]
    qwen3_text: dict[str, Any]
    qwen3: dict[str, Any]
    intern: dict[str, Any]
    patches: tuple[int, int, int]
    """patch sizes of Qwen2.5-VL, Qwen3-VL and InternVL, in pixels"""
    pixels: int
    """maximum number of pixels of a frame in the Qwen families"""


SMALLEST = Shapes(
    TINY_SIZE,
    qwen2_5={"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 128,
             "window_size": 56, "fullatt_block_indexes": [1], "tokens_per_second": 2},
    qwen3_text={**TINY_SIZE.text, "head_dim": 64, "num_key_value_heads": 2},
    qwen3={"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 128,
           "deepstack_visual_indexes": [0], "num_position_embeddings": 64},
    intern={"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": [56, 56]},
    patches=(14, 16, 14), pixels=64 * 64,
)  # fmt: skip
# From the configurations of Qwen2.5-VL-7B-Instruct, Qwen3-VL-8B-Instruct and InternVL3-8B-hf.
LARGEST = Shapes(
    SIZE_7B,
    qwen2_5={"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584,
             "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2},
    qwen3_text={"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
                "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": False},
    qwen3={"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "out_hidden_size": 4096,
           "deepstack_visual_indexes": [8, 16, 24], "num_position_embeddings": 2304},
    intern={"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
            "image_size": [448, 448]},
    patches=(14, 16, 14), pixels=602_112,
)  # fmt: skip


def keep_few_layers(shapes: Shapes) -> Shapes:
    text = shapes.size.text | {"num_hidden_layers": min(LAYERS_KEPT, shapes.size.text["num_hidden_layers"])}
    return replace(
        shapes,
        size=replace(shapes.size, text=text),
        qwen3_text=shapes.qwen3_text | {"num_hidden_layers": text["num_hidden_layers"]},
    )


# --- families -------------------------------------------------------------------------------------------------------


def _llava_onevision(shapes: Shapes, tokenizer: Any) -> tuple[Any, Any]:
    return FAMILIES["LLaVA-OneVision"](shapes.size, tokenizer)


def _common_config(tokenizer: Any, shapes: Shapes, text: dict[str, Any], *, is_interleaved: bool) -> dict[str, Any]:
    """Return the configuration values that Qwen's families share."""
    names = ("vision_start", "vision_end", "image_pad", "video_pad")
    start, end, image, video = (tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in names)
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": list(shapes.size.rope)}
    rope |= {"mrope_interleaved": True} if is_interleaved else {}
    limits = {"max_position_embeddings": 32768, "initializer_range": shapes.size.std, "rope_parameters": rope}
    return {
        "text_config": {**text, **limits, **special_token_ids(tokenizer)},
        "tie_word_embeddings": text["tie_word_embeddings"],
        "vision_start_token_id": start, "vision_end_token_id": end, "image_token_id": image, "video_token_id": video,
    }  # fmt: skip


def _qwen_template() -> str:
    mark = "<|vision_start|><|{}_pad|><|vision_end|>"
    return TEMPLATE.replace("VIDEO", mark.format("video")).replace("IMAGE", mark.format("image"))


def _qwen2_5_vl(shapes: Shapes, tokenizer: Any) -> tuple[Any, Any]:
    patch = shapes.patches[0]
    parts = _common_config(tokenizer, shapes, shapes.size.text, is_interleaved=False)
    config = Qwen2_5_VLConfig(**parts, vision_config={**shapes.qwen2_5, "patch_size": patch})
    size = {"shortest_edge": 56 * 56, "longest_edge": shapes.pixels}
    options = {"size": size, "patch_size": patch, "image_mean": HALF, "image_std": HALF}
    videos = Qwen2VLVideoProcessor(**options, do_sample_frames=False, cap_pixels_per_frame=False)
    images = Qwen2VLImageProcessor(**options)
    return config, Qwen2_5_VLProcessor(
        image_processor=images, video_processor=videos, tokenizer=tokenizer, chat_template=_qwen_template()
    )


def _qwen3_vl(shapes: Shapes, tokenizer: Any) -> tuple[Any, Any]:
    patch = shapes.patches[1]
    parts = _common_config(tokenizer, shapes, shapes.qwen3_text, is_interleaved=True)
    config = Qwen3VLConfig(**parts, vision_config={**shapes.qwen3, "patch_size": patch})
    options = {"patch_size": patch, "image_mean": HALF, "image_std": HALF}
    images = Qwen2VLImageProcessor(**options, size={"shortest_edge": 64 * 64, "longest_edge": shapes.pixels})
    # In this family the limits of a video apply to all its frames together.
    video_limits = {"shortest_edge": 64 * 64, "longest_edge": 32 * shapes.pixels}
    videos = Qwen3VLVideoProcessor(**options, size=video_limits, do_sample_frames=False)
    return config, Qwen3VLProcessor(
        image_processor=images, video_processor=videos, tokenizer=tokenizer, chat_template=_qwen_template()
    )


def _internvl(shapes: Shapes, tokenizer: Any) -> tuple[Any, Any]:
    side, patch = shapes.intern["image_size"][0], shapes.patches[2]
    tokens = (side // patch // 2) ** 2
    text = {**shapes.size.text, "model_type": "qwen2", "max_position_embeddings": 32768,
            "initializer_range": shapes.size.std, **special_token_ids(tokenizer)}  # fmt: skip
    config = InternVLConfig(
        text_config=text, vision_config={**shapes.intern, "patch_size": [patch, patch]}, image_seq_length=tokens,
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        tie_word_embeddings=shapes.size.text["tie_word_embeddings"],
    )  # fmt: skip
    options = {"size": {"height": side, "width": side}, "image_mean": HALF, "image_std": HALF}
    template = TEMPLATE.replace("VIDEO", "<video>\n").replace("IMAGE", "<IMG_CONTEXT>\n")
    return config, InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(**options), video_processor=InternVLVideoProcessor(**options),
        tokenizer=tokenizer, image_seq_length=tokens, chat_template=template,
    )  # fmt: skip


# Family -> function that returns a configuration and a processor for some shapes and a tokenizer.
KINDS: dict[str, Callable[[Shapes, Any], tuple[Any, Any]]] = {
    "LLaVA-OneVision": _llava_onevision,
    "Qwen2.5-VL": _qwen2_5_vl,
    "InternVL": _internvl,
    "Qwen3-VL": _qwen3_vl,
}


# --- files ----------------------------------------------------------------------------------------------------------


def checkpoint(session: Session, family: str, *, is_whole: bool = False, is_tiny: bool = False) -> Path:
    """Return the folder of a checkpoint with random weights, and write it if it is missing.

    `is_whole` keeps all layers of a 7B model, in the folder where a job looks for a snapshot of the hub. Weights are in
    bfloat16 on a GPU; on a CPU they are tiny and in float32.
    """
    folder = session.folder / "checkpoints" / family
    if is_whole:
        folder = get_snapshot_folder(MODEL["repo"], MODEL["revision"], Store(session.folder / "store"))
    if folder.exists():
        return folder
    if is_whole and not session.is_cpu and (free := torch.cuda.mem_get_info()[0]) < WHOLE_BYTES:
        raise NotTriedError(f"the GPU has {free / 1e9:.0f} GB free, but a 7B model needs {WHOLE_BYTES / 1e9:.0f}")
    shapes = SMALLEST if session.is_cpu or is_tiny else LARGEST
    family_tokenizer = tokenizer(INTERNVL_TOKENS) if family == "InternVL" else tokenizer()
    config, processor = KINDS[family](shapes if is_whole else keep_few_layers(shapes), family_tokenizer)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(mkdtemp(dir=folder.parent))
    dtype = torch.float32 if session.is_cpu else torch.bfloat16
    model = random_model(config, session.device, dtype)
    size, free = sum(parameter.nbytes for parameter in model.parameters()), shutil.disk_usage(folder.parent).free
    if free < FREE_SPACE_FACTOR * size:
        raise NotTriedError(
            f"{folder.parent} has {free / 1e9:.0f} GB free, but the checkpoint takes {size / 1e9:.0f}: see --folder"
        )
    model.save_pretrained(scratch, max_shard_size=MAX_FILE_SIZE)
    processor.save_pretrained(scratch)
    del model
    with suppress(OSError):  # another check wrote the same checkpoint at the same time
        scratch.replace(folder)
    if not session.is_cpu:
        torch.cuda.empty_cache()
    return folder
