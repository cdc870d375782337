"""Tiny checkpoints of real classes with random weights, saved as a hub snapshot has them."""

import json
from pathlib import Path
from typing import Any

from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from safetensors.torch import save_file  # noqa: E402
from tokenizers.processors import TemplateProcessing  # noqa: E402
from training.tokenizer import build_tokenizer  # noqa: E402
from transformers import (  # noqa: E402
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    SiglipConfig,
    SiglipImageProcessor,
    SiglipModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    VideoMAEImageProcessor,
    XCLIPConfig,
    XCLIPModel,
)

VOCABULARY = 512
SIDE = 32
LONGEST = 24
TOWER = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
WORDS = {**TOWER, "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST}
SQUARE = {"height": SIDE, "width": SIDE}


def tokenizer(*, ends: bool = True, template: str | None = None) -> PreTrainedTokenizerFast:
    """The toy world's words; with the token at which CLIP and T5 end a text."""
    made = build_tokenizer()
    if ends:
        made.backend_tokenizer.post_processor = TemplateProcessing(
            single="$A <|im_end|>", special_tokens=[("<|im_end|>", made.eos_token_id)]
        )
    made.padding_side, made.chat_template = "right", template
    return made


def _ids(made: PreTrainedTokenizerFast) -> dict[str, int]:
    return {"pad_token_id": made.pad_token_id, "bos_token_id": made.pad_token_id, "eos_token_id": made.eos_token_id}


def _save(folder: Path, model: Any, images: Any = None, words: Any = None) -> Path:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    for part in (model, images, words):
        if part is not None:
            part.save_pretrained(folder)
    return folder


def clip(folder: Path) -> Path:
    words = tokenizer()
    config = CLIPConfig(
        text_config={**WORDS, **_ids(words)}, vision_config={**TOWER, "image_size": SIDE, "patch_size": 16},
        projection_dim=12,
    )  # fmt: skip
    images = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=SQUARE)
    return _save(folder, CLIPModel(config), images, words)


def siglip(folder: Path) -> Path:
    words = tokenizer(ends=False)
    config = SiglipConfig(
        text_config={**WORDS, **_ids(words), "projection_size": 16},
        vision_config={**TOWER, "image_size": SIDE, "patch_size": 16},
    )
    return _save(folder, SiglipModel(config), SiglipImageProcessor(size=SQUARE), words)


def xclip(folder: Path, frames: int) -> Path:
    words = tokenizer()
    config = XCLIPConfig(
        text_config={**WORDS, **_ids(words)},
        vision_config={
            **TOWER, "image_size": SIDE, "patch_size": 16, "num_frames": frames, "mit_hidden_size": 12,
            "mit_intermediate_size": 24, "mit_num_hidden_layers": 1, "mit_num_attention_heads": 2,
        },
        projection_dim=12, prompt_layers=2, prompt_num_attention_heads=2,
    )  # fmt: skip
    images = VideoMAEImageProcessor(size={"shortest_edge": SIDE}, crop_size=SQUARE)
    return _save(folder, XCLIPModel(config), images, words)


def t5(folder: Path) -> Path:
    words = tokenizer()
    return _save(folder, T5ForConditionalGeneration(_t5_config(words, VOCABULARY)), words=words)


def vera(folder: Path, rows: int = 32128) -> Path:
    words = tokenizer()
    model = T5EncoderModel(_t5_config(words, rows))
    _save(folder, model, words=words)
    with torch.no_grad():
        model.shared.weight[32097:32098] = 1.7
    model.save_pretrained(folder)
    return folder


def _t5_config(words: PreTrainedTokenizerFast, rows: int) -> T5Config:
    return T5Config(
        vocab_size=rows, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu",
        decoder_start_token_id=words.pad_token_id, **_ids(words),
    )  # fmt: skip


def llama(folder: Path, template: str | None = None) -> Path:
    words = tokenizer(ends=False, template=template)
    config = LlamaConfig(**{**WORDS, "max_position_embeddings": 256}, **_ids(words), num_key_value_heads=2)
    return _save(folder, LlamaForCausalLM(config), words=words)


def open_clip(folder: Path, **changes: Any) -> Path:
    """A checkpoint in open_clip's layout, written by the original names and shapes."""
    width, layers, embed = 16, 2, 12
    generator = torch.Generator().manual_seed(3)

    def weight(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * 0.2

    def blocks(prefix: str) -> dict[str, torch.Tensor]:
        found = {}
        for number in range(layers):
            name = f"{prefix}.resblocks.{number}"
            for norm in ("ln_1", "ln_2"):
                found |= {f"{name}.{norm}.weight": 1 + weight(width), f"{name}.{norm}.bias": weight(width)}
            found |= {
                f"{name}.attn.in_proj_weight": weight(3 * width, width),
                f"{name}.attn.in_proj_bias": weight(3 * width),
            }
            found |= {f"{name}.attn.out_proj.weight": weight(width, width), f"{name}.attn.out_proj.bias": weight(width)}
            found |= {f"{name}.mlp.c_fc.weight": weight(4 * width, width), f"{name}.mlp.c_fc.bias": weight(4 * width)}
            found |= {f"{name}.mlp.c_proj.weight": weight(width, 4 * width), f"{name}.mlp.c_proj.bias": weight(width)}
        return found

    state = blocks("visual.transformer") | blocks("transformer")
    for norm in ("visual.ln_pre", "visual.ln_post", "ln_final"):
        state |= {f"{norm}.weight": 1 + weight(width), f"{norm}.bias": weight(width)}
    state |= {
        "visual.class_embedding": weight(width), "visual.positional_embedding": weight(5, width),
        "visual.conv1.weight": weight(width, 3, 16, 16), "visual.proj": weight(width, embed),
        "token_embedding.weight": weight(VOCABULARY, width), "positional_embedding": weight(LONGEST, width),
        "text_projection": weight(width, embed), "logit_scale": torch.tensor(2.0),
    }  # fmt: skip
    config = {
        "model_cfg": {
            "embed_dim": embed,
            "vision_cfg": {"image_size": SIDE, "layers": layers, "width": width, "patch_size": 16, "head_width": 8},
            "text_cfg": {
                "context_length": LONGEST,
                "vocab_size": VOCABULARY,
                "width": width,
                "heads": 2,
                "layers": layers,
            },
            **changes,
        },
        "preprocess_cfg": {"mean": [0.48, 0.45, 0.4], "std": [0.27, 0.26, 0.28]},
    }
    folder.mkdir()
    save_file(state, folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    words = tokenizer()
    # A text is read at the vocabulary's last token.
    last = "<|last|>"
    words.add_tokens([*(f"<{n}>" for n in range(VOCABULARY - 1 - len(words))), last], special_tokens=True)
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"$A {last}", special_tokens=[(last, VOCABULARY - 1)]
    )
    words.save_pretrained(folder)
    return folder
