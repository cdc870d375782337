"""Tiny checkpoints of newer native classes: frames as patches or side by side, pixels in half precision."""

from collections.abc import Callable
from pathlib import Path

import transformers as hf

from tests.unit.models.adapters.tiny import HALF, MANY_WORDS, PATCH, SQUARE, TOWER, ids_of, save
from tests.unit.models.adapters.tiny_video import (
    CHATML,
    GRID,
    HEADS_OF_16,
    MROPE,
    OF_THE_CLIP,
    TEXT,
    VISION,
    chat,
    id_of,
    qwen,
    words,
)

MOLMO = (
    "<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>", "<frame_start>", "<im_end>", "<frame_end>", "<im_low>",
)  # fmt: skip


def qwen3_5(folder: Path) -> Path:
    linear = {
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
    }
    rope = {"rope_parameters": {**MROPE, "mrope_interleaved": True, "partial_rotary_factor": 1.0}}
    videos = hf.Qwen3VLVideoProcessor(**GRID, size=OF_THE_CLIP)
    return qwen(folder, "Qwen3_5", {"num_hidden_layers": 4, **linear, **rope}, {"num_position_embeddings": 64}, videos)


def molmo2(folder: Path) -> Path:
    template = chat(*CHATML, {"video": "<|video|>", "image": "<|image|>"})
    made = words(MOLMO, template, image_token="<|image|>", video_token="<|video|>")
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    config = hf.Molmo2Config(
        text_config={**TEXT, **ids_of(made), **HEADS_OF_16, "additional_vocab_size": 8},
        vision_config={**VISION, **heads, "image_size": [32, 32]},
        adapter_config={
            **heads, "vision_feature_layer": [1, 0], "hidden_size": 16, "intermediate_size": 32, "text_hidden_size": 32,
        },
        image_start_token_id=id_of(made, "<im_start>"), image_end_token_id=id_of(made, "<im_end>"),
        low_res_image_start_token_id=id_of(made, "<low_res_im_start>"), image_patch_id=id_of(made, "<im_patch>"),
        frame_start_token_id=id_of(made, "<frame_start>"), frame_end_token_id=id_of(made, "<frame_end>"),
    )  # fmt: skip
    shared = {"size": SQUARE, "patch_size": PATCH, "image_mean": HALF, "image_std": HALF}
    processor = hf.Molmo2Processor(
        image_processor=hf.Molmo2ImageProcessor(**shared), tokenizer=made, chat_template=template,
        video_processor=hf.Molmo2VideoProcessor(**shared, pooling_size=[2, 2], do_rescale=True, do_normalize=True),
    )  # fmt: skip
    return save(folder, lambda: hf.Molmo2ForConditionalGeneration(config), processor)


def gemma4(folder: Path) -> Path:
    template = chat("<|turn>{role}\n", "<turn|>\n", {"video": "<|video|>", "image": "<|image|>"})
    made = words(
        ("<|turn>", "<turn|>", "<|video|>"), template, image_token="<|image|>", boi_token="<|image>", eoi_token="<image|>",
        audio_token="<|audio|>", boa_token="<|audio>", eoa_token="<audio|>",
    )  # fmt: skip
    config = hf.Gemma4Config(
        text_config={
            **TEXT, **ids_of(made), **HEADS_OF_16, "global_head_dim": 16, "vocab_size_per_layer_input": MANY_WORDS,
            "hidden_size_per_layer_input": 8, "sliding_window": 64,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={
            **TOWER, "num_key_value_heads": 2, "head_dim": 8, "patch_size": PATCH, "pooling_kernel_size": 3,
            "position_embedding_size": 1024,
        },
        audio_config=None, boi_token_id=id_of(made, "<|image>"), eoi_token_id=id_of(made, "<image|>"),
        image_token_id=id_of(made, "<|image|>"), video_token_id=id_of(made, "<|video|>"),
    )  # fmt: skip
    shared = {"patch_size": PATCH, "pooling_kernel_size": 3, "max_soft_tokens": 70}
    processor = hf.Gemma4Processor(
        feature_extractor=hf.Gemma4AudioFeatureExtractor(), image_processor=hf.Gemma4ImageProcessor(**shared),
        tokenizer=made, video_processor=hf.Gemma4VideoProcessor(**shared), chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.Gemma4ForConditionalGeneration(config), processor)


def minicpmv4_6(folder: Path) -> Path:
    template = chat(*CHATML, {"video": "<video>", "image": "<image_pad>"})
    made = words(
        (), template, image_token="<image_pad>", video_token="<video>", image_start_token="<image>",
        image_end_token="</image>", slice_start_token="<slice>", slice_end_token="</slice>",
        image_id_start_token="<image_id>", image_id_end_token="</image_id>",
    )  # fmt: skip
    config = hf.MiniCPMV4_6Config(
        text_config={**TEXT, **ids_of(made), **HEADS_OF_16, "model_type": "qwen2"},
        vision_config={**TOWER, "image_size": 64, "patch_size": PATCH}, insert_layer_id=0, image_size=64,
        image_token_id=id_of(made, "<image_pad>"), video_token_id=id_of(made, "<video>"),
    )  # fmt: skip
    shared = {"patch_size": PATCH, "scale_resolution": 64, "max_slice_nums": 4, "image_mean": HALF, "image_std": HALF}
    processor = hf.MiniCPMV4_6Processor(
        image_processor=hf.MiniCPMV4_6ImageProcessor(**shared), tokenizer=made, chat_template=template,
        video_processor=hf.MiniCPMV4_6VideoProcessor(**shared),
    )  # fmt: skip
    return save(folder, lambda: hf.MiniCPMV4_6ForConditionalGeneration(config), processor)


def llama4(folder: Path) -> Path:
    template = chat(*CHATML, {"image": "<|image|>"})
    marks = tuple(
        f"<|{name}|>"
        for name in ("image", "image_start", "image_end", "patch", *(f"tile_{at}_separator" for at in "xy"))
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


NEWER: dict[str, Callable[[Path], Path]] = {
    "qwen3_5": qwen3_5, "molmo2": molmo2, "gemma4": gemma4, "minicpmv4_6": minicpmv4_6, "llama4": llama4,
}  # fmt: skip
