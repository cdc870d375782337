"""Build LLaVA-OneVision and Qwen2-VL with random weights, in small shapes for a CPU and in those of the 7B models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from reprise.models.local.torch_setup import torch

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForImageTextToText,
    LlavaOnevisionConfig,
    LlavaOnevisionImageProcessor,
    LlavaOnevisionProcessor,
    LlavaOnevisionVideoProcessor,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2VLConfig,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
    SiglipVisionConfig,
)

from bench.words import sentence

WORDS = 4096  # Size of the tokenizer's vocabulary.
SPECIAL_TOKENS = ("<|im_start|>", "<|im_end|>", "<|pad|>", "<image>", "<video>", "<|vision_start|>", "<|vision_end|>",
         "<|image_pad|>", "<|video_pad|>")  # fmt: skip
# Chat template in which each family replaces VIDEO and IMAGE by its own marks.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'video' %}VIDEO{% elif part['type'] == 'image' %}IMAGE"
    "{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HALF = [0.5, 0.5, 0.5]  # Mean and standard deviation of the three colours, by which pictures are normalised.


@dataclass(frozen=True)
class Size:
    """Shapes of a language model and of the vision towers beside it."""

    text: dict[str, Any]
    """configuration of the language model"""
    siglip: dict[str, Any]
    """configuration of LLaVA-OneVision's vision tower"""
    qwen: dict[str, Any]
    """configuration of Qwen2-VL's vision tower"""
    side: int
    """width and height of a frame for SigLIP, in pixels"""
    pixels: int
    """maximum number of pixels of a frame for Qwen2-VL"""
    rope: tuple[int, int, int]
    """sections of Qwen2-VL's rotary embedding for time, height and width"""
    std: float
    """standard deviation of the random weights"""


