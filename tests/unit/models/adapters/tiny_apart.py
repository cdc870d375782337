"""Tiny checkpoints of classes with inputs of their own: tensors of tokens, pixels in half precision."""

from collections.abc import Callable
from pathlib import Path

import transformers as hf

from tests.unit.models.adapters.tiny import HALF, PATCH, SQUARE, ids_of, save
from tests.unit.models.adapters.tiny_video import (
    CHATML,
    GRID,
    HEADS_OF_16,
    MROPE,
    PIXELS,
    TEXT,
    VISION,
    chat,
    id_of,
    words,
)

ERNIE = {
    f"{kind}_{part}token": f"<|{kind.upper()}_{part.upper()}|>"
    for kind in ("image", "video")
    for part in ("", "start_", "end_")
}


def ernie(folder: Path) -> Path:
    """ERNIE-4.5-VL: which expert sees a token is said by a tensor as long as the question."""
    marks = {
        kind: "".join(ERNIE[f"{kind}_{part}token"] for part in ("start_", "", "end_")) for kind in ("image", "video")
    }
    template = chat(*CHATML, marks)
    made = words((), template, **ERNIE)
    config = hf.Ernie4_5_VLMoeConfig(
        text_config={
            **TEXT, **ids_of(made), **HEADS_OF_16, "moe_intermediate_size": [16, 8], "moe_num_experts": 4, "moe_k": 2,
            "moe_num_shared_experts": 1, "rope_parameters": {**MROPE, "mrope_section": [3, 3, 2]},
            "mlp_layer_types": ["dense", "sparse"],
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": PATCH,
            "out_hidden_size": 32,
        },
        image_token_id=id_of(made, ERNIE["image_token"]), video_token_id=id_of(made, ERNIE["video_token"]),
        image_start_token_id=id_of(made, ERNIE["image_start_token"]),
        image_end_token_id=id_of(made, ERNIE["image_end_token"]),
        video_start_token_id=id_of(made, ERNIE["video_start_token"]),
        video_end_token_id=id_of(made, ERNIE["video_end_token"]),
    )  # fmt: skip
    processor = hf.Ernie4_5_VLMoeProcessor(
        image_processor=hf.Ernie4_5_VLMoeImageProcessor(**GRID, size=PIXELS), tokenizer=made, chat_template=template,
        video_processor=hf.Ernie4_5_VLMoeVideoProcessor(**GRID, size=PIXELS, draw_on_frames=False),
    )  # fmt: skip
    return save(folder, lambda: hf.Ernie4_5_VLMoeForConditionalGeneration(config), processor)


def llama4(folder: Path) -> Path:
    template = chat(*CHATML, {"image": "<|image|>"})
    marks = (
        "<|image|>",
        "<|image_start|>",
        "<|image_end|>",
        "<|patch|>",
        "<|tile_x_separator|>",
        "<|tile_y_separator|>",
    )
    made = words(marks, template)
    config = hf.Llama4Config(
        text_config={
            **TEXT, **ids_of(made), **HEADS_OF_16, "intermediate_size_mlp": 32, "num_local_experts": 2,
            "interleave_moe_layer_step": 2, "attention_chunk_size": 64, "no_rope_layers": [1, 0],
        },
        vision_config={
            **VISION, "intermediate_size": 64, "vision_output_dim": 32, "projector_input_dim": 32,
            "projector_output_dim": 32, "pixel_shuffle_ratio": 0.5,
        },
        image_token_index=id_of(made, "<|patch|>"), boi_token_index=id_of(made, "<|image_start|>"),
        eoi_token_index=id_of(made, "<|image_end|>"),
    )  # fmt: skip
    processor = hf.Llama4Processor(
        image_processor=hf.Llama4ImageProcessor(size=SQUARE, image_mean=HALF, image_std=HALF, max_patches=4),
        tokenizer=made, patch_size=PATCH, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.Llama4ForConditionalGeneration(config), processor)


APART: dict[str, Callable[[Path], Path]] = {"ernie4_5_vl_moe": ernie, "llama4": llama4}
