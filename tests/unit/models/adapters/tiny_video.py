"""Tiny checkpoints of every native class that `config/models` names, with the library's own processors."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import transformers as hf
from training.tokenizer import build_tokenizer

from tests.unit.models.adapters.tiny import HALF, MANY_WORDS, PATCH, SQUARE, TOWER, ids_of, llava, once, qwen2_vl, save

CONTEXT = 8192
TEXT = {**TOWER, "num_key_value_heads": 2, "vocab_size": MANY_WORDS, "max_position_embeddings": CONTEXT}
HEADS_OF_16 = {"hidden_size": 32, "num_key_value_heads": 2, "head_dim": 16}
MROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}
GRID = {"patch_size": PATCH, "image_mean": HALF, "image_std": HALF}
PIXELS = {"shortest_edge": 32 * 32, "longest_edge": 96 * 96}
FIXED = {"size": SQUARE, "crop_size": SQUARE, "image_mean": HALF, "image_std": HALF}
VISION = {**TOWER, "image_size": 32, "patch_size": PATCH}
DEEP = {
    "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": PATCH, "out_hidden_size": 32,
}  # fmt: skip
OF_THE_CLIP = {"shortest_edge": 32 * 32, "longest_edge": 80 * 64 * 64}


def chat(start: str, end: str, marks: dict[str, str]) -> str:
    """A chat template with one mark for each kind of content."""
    parts = "".join(
        f"{{% {'elif' if at else 'if'} part['type'] == '{kind}' %}}{mark}"
        for at, (kind, mark) in enumerate(marks.items())
    )
    turn, answer = start.format(role="{{ message['role'] }}"), start.format(role="assistant")
    return (
        f"{{% for message in messages %}}{turn}"
        f"{{% for part in message['content'] %}}{parts}{{% else %}}{{{{ part['text'] }}}}{{% endif %}}{{% endfor %}}"
        f"{end}{{% endfor %}}{{% if add_generation_prompt %}}{answer}{{% endif %}}"
    )


CHATML = ("<|im_start|>{role}\n", "<|im_end|>\n")
QWEN_MARKS = {
    "video": "<|vision_start|><|video_pad|><|vision_end|>",
    "image": "<|vision_start|><|image_pad|><|vision_end|>",
}
QWEN_WORDS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
# As the public Vicuna-style checkpoints have it: a role in capitals, and no tokens of its own.
PLAIN = ("{role}: ", " ")


@cache
def _vocabulary() -> str:
    return str(build_tokenizer().backend_tokenizer.to_str())


def words(marks: tuple[str, ...] = (), template: str | None = None, **named: str) -> Any:
    """The toy world's words with the marks of a family, some of which its tokenizer knows by a name."""
    from tokenizers import Tokenizer

    made = hf.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_vocabulary()), pad_token="<|endoftext|>", eos_token="<|im_end|>",
        extra_special_tokens=named,
    )  # fmt: skip
    made.add_tokens([*marks, *named.values()], special_tokens=True)
    made.chat_template = template
    return made


def _llama(made: Any, **more: Any) -> dict[str, Any]:
    return {**TEXT, **ids_of(made), "model_type": "llama", **more}


def _clip(**more: Any) -> dict[str, Any]:
    return {**VISION, "model_type": "clip_vision_model", **more}


def id_of(made: Any, mark: str) -> int:
    return int(made.convert_tokens_to_ids(mark))


def qwen_ids(made: Any) -> dict[str, int]:
    return {
        "vision_start_token_id": id_of(made, "<|vision_start|>"), "vision_end_token_id": id_of(made, "<|vision_end|>"),
        "image_token_id": id_of(made, "<|image_pad|>"), "video_token_id": id_of(made, "<|video_pad|>"),
    }  # fmt: skip


def qwen(folder: Path, kind: str, text: dict[str, Any], vision: dict[str, Any], videos: Any) -> Path:
    """A class of the family of Qwen-VL with its processor, or that of an earlier one."""
    template = chat(*CHATML, QWEN_MARKS)
    made = words(QWEN_WORDS, template)
    config = getattr(hf, f"{kind}Config")(
        text_config={**TEXT, **ids_of(made), **HEADS_OF_16, **text}, vision_config={**DEEP, **vision}, **qwen_ids(made)
    )
    processor = getattr(hf, f"{kind.replace('3_5', '3VL')}Processor")(
        image_processor=hf.Qwen2VLImageProcessor(**GRID, size=PIXELS), tokenizer=made, video_processor=videos,
        chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: getattr(hf, f"{kind}ForConditionalGeneration")(config), processor)