SMALL_SIZE = Size(
    text={"hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 8, "num_attention_heads": 8,
          "num_key_value_heads": 2, "vocab_size": WORDS, "tie_word_embeddings": True},
    siglip={"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 4},
    qwen={"depth": 4, "embed_dim": 192, "num_heads": 4, "mlp_ratio": 4, "hidden_size": 512},
    side=224, pixels=224 * 224, rope=(8, 12, 12), std=0.06,
)  # fmt: skip
TINY_SIZE = Size(
    text=SMALL_SIZE.text
    | {"hidden_size": 128, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 2},
    siglip={"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
    qwen={"depth": 1, "embed_dim": 32, "num_heads": 2, "mlp_ratio": 1, "hidden_size": 128},
    side=56, pixels=56 * 56, rope=(8, 12, 12), std=0.06,
)  # fmt: skip
# From the configurations of llava-onevision-qwen2-7b-ov and Qwen2-VL-7B-Instruct.
SIZE_7B = Size(
    text={"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
          "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False},
    siglip={"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 26, "num_attention_heads": 16},
    qwen={"depth": 32, "embed_dim": 1280, "num_heads": 16, "mlp_ratio": 4, "hidden_size": 3584},
    side=384, pixels=364 * 644, rope=(16, 24, 24), std=0.02,
)  # fmt: skip


def tokenizer(special_tokens: Mapping[str, str] | None = None) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer on made-up sentences; `special_tokens` maps attribute names to extra tokens."""
    random = Random(0)  # noqa: S311
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    texts = ["Yes No Carefully watch the video and pay attention.", *(sentence(random, 20) for _ in range(2000))]
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS - len(SPECIAL_TOKENS) - len(special_tokens or ()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.add_special_tokens([AddedToken(mark, special=True) for mark in SPECIAL_TOKENS])
    fast_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|pad|>",  # noqa: S106
        extra_special_tokens=dict(special_tokens or {}),
    )  # fmt: skip
    fast_tokenizer.add_tokens(list((special_tokens or {}).values()), special_tokens=True)
    return fast_tokenizer


def _llava(size: Size, tokenizer: Any) -> tuple[Any, Any]:
    """Return the configuration and the processor of LLaVA-OneVision."""
    tokens = (size.side // 14) ** 2
    config = LlavaOnevisionConfig(
        vision_config=SiglipVisionConfig(**size.siglip, image_size=size.side, patch_size=14, vision_use_head=False),
        text_config=Qwen2Config(
            **size.text, max_position_embeddings=32768, initializer_range=size.std, **special_token_ids(tokenizer)
        ),
        vision_feature_layer=-1, vision_feature_select_strategy="full", image_grid_pinpoints=[[size.side, size.side]],
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        tie_word_embeddings=size.text["tie_word_embeddings"],
    )  # fmt: skip
    shape = {"size": {"height": size.side, "width": size.side}, "image_mean": HALF, "image_std": HALF}
    template = TEMPLATE.replace("VIDEO", "<video>").replace("IMAGE", "<image>")
    processor = LlavaOnevisionProcessor(
        image_processor=LlavaOnevisionImageProcessor(**shape, image_grid_pinpoints=[[size.side, size.side]]),
        video_processor=LlavaOnevisionVideoProcessor(**shape), tokenizer=tokenizer, num_image_tokens=tokens,
        vision_feature_select_strategy="full", chat_template=template,
    )  # fmt: skip
    return config, processor


def _qwen2_vl(size: Size, tokenizer: Any) -> tuple[Any, Any]:
    """Return the configuration and the processor of Qwen2-VL."""
    ids = {
        name: tokenizer.convert_tokens_to_ids(f"<|{name}|>")
        for name in ("vision_start", "vision_end", "image_pad", "video_pad")
    }
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": list(size.rope)}
    config = Qwen2VLConfig(
        text_config={**size.text, "max_position_embeddings": 32768, "initializer_range": size.std,
                     "rope_parameters": rope, **special_token_ids(tokenizer)},
        vision_config={**size.qwen, "patch_size": 14}, tie_word_embeddings=size.text["tie_word_embeddings"],
        vision_start_token_id=ids["vision_start"], vision_end_token_id=ids["vision_end"],
        image_token_id=ids["image_pad"], video_token_id=ids["video_pad"],
    )  # fmt: skip
    shape = {"size": {"shortest_edge": 56 * 56, "longest_edge": size.pixels}, "image_mean": HALF, "image_std": HALF}
    mark = "<|vision_start|><|{}_pad|><|vision_end|>"
    template = TEMPLATE.replace("VIDEO", mark.format("video")).replace("IMAGE", mark.format("image"))
    processor = Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(**shape), tokenizer=tokenizer, chat_template=template,
        video_processor=Qwen2VLVideoProcessor(**shape, do_sample_frames=False, cap_pixels_per_frame=False),
    )  # fmt: skip
    return config, processor


def special_token_ids(tokenizer: Any) -> dict[str, Any]:
    """Return the ids of the special tokens that every language model's configuration needs."""
    return {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}


FAMILIES: dict[str, Callable[[Size, Any], tuple[Any, Any]]] = {"LLaVA-OneVision": _llava, "Qwen2-VL": _qwen2_vl}
"""family -> function that returns a configuration and a processor for a size and a tokenizer"""


def write_checkpoint_without_weights(folder: Path, family: str, size: Size) -> Any:
    """Write all files of a checkpoint except its weights, and return its configuration."""
    config, processor = FAMILIES[family](size, tokenizer())
    config.save_pretrained(folder)
    processor.save_pretrained(folder)
    return config


def random_model(config: Any, device: str, dtype: Any, attention: str = "sdpa") -> Any:
    """Build a model of these shapes with random weights, directly on the device."""
    torch.manual_seed(0)
    default_dtype = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = AutoModelForImageTextToText.from_config(config, attn_implementation=attention, dtype=dtype)
    finally:
        torch.set_default_dtype(default_dtype)
    return model.eval()
