"""Make tiny checkpoints of real classes with random weights, saved like hub snapshots."""

import json
import shutil
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from reprise.models.local.torch_setup import torch

from safetensors.torch import save_file
from tokenizers.processors import TemplateProcessing
from training.config import ModelSize
from training.model import build_model, build_processor
from training.tokenizer import build_tokenizer
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    VideoMAEImageProcessor,
    XCLIPConfig,
    XCLIPModel,
)

VOCABULARY = 512
SIDE = 32
MAX_POSITIONS = 24
TRANSFORMER_SIZE = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT_SIZE = {**TRANSFORMER_SIZE, "vocab_size": VOCABULARY, "max_position_embeddings": MAX_POSITIONS}
SQUARE = {"height": SIDE, "width": SIDE}
# Large enough for all words of the toy world's tokenizer and those that a test adds.
LARGE_VOCABULARY = 640


def tokenizer(*, ends: bool = True, template: str | None = None) -> PreTrainedTokenizerFast:
    """Return the toy world's tokenizer, with the end token that CLIP and T5 add."""
    new_tokenizer = build_tokenizer()
    if ends:
        new_tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="$A <|im_end|>", special_tokens=[("<|im_end|>", new_tokenizer.eos_token_id)]
        )
    new_tokenizer.padding_side, new_tokenizer.chat_template = "right", template
    return new_tokenizer


def special_token_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def save(folder: Path, make: Callable[[], Any], *parts: Any) -> Path:
    """Save a model with fixed random weights, and its tokenizer and processors."""
    torch.manual_seed(1)
    model = make()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    for part in (model, *parts):
        part.save_pretrained(folder)
    return folder


CHECKPOINTS_FOLDER = TemporaryDirectory(prefix="checkpoints-")


def make_once(make: Callable[..., Path]) -> Callable[..., Path]:
    """Make a checkpoint once per session; each call returns a copy that a test may change."""

    @cache
    def make_in_session_folder(*arguments: Any) -> Path:
        return make(Path(mkdtemp(dir=CHECKPOINTS_FOLDER.name)) / make.__name__, *arguments)

    @wraps(make)
    def copy_checkpoint(folder: Path, *arguments: Any) -> Path:
        return Path(shutil.copytree(make_in_session_folder(*arguments), folder))

    return copy_checkpoint


# fmt: off
@make_once
def clip(folder: Path) -> Path:
    words = tokenizer()
    text_config, vision_config = {**TEXT_SIZE, **special_token_ids(words)}, {**TRANSFORMER_SIZE, "image_size": SIDE, "patch_size": 16}
    config = CLIPConfig(text_config=text_config, vision_config=vision_config, projection_dim=12)
    return save(folder, lambda: CLIPModel(config), CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=SQUARE), words)


@make_once
def xclip(folder: Path, frame_count: int) -> Path:
    words = tokenizer()
    mit = {"mit_hidden_size": 12, "mit_intermediate_size": 24, "mit_num_hidden_layers": 1, "mit_num_attention_heads": 2}
    text_config, vision_config = {**TEXT_SIZE, **special_token_ids(words)}, {**TRANSFORMER_SIZE, "image_size": SIDE, "patch_size": 16, "num_frames": frame_count, **mit}
    config = XCLIPConfig(text_config=text_config, vision_config=vision_config, projection_dim=12, prompt_layers=2, prompt_num_attention_heads=2)
    return save(folder, lambda: XCLIPModel(config), VideoMAEImageProcessor(size={"shortest_edge": SIDE}, crop_size=SQUARE), words)


def _t5(words: PreTrainedTokenizerFast, vocabulary: int) -> T5Config:
    return T5Config(
        vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu",
        decoder_start_token_id=words.pad_token_id, **special_token_ids(words),
    )


@make_once
def t5(folder: Path) -> Path:
    words = tokenizer()
    return save(folder, lambda: T5ForConditionalGeneration(_t5(words, VOCABULARY)), words)


