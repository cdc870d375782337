"""Make tiny checkpoints of every native class in `config/models`, and of newer classes, with transformers' processors."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import transformers as hf
from training.tokenizer import build_tokenizer

from tests.unit.models.adapters.tiny import (
    LARGE_VOCABULARY,
    SQUARE,
    TRANSFORMER_SIZE,
    llava,
    make_once,
    save,
    special_token_ids,
)

TEXT = {**TRANSFORMER_SIZE, "num_key_value_heads": 2, "vocab_size": LARGE_VOCABULARY, "max_position_embeddings": 8192}
HEADS_OF_16 = {"hidden_size": 32, "num_key_value_heads": 2, "head_dim": 16}
MROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}
PATCH = 8
NORMALIZATION = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
PATCH_SETTINGS = {"patch_size": PATCH, **NORMALIZATION}
FRAME_PIXELS = {"shortest_edge": 32 * 32, "longest_edge": 96 * 96}
CLIP_PIXELS = {"shortest_edge": 32 * 32, "longest_edge": 80 * 64 * 64}
FIXED_SIZE = {"size": SQUARE, "crop_size": SQUARE, **NORMALIZATION}
VISION = {**TRANSFORMER_SIZE, "image_size": 32, "patch_size": PATCH}
CLIP_VISION = {**VISION, "model_type": "clip_vision_model"}
LLAMA_TEXT = {"model_type": "llama"}
QWEN_VISION = {"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": PATCH, "out_hidden_size": 32}  # fmt: skip
GRID_PINPOINTS = [[32, 64], [64, 32], [64, 64]]
LLAVA_PROCESSOR = {"patch_size": PATCH, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}


def chat(start: str, end: str, marker_by_type: dict[str, str]) -> str:
    """Return a chat template with one marker for each kind of content."""
    parts = "".join(
        f"{{% {'elif' if index else 'if'} part['type'] == '{content_type}' %}}{marker}"
        for index, (content_type, marker) in enumerate(marker_by_type.items())
    )
    turn, answer = start.format(role="{{ message['role'] }}"), start.format(role="assistant")
    return (
        f"{{% for message in messages %}}{turn}"
        f"{{% for part in message['content'] %}}{parts}{{% else %}}{{{{ part['text'] }}}}{{% endif %}}{{% endfor %}}"
        f"{end}{{% endfor %}}{{% if add_generation_prompt %}}{answer}{{% endif %}}"
    )


CHATML = ("<|im_start|>{role}\n", "<|im_end|>\n")
# The format of the public Vicuna-style checkpoints: a role in capitals, and no special tokens.
VICUNA = ("{role}: ", " ")


@cache
def _vocabulary() -> str:
    return str(build_tokenizer().backend_tokenizer.to_str())


def build_marker_tokenizer(markers: tuple[str, ...] = (), template: str | None = None, **named_markers: str) -> Any:
    """Return the toy world's tokenizer with the markers of a model family, some of which have names."""
    from tokenizers import Tokenizer

    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_vocabulary()), pad_token="<|endoftext|>", eos_token="<|im_end|>",
        extra_special_tokens=named_markers,
    )  # fmt: skip
    tokenizer.add_tokens([*markers, *named_markers.values()], special_tokens=True)
    tokenizer.chat_template = template
    return tokenizer


def save_native(
    folder: Path, class_prefix: str, tokenizer: Any, text: dict[str, Any], vision: dict[str, Any], config: dict[str, Any],
    processor: dict[str, Any],
) -> Path:  # fmt: skip
    """Save a checkpoint of a class; the id of a token replaces its `<...>` in the configuration."""
    config_with_ids = {
        name: tokenizer.convert_tokens_to_ids(value) if isinstance(value, str) and value[0] == "<" else value
        for name, value in config.items()
    }
    part_configs = {"text_config": {**TEXT, **special_token_ids(tokenizer), **text}, "vision_config": vision}
    full_config = getattr(hf, f"{class_prefix}Config")(**part_configs, **config_with_ids)
    processor_class = getattr(hf, f"{class_prefix}Processor")
    processor = {"tokenizer": tokenizer, "chat_template": tokenizer.chat_template, **processor}
    return save(
        folder,
        lambda: getattr(hf, f"{class_prefix}ForConditionalGeneration")(full_config),
        processor_class(**processor),
    )