@once
def qwen2_5_vl(folder: Path) -> Path:
    vision = {"fullatt_block_indexes": [1], "window_size": 32, "tokens_per_second": 2}
    videos = hf.Qwen2VLVideoProcessor(**GRID, size=PIXELS)
    return qwen(folder, "Qwen2_5_VL", {"rope_parameters": MROPE}, vision, videos)


@once
def qwen3_vl(folder: Path) -> Path:
    text, vision = {"rope_parameters": {**MROPE, "mrope_interleaved": True}}, {"deepstack_visual_indexes": [0]}
    videos = hf.Qwen3VLVideoProcessor(**GRID, size=OF_THE_CLIP)
    return qwen(folder, "Qwen3VL", text, {**vision, "num_position_embeddings": 64}, videos)


@once
def internvl(folder: Path) -> Path:
    template = chat(*CHATML, {"video": "<video>\n", "image": "<IMG_CONTEXT>\n"})
    made = words(
        (), template, start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )  # fmt: skip
    config = hf.InternVLConfig(
        text_config={**TEXT, **ids_of(made), "model_type": "qwen2"},
        vision_config={**TOWER, "image_size": [32, 32], "patch_size": [PATCH, PATCH]},
        image_token_id=id_of(made, "<IMG_CONTEXT>"), image_seq_length=4,
    )  # fmt: skip
    shared = {"size": SQUARE, "image_mean": HALF, "image_std": HALF}
    processor = hf.InternVLProcessor(
        image_processor=hf.GotOcr2ImageProcessor(**shared), tokenizer=made,
        video_processor=hf.InternVLVideoProcessor(**shared), image_seq_length=4, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.InternVLForConditionalGeneration(config), processor)


@once
def video_llava(folder: Path) -> Path:
    template = chat(*PLAIN, {"video": "<video>\n", "image": "<image>\n"})
    made = words((), template)
    config = hf.VideoLlavaConfig(
        text_config=_llama(made), vision_config=_clip(), image_token_index=id_of(made, "<image>"),
        video_token_index=id_of(made, "<video>"), video_seq_length=17 * 8, image_seq_length=17,
        vision_feature_select_strategy="full",
    )  # fmt: skip
    processor = hf.VideoLlavaProcessor(
        image_processor=hf.VideoLlavaImageProcessor(**FIXED), tokenizer=made,
        video_processor=hf.VideoLlavaVideoProcessor(**FIXED), patch_size=PATCH,
        vision_feature_select_strategy="full", num_additional_image_tokens=1, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.VideoLlavaForConditionalGeneration(config), processor)


@once
def llava_next_video(folder: Path) -> Path:
    template = chat(*PLAIN, {"video": "<video>\n", "image": "<image>\n"})
    made = words((), template)
    pins = [[32, 64], [64, 32], [64, 64]]
    config = hf.LlavaNextVideoConfig(
        text_config=_llama(made), vision_config=_clip(), image_token_index=id_of(made, "<image>"),
        video_token_index=id_of(made, "<video>"), image_grid_pinpoints=pins,
    )  # fmt: skip
    processor = hf.LlavaNextVideoProcessor(
        video_processor=hf.LlavaNextVideoVideoProcessor(**FIXED),
        image_processor=hf.LlavaNextImageProcessor(**FIXED, image_grid_pinpoints=pins), tokenizer=made,
        patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.LlavaNextVideoForConditionalGeneration(config), processor)


@once
def video_llama_3(folder: Path) -> Path:
    template = chat(*CHATML, {"video": "<|video_pad|>\n", "image": "<|image_pad|>\n"})
    made = words(("<|image_pad|>", "<|video_pad|>"), template)
    config = hf.VideoLlama3Config(
        text_config={**TEXT, **ids_of(made), "model_type": "qwen2"}, vision_config={**TOWER, "patch_size": PATCH},
        image_token_id=id_of(made, "<|image_pad|>"), video_token_id=id_of(made, "<|video_pad|>"),
    )  # fmt: skip
    processor = hf.VideoLlama3Processor(
        image_processor=hf.VideoLlama3ImageProcessor(**GRID, size=PIXELS), tokenizer=made,
        video_processor=hf.VideoLlama3VideoProcessor(**GRID, size=OF_THE_CLIP), chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.VideoLlama3ForConditionalGeneration(config), processor)