@make_once
def vera(folder: Path) -> Path:
    words = tokenizer()
    model = T5EncoderModel(_t5(words, 32128))
    save(folder, lambda: model, words)
    with torch.no_grad():
        model.shared.weight[32097:32098] = 1.7
    model.save_pretrained(folder)
    return folder


@make_once
def llama(folder: Path, template: str | None = None, vocabulary: int = VOCABULARY) -> Path:
    words = tokenizer(ends=False, template=template)
    sizes = {**TEXT_SIZE, "max_position_embeddings": 256, "vocab_size": vocabulary}
    return save(folder, lambda: LlamaForCausalLM(LlamaConfig(**sizes, **special_token_ids(words), num_key_value_heads=2)), words)


@make_once
def llava(folder: Path) -> Path:
    """Make a LLaVA-OneVision of the demo's shape with the chat template of the public checkpoints."""
    words = build_tokenizer()
    size = ModelSize(vision_width=16, vision_inner=32, vision_layers=2, patch=16, width=32, inner=64, layers=2, heads=2, vocabulary=LARGE_VOCABULARY)
    return save(folder, lambda: build_model(size, words), build_processor(words, size.patch))


def open_clip(folder: Path, **changes: Any) -> Path:
    """Make a checkpoint in open_clip's layout, with the original names and shapes."""
    width, layers, embed = 16, 2, 12
    generator = torch.Generator().manual_seed(3)

    def weight(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * 0.2

    state = {}
    sizes = {"attn.in_proj_": (3, 1), "attn.out_proj.": (1, 1), "mlp.c_fc.": (4, 1), "mlp.c_proj.": (1, 4)}
    blocks = [f"{tower}.resblocks.{index}." for tower in ("visual.transformer", "transformer") for index in range(layers)]
    for block in blocks:
        for name, (rows, columns) in sizes.items():
            state[f"{block}{name}weight"] = weight(rows * width, columns * width)
            state[f"{block}{name}bias"] = weight(rows * width)
    norms = [block + norm for block in blocks for norm in ("ln_1", "ln_2")]
    for norm in (*norms, "visual.ln_pre", "visual.ln_post", "ln_final"):
        state |= {f"{norm}.weight": 1 + weight(width), f"{norm}.bias": weight(width)}
    state |= {
        "visual.class_embedding": weight(width), "visual.positional_embedding": weight(5, width),
        "visual.conv1.weight": weight(width, 3, 16, 16), "visual.proj": weight(width, embed),
        "token_embedding.weight": weight(VOCABULARY, width), "positional_embedding": weight(MAX_POSITIONS, width),
        "text_projection": weight(width, embed), "logit_scale": torch.tensor(2.0),
    }
    vision_config = {"image_size": SIDE, "layers": layers, "width": width, "patch_size": 16, "head_width": 8}
    text_config = {"context_length": MAX_POSITIONS, "vocab_size": VOCABULARY, "width": width, "heads": 2, "layers": layers}
    config = {
        "model_cfg": {"embed_dim": embed, "vision_cfg": vision_config, "text_cfg": text_config, **changes},
        "preprocess_cfg": {"mean": [0.48, 0.45, 0.4], "std": [0.27, 0.26, 0.28]},
    }
    folder.mkdir()
    save_file(state, folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    word_tokenizer, last_token = tokenizer(), "<|last|>"  # the feature of a text is that of the vocabulary's last token
    word_tokenizer.add_tokens([*(f"<{n}>" for n in range(VOCABULARY - 1 - len(word_tokenizer))), last_token], special_tokens=True)
    word_tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single=f"$A {last_token}", special_tokens=[(last_token, VOCABULARY - 1)])
    word_tokenizer.save_pretrained(folder)
    return folder
# fmt: on


def update_json(file: Path, **values: Any) -> None:
    """Set keys of one of a checkpoint's JSON files."""
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")