# fmt: off
QWEN = {
    "vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>",
    "image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>",
}


def _qwen(folder: Path, kind: str, text: dict[str, Any], vision: dict[str, Any], videos: Any) -> Path:
    marks = {content_type: f"<|vision_start|><|{content_type}_pad|><|vision_end|>" for content_type in ("video", "image")}
    tokenizer = build_marker_tokenizer(tuple(QWEN.values()), chat(*CHATML, marks))
    parts = {"image_processor": hf.Qwen2VLImageProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS), "video_processor": videos}
    return save_native(folder, kind, tokenizer, {**HEADS_OF_16, **text}, {**QWEN_VISION, **vision}, QWEN, parts)


def qwen2_vl(folder: Path) -> Path:
    videos = hf.Qwen2VLVideoProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS, cap_pixels_per_frame=False)
    return _qwen(folder, "Qwen2VL", {"rope_parameters": MROPE}, {"embed_dim": 16, "mlp_ratio": 2}, videos)


def qwen2_5_vl(folder: Path) -> Path:
    vision = {"fullatt_block_indexes": [1], "window_size": 32, "tokens_per_second": 2}
    return _qwen(folder, "Qwen2_5_VL", {"rope_parameters": MROPE}, vision, hf.Qwen2VLVideoProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS))


def qwen3_vl(folder: Path) -> Path:
    text, vision = {"rope_parameters": {**MROPE, "mrope_interleaved": True}}, {"deepstack_visual_indexes": [0], "num_position_embeddings": 64}
    return _qwen(folder, "Qwen3VL", text, vision, hf.Qwen3VLVideoProcessor(**PATCH_SETTINGS, size=CLIP_PIXELS))


def internvl(folder: Path) -> Path:
    named_markers = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}
    tokenizer = build_marker_tokenizer((), chat(*CHATML, {"video": "<video>\n", "image": "<IMG_CONTEXT>\n"}), **named_markers)
    vision = {**TRANSFORMER_SIZE, "image_size": [32, 32], "patch_size": [PATCH, PATCH]}
    shared = {"size": SQUARE, **NORMALIZATION}
    parts = {"image_processor": hf.GotOcr2ImageProcessor(**shared), "video_processor": hf.InternVLVideoProcessor(**shared)}
    length = {"image_seq_length": 4}
    return save_native(folder, "InternVL", tokenizer, {"model_type": "qwen2"}, vision, {"image_token_id": "<IMG_CONTEXT>", **length}, parts | length)