@once
def smolvlm(folder: Path) -> Path:
    template = chat(*PLAIN, {"image": "<image>", "video": "<video>"})
    made = words(
        ("<end_of_utterance>",), template, fake_image_token="<fake_token_around_image>", image_token="<image>",
        global_image_token="<global-img>", end_of_utterance_token="<end_of_utterance>", video_token="<video>",
    )  # fmt: skip
    config = hf.SmolVLMConfig(
        text_config=_llama(made), vision_config={**VISION, "model_type": "smolvlm_vision"},
        image_token_id=id_of(made, "<image>"), scale_factor=2,
    )  # fmt: skip
    edges = {
        "size": {"longest_edge": 64},
        "max_image_size": {"longest_edge": 32},
        "image_mean": HALF,
        "image_std": HALF,
    }
    processor = hf.SmolVLMProcessor(
        image_processor=hf.SmolVLMImageProcessor(**edges), tokenizer=made,
        video_processor=hf.SmolVLMVideoProcessor(**edges, fps=1, num_frames=8), image_seq_len=4, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.SmolVLMForConditionalGeneration(config), processor)


GLM = ("<|image|>", "<|video|>", "<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>")
GLM_MARKS = {
    "video": "<|begin_of_video|><|video|><|end_of_video|>",
    "image": "<|begin_of_image|><|image|><|end_of_image|>",
}


def glm_ids(made: Any) -> dict[str, int]:
    return {
        "image_token_id": id_of(made, GLM[0]), "video_token_id": id_of(made, GLM[1]),
        "image_start_token_id": id_of(made, GLM[2]), "image_end_token_id": id_of(made, GLM[3]),
        "video_start_token_id": id_of(made, GLM[4]), "video_end_token_id": id_of(made, GLM[5]),
    }  # fmt: skip


def _glm(folder: Path, kind: str, text: dict[str, str], vision: dict[str, str]) -> Path:
    template = chat("<|{role}|>\n", "", GLM_MARKS)
    made = words(GLM, template)
    rope = {"hidden_size": 32, "rope_parameters": {**MROPE, "partial_rotary_factor": 1.0}}
    config = getattr(hf, f"{kind}Config")(
        text_config={**TEXT, **ids_of(made), **rope, **text}, vision_config={**DEEP, "image_size": 32, **vision},
        **glm_ids(made),
    )  # fmt: skip
    processor = getattr(hf, f"{kind}Processor")(
        image_processor=getattr(hf, f"{kind}ImageProcessor")(**GRID, size=PIXELS), tokenizer=made,
        video_processor=getattr(hf, f"{kind}VideoProcessor")(**GRID, size=OF_THE_CLIP), chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: getattr(hf, f"{kind}ForConditionalGeneration")(config), processor)


@once
def glm4v(folder: Path) -> Path:
    return _glm(folder, "Glm4v", {}, {})


@once
def glm46v(folder: Path) -> Path:
    return _glm(folder, "Glm46V", {"model_type": "glm4v_text"}, {"model_type": "glm4v_vision"})


ERNIE = {
    f"{kind}_{part}token": f"<|{kind.upper()}_{part.upper()}|>"
    for kind in ("image", "video")
    for part in ("", "start_", "end_")
}


@once
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
        vision_config=DEEP,
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


# --- classes that take images only -----------------------------------------------------------------------------------


@once
def llava_1_5(folder: Path) -> Path:
    template = chat(*PLAIN, {"image": "<image>\n"})
    made = words((), template)
    config = hf.LlavaConfig(
        text_config=_llama(made), vision_config=_clip(), image_token_index=id_of(made, "<image>"), image_seq_length=16,
    )  # fmt: skip
    processor = hf.LlavaProcessor(
        image_processor=hf.CLIPImageProcessor(**FIXED), tokenizer=made, patch_size=PATCH,
        vision_feature_select_strategy="default", num_additional_image_tokens=1, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.LlavaForConditionalGeneration(config), processor)