def video_llava(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer((), chat(*VICUNA, {"video": "<video>\n", "image": "<image>\n"}))
    config = {
        "image_token_index": "<image>", "video_token_index": "<video>", "video_seq_length": 17 * 8, "image_seq_length": 17,
        "vision_feature_select_strategy": "full",
    }
    parts = {
        "image_processor": hf.VideoLlavaImageProcessor(**FIXED_SIZE), "video_processor": hf.VideoLlavaVideoProcessor(**FIXED_SIZE),
        **LLAVA_PROCESSOR, "vision_feature_select_strategy": "full",
    }
    return save_native(folder, "VideoLlava", tokenizer, LLAMA_TEXT, CLIP_VISION, config, parts)


def llava_next_video(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer((), chat(*VICUNA, {"video": "<video>\n", "image": "<image>\n"}))
    config = {"image_token_index": "<image>", "video_token_index": "<video>", "image_grid_pinpoints": GRID_PINPOINTS}
    images = hf.LlavaNextImageProcessor(**FIXED_SIZE, image_grid_pinpoints=GRID_PINPOINTS)
    parts = {"video_processor": hf.LlavaNextVideoVideoProcessor(**FIXED_SIZE), "image_processor": images, **LLAVA_PROCESSOR}
    return save_native(folder, "LlavaNextVideo", tokenizer, LLAMA_TEXT, CLIP_VISION, config, parts)


def video_llama_3(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer(("<|image_pad|>", "<|video_pad|>"), chat(*CHATML, {"video": "<|video_pad|>\n", "image": "<|image_pad|>\n"}))
    config = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"}
    images = hf.VideoLlama3ImageProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS)
    parts = {"image_processor": images, "video_processor": hf.VideoLlama3VideoProcessor(**PATCH_SETTINGS, size=CLIP_PIXELS)}
    return save_native(folder, "VideoLlama3", tokenizer, {"model_type": "qwen2"}, {**TRANSFORMER_SIZE, "patch_size": PATCH}, config, parts)


def smolvlm(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer(
        ("<end_of_utterance>",), chat(*VICUNA, {"image": "<image>", "video": "<video>"}), video_token="<video>", image_token="<image>",
        fake_image_token="<fake_token_around_image>", global_image_token="<global-img>", end_of_utterance_token="<end_of_utterance>",
    )
    edges = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}, **NORMALIZATION}
    videos = hf.SmolVLMVideoProcessor(**edges, fps=1, num_frames=8)
    parts = {"image_processor": hf.SmolVLMImageProcessor(**edges), "video_processor": videos, "image_seq_len": 4}
    vision = {**VISION, "model_type": "smolvlm_vision"}
    return save_native(folder, "SmolVLM", tokenizer, LLAMA_TEXT, vision, {"image_token_id": "<image>", "scale_factor": 2}, parts)


GLM = {
    "image_token_id": "<|image|>", "video_token_id": "<|video|>",
    "image_start_token_id": "<|begin_of_image|>", "image_end_token_id": "<|end_of_image|>",
    "video_start_token_id": "<|begin_of_video|>", "video_end_token_id": "<|end_of_video|>",
}


def _glm(folder: Path, kind: str, text: dict[str, str], vision: dict[str, str]) -> Path:
    marks = {content_type: f"<|begin_of_{content_type}|><|{content_type}|><|end_of_{content_type}|>" for content_type in ("video", "image")}
    rope = {"hidden_size": 32, "rope_parameters": {**MROPE, "partial_rotary_factor": 1.0}}
    parts = {
        "image_processor": getattr(hf, f"{kind}ImageProcessor")(**PATCH_SETTINGS, size=FRAME_PIXELS),
        "video_processor": getattr(hf, f"{kind}VideoProcessor")(**PATCH_SETTINGS, size=CLIP_PIXELS),
    }
    tokenizer = build_marker_tokenizer(tuple(GLM.values()), chat("<|{role}|>\n", "", marks))
    return save_native(folder, kind, tokenizer, {**rope, **text}, {**QWEN_VISION, "image_size": 32, **vision}, GLM, parts)


def glm4v(folder: Path) -> Path:
    return _glm(folder, "Glm4v", {}, {})


def glm46v(folder: Path) -> Path:
    return _glm(folder, "Glm46V", {"model_type": "glm4v_text"}, {"model_type": "glm4v_vision"})


def ernie(folder: Path) -> Path:
    """Make an ERNIE-4.5-VL, which selects the expert of each token by a tensor as long as the question."""
    named_markers = {f"{content_type}_{part}token": f"<|{content_type.upper()}_{part.upper()}|>" for content_type in ("image", "video") for part in ("", "start_", "end_")}
    marks = {content_type: "".join(named_markers[f"{content_type}_{part}token"] for part in ("start_", "", "end_")) for content_type in ("image", "video")}
    text = {
        **HEADS_OF_16, "moe_intermediate_size": [16, 8], "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1,
        "rope_parameters": {**MROPE, "mrope_section": [3, 3, 2]}, "mlp_layer_types": ["dense", "sparse"],
    }
    videos = hf.Ernie4_5_VLMoeVideoProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS, draw_on_frames=False)
    parts = {"image_processor": hf.Ernie4_5_VLMoeImageProcessor(**PATCH_SETTINGS, size=FRAME_PIXELS), "video_processor": videos}
    tokenizer = build_marker_tokenizer((), chat(*CHATML, marks), **named_markers)
    return save_native(folder, "Ernie4_5_VLMoe", tokenizer, text, QWEN_VISION, {f"{name}_id": mark for name, mark in named_markers.items()}, parts)


def molmo2(folder: Path) -> Path:
    """Make a Molmo2, which passes frames as patches without a grid."""
    config = {
        "image_start_token_id": "<im_start>", "image_end_token_id": "<im_end>", "low_res_image_start_token_id": "<low_res_im_start>",
        "image_patch_id": "<im_patch>", "frame_start_token_id": "<frame_start>", "frame_end_token_id": "<frame_end>",
    }
    tokenizer = build_marker_tokenizer(
        ("<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>", "<frame_start>", "<im_end>", "<frame_end>", "<im_low>"),
        chat(*CHATML, {"video": "<|video|>", "image": "<|image|>"}), image_token="<|image|>", video_token="<|video|>",
    )
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    config["adapter_config"] = {**heads, "vision_feature_layer": [1, 0], "hidden_size": 16, "intermediate_size": 32, "text_hidden_size": 32}
    shared = {"size": SQUARE, **PATCH_SETTINGS}
    videos = hf.Molmo2VideoProcessor(**shared, pooling_size=[2, 2], do_rescale=True, do_normalize=True)
    parts = {"image_processor": hf.Molmo2ImageProcessor(**shared), "video_processor": videos}
    text, vision = {**HEADS_OF_16, "additional_vocab_size": 8}, {**VISION, **heads, "image_size": [32, 32]}
    return save_native(folder, "Molmo2", tokenizer, text, vision, config, parts)


def minicpmv4_6(folder: Path) -> Path:
    """Make a MiniCPM-V, which concatenates pictures."""
    tokenizer = build_marker_tokenizer(
        (), chat(*CHATML, {"video": "<video>", "image": "<image_pad>"}), image_token="<image_pad>", video_token="<video>",
        image_start_token="<image>", image_end_token="</image>", slice_start_token="<slice>", slice_end_token="</slice>",
        image_id_start_token="<image_id>", image_id_end_token="</image_id>",
    )
    config = {"insert_layer_id": 0, "image_size": 64, "image_token_id": "<image_pad>", "video_token_id": "<video>"}
    shared = {"scale_resolution": 64, "max_slice_nums": 4, **PATCH_SETTINGS}
    parts = {"image_processor": hf.MiniCPMV4_6ImageProcessor(**shared), "video_processor": hf.MiniCPMV4_6VideoProcessor(**shared)}
    vision = {**TRANSFORMER_SIZE, "image_size": 64, "patch_size": PATCH}
    return save_native(folder, "MiniCPMV4_6", tokenizer, {**HEADS_OF_16, "model_type": "qwen2"}, vision, config, parts)


# --- classes that take images only -----------------------------------------------------------------------------------


def llama4(folder: Path) -> Path:
    """Make a Llama 4, which has pixels in half precision."""
    marks = ("<|image|>", "<|image_start|>", "<|image_end|>", "<|patch|>", "<|tile_x_separator|>", "<|tile_y_separator|>")
    tokenizer = build_marker_tokenizer(marks, chat(*CHATML, {"image": "<|image|>"}))
    text = {
        **HEADS_OF_16, "intermediate_size_mlp": 32, "num_local_experts": 2, "interleave_moe_layer_step": 2, "attention_chunk_size": 64,
        "no_rope_layers": [1, 0],
    }
    vision = {
        **VISION, "intermediate_size": 64, "vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32,
        "pixel_shuffle_ratio": 0.5,
    }
    config = {"image_token_index": "<|patch|>", "boi_token_index": "<|image_start|>", "eoi_token_index": "<|image_end|>"}
    parts = {"image_processor": hf.Llama4ImageProcessor(size=SQUARE, **NORMALIZATION, max_patches=4), "patch_size": PATCH}
    return save_native(folder, "Llama4", tokenizer, text, vision, config, parts)