@once
def llava_next(folder: Path) -> Path:
    template = chat(*PLAIN, {"image": "<image>\n"})
    made = words((), template)
    pins = [[32, 64], [64, 32], [64, 64]]
    config = hf.LlavaNextConfig(
        text_config=_llama(made), vision_config=_clip(), image_token_index=id_of(made, "<image>"),
        image_grid_pinpoints=pins, image_seq_length=16,
    )  # fmt: skip
    processor = hf.LlavaNextProcessor(
        image_processor=hf.LlavaNextImageProcessor(**{**FIXED, "size": {"shortest_edge": 32}}, image_grid_pinpoints=pins),
        tokenizer=made, patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.LlavaNextForConditionalGeneration(config), processor)


@once
def idefics2(folder: Path) -> Path:
    template = chat("{role}: ", "<end_of_utterance>\n", {"image": "<image>"})
    made = words(("<fake_token_around_image>", "<end_of_utterance>"), template)
    config = hf.Idefics2Config(
        text_config={**TEXT, **ids_of(made), "model_type": "mistral"}, vision_config=VISION,
        perceiver_config={"hidden_size": 16, "resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 2, "resampler_head_dim": 8, "num_key_value_heads": 1},
        image_token_id=id_of(made, "<image>"),
    )  # fmt: skip
    edges = {"shortest_edge": 32, "longest_edge": 48}
    processor = hf.Idefics2Processor(
        image_processor=hf.Idefics2ImageProcessor(size=edges, image_mean=HALF, image_std=HALF, do_image_splitting=True),
        tokenizer=made, image_seq_len=4, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.Idefics2ForConditionalGeneration(config), processor)


@once
def aria(folder: Path) -> Path:
    template = chat(*CHATML, {"image": "<fim_prefix><|img|><fim_suffix>"})
    made = words(("<fim_prefix>", "<fim_suffix>"), template, image_token="<|img|>", unk_token="<unk>")
    config = hf.AriaConfig(
        text_config={**_llama(made), "model_type": "aria_text", "moe_num_experts": 4, "moe_topk": 2},
        vision_config={**VISION, "image_size": 490, "patch_size": 70, "model_type": "idefics3_vision"},
        projector_patch_to_query_dict={49: 4, 196: 8}, image_token_index=id_of(made, "<|img|>"),
    )  # fmt: skip
    processor = hf.AriaProcessor(
        image_processor=hf.AriaImageProcessor(image_mean=HALF, image_std=HALF, max_image_size=490),
        tokenizer=made, size_conversion={490: 4, 980: 8}, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.AriaForConditionalGeneration(config), processor)


@once
def gemma3(folder: Path) -> Path:
    template = chat("<start_of_turn>{role}\n", "<end_of_turn>\n", {"image": "<start_of_image>"})
    made = words(
        ("<start_of_turn>", "<end_of_turn>"), template, image_token="<image_soft_token>", boi_token="<start_of_image>",
        eoi_token="<end_of_image>",
    )  # fmt: skip
    config = hf.Gemma3Config(
        text_config={**TEXT, **ids_of(made), **HEADS_OF_16, "query_pre_attn_scalar": 16, "sliding_window": 64},
        vision_config={**VISION, "vision_use_head": False}, mm_tokens_per_image=4,
        boi_token_index=id_of(made, "<start_of_image>"), eoi_token_index=id_of(made, "<end_of_image>"),
        image_token_index=id_of(made, "<image_soft_token>"),
    )  # fmt: skip
    processor = hf.Gemma3Processor(
        image_processor=hf.Gemma3ImageProcessor(size=SQUARE, image_mean=HALF, image_std=HALF), tokenizer=made,
        image_seq_length=4, chat_template=template,
    )  # fmt: skip
    return save(folder, lambda: hf.Gemma3ForConditionalGeneration(config), processor)


VIDEO: dict[str, Callable[[Path], Path]] = {
    "llava_onevision": llava, "qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl, "internvl": internvl,
    "video_llava": video_llava, "llava_next_video": llava_next_video, "video_llama_3": video_llama_3, "smolvlm": smolvlm,
    "glm4v": glm4v,
}  # fmt: skip
IMAGES: dict[str, Callable[[Path], Path]] = {
    "llava": llava_1_5, "llava_next": llava_next, "idefics2": idefics2, "aria": aria, "gemma3": gemma3,
}  # fmt: skip
MORE: dict[str, Callable[[Path], Path]] = {"glm46v": glm46v, "ernie4_5_vl_moe": ernie}
"""not in `config/models`"""