def llava_1_5(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer((), chat(*VICUNA, {"image": "<image>\n"}))
    config = {"image_token_index": "<image>", "image_seq_length": 16}
    return save_native(folder, "Llava", tokenizer, LLAMA_TEXT, CLIP_VISION, config, {"image_processor": hf.CLIPImageProcessor(**FIXED_SIZE), **LLAVA_PROCESSOR})


def llava_next(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer((), chat(*VICUNA, {"image": "<image>\n"}))
    config = {"image_token_index": "<image>", "image_grid_pinpoints": GRID_PINPOINTS, "image_seq_length": 16}
    images = hf.LlavaNextImageProcessor(**{**FIXED_SIZE, "size": {"shortest_edge": 32}}, image_grid_pinpoints=GRID_PINPOINTS)
    return save_native(folder, "LlavaNext", tokenizer, LLAMA_TEXT, CLIP_VISION, config, {"image_processor": images, **LLAVA_PROCESSOR})


def idefics2(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer(("<fake_token_around_image>", "<end_of_utterance>"), chat("{role}: ", "<end_of_utterance>\n", {"image": "<image>"}))
    sampler = {
        "hidden_size": 16, "resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 2, "resampler_head_dim": 8,
        "num_key_value_heads": 1,
    }
    config = {"perceiver_config": sampler, "image_token_id": "<image>"}
    images = hf.Idefics2ImageProcessor(size={"shortest_edge": 32, "longest_edge": 48}, **NORMALIZATION, do_image_splitting=True)
    return save_native(folder, "Idefics2", tokenizer, {"model_type": "mistral"}, VISION, config, {"image_processor": images, "image_seq_len": 4})


def aria(folder: Path) -> Path:
    tokenizer = build_marker_tokenizer(("<fim_prefix>", "<fim_suffix>"), chat(*CHATML, {"image": "<fim_prefix><|img|><fim_suffix>"}), image_token="<|img|>", unk_token="<unk>")
    text = {"model_type": "aria_text", "moe_num_experts": 4, "moe_topk": 2}
    vision = {**VISION, "image_size": 490, "patch_size": 70, "model_type": "idefics3_vision"}
    config = {"projector_patch_to_query_dict": {49: 4, 196: 8}, "image_token_index": "<|img|>"}
    images = hf.AriaImageProcessor(**NORMALIZATION, max_image_size=490)
    return save_native(folder, "Aria", tokenizer, text, vision, config, {"image_processor": images, "size_conversion": {490: 4, 980: 8}})


def gemma3(folder: Path) -> Path:
    template = chat("<start_of_turn>{role}\n", "<end_of_turn>\n", {"image": "<start_of_image>"})
    named_markers = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = build_marker_tokenizer(("<start_of_turn>", "<end_of_turn>"), template, **named_markers)
    config = {"mm_tokens_per_image": 4, **{f"{name}_index": mark for name, mark in named_markers.items()}}
    images = hf.Gemma3ImageProcessor(size=SQUARE, **NORMALIZATION)
    text = {**HEADS_OF_16, "query_pre_attn_scalar": 16, "sliding_window": 64}
    vision = {**VISION, "vision_use_head": False}
    return save_native(folder, "Gemma3", tokenizer, text, vision, config, {"image_processor": images, "image_seq_length": 4})


def _make_all_once(maker_by_name: dict[str, Callable[[Path], Path]]) -> dict[str, Callable[[Path], Path]]:
    return {name: make_once(make) for name, make in maker_by_name.items()}


VIDEO_CLASSES = _make_all_once({
    "llava_onevision": llava, "qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl, "internvl": internvl,
    "video_llava": video_llava, "llava_next_video": llava_next_video, "video_llama_3": video_llama_3, "smolvlm": smolvlm, "glm4v": glm4v,
})
IMAGE_CLASSES = _make_all_once({"llava": llava_1_5, "llava_next": llava_next, "idefics2": idefics2, "aria": aria, "gemma3": gemma3})
# Classes that `config/models` does not name.
UNLISTED_CLASSES = _make_all_once({"glm46v": glm46v, "ernie4_5_vl_moe": ernie, "molmo2": molmo2, "minicpmv4_6": minicpmv4_6, "llama4": llama4})
