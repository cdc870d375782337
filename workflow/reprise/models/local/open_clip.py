"""Checkpoints in open_clip's layout, which is OpenAI's: read into the CLIP of transformers, weight by weight."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.models.local.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from safetensors.torch import load_file  # noqa: E402
from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel  # noqa: E402

CONFIG, WEIGHTS = "open_clip_config.json", "open_clip_model.safetensors"
VISION_KEYS = {"image_size", "layers", "width", "patch_size", "head_width", "mlp_ratio"}
TEXT_KEYS = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio"}
MODEL_KEYS = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu"}

# open_clip's beginnings of names and those of transformers, the longer one first.
BEGINNINGS = (
    ("visual.transformer.resblocks.", "vision_model.encoder.layers."),
    ("visual.class_embedding", "vision_model.embeddings.class_embedding"),
    ("visual.positional_embedding", "vision_model.embeddings.position_embedding.weight"),
    ("visual.conv1.", "vision_model.embeddings.patch_embedding."),
    ("visual.ln_pre.", "vision_model.pre_layrnorm."),
    ("visual.ln_post.", "vision_model.post_layernorm."),
    ("visual.proj", "visual_projection.weight"),
    ("transformer.resblocks.", "text_model.encoder.layers."),
    ("token_embedding.", "text_model.embeddings.token_embedding."),
    ("positional_embedding", "text_model.embeddings.position_embedding.weight"),
    ("ln_final.", "text_model.final_layer_norm."),
    ("text_projection", "text_projection.weight"),
    ("logit_scale", "logit_scale"),
)
IN_LAYER = (
    (".ln_1.", ".layer_norm1."),
    (".ln_2.", ".layer_norm2."),
    (".attn.out_proj.", ".self_attn.out_proj."),
    (".mlp.c_fc.", ".mlp.fc1."),
    (".mlp.c_proj.", ".mlp.fc2."),
)
PACKED = re.compile(r"(?P<layer>.*)\.attn\.in_proj_(?P<part>weight|bias)")
# What open_clip multiplies from the right.
TURNED = {"visual.proj", "text_projection"}


def load_open_clip(folder: Path, device: str) -> tuple[Any, Any]:
    """The model, its weights read straight to their device, and what prepares its images."""
    found = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config = clip_config(found["model_cfg"], folder / CONFIG)
    with torch.device(device):
        model: Any = CLIPModel(config)
    state = renamed(load_file(folder / WEIGHTS, device=device))
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise UserError(
            f"{folder / WEIGHTS}: not open_clip's layout of a CLIP: {len(missing)} weights are missing "
            f"({', '.join(missing[:3])}, ...), {len(unexpected)} are not known ({', '.join(unexpected[:3])}, ...)."
        )
    side = config.vision_config.image_size
    shown = found.get("preprocess_cfg", {})
    images = CLIPImageProcessorPil(
        size={"shortest_edge": side},
        crop_size={"height": side, "width": side},
        **{name: shown[key] for name, key in (("image_mean", "mean"), ("image_std", "std")) if key in shown},
    )
    return model, images


def clip_config(found: Mapping[str, Any], where: Path) -> Any:
    """The CLIP configuration of transformers; what no plain CLIP has is refused by name."""
    vision, text = found["vision_cfg"], found["text_cfg"]
    extra = {*set(found) - MODEL_KEYS, *set(vision) - VISION_KEYS, *set(text) - TEXT_KEYS}
    if extra:
        raise UserError(f"{where}: only plain CLIP towers are read, found {', '.join(sorted(extra))}.")
    act = "quick_gelu" if found.get("quick_gelu") else "gelu"
    end = text["vocab_size"] - 1
    return CLIPConfig(
        projection_dim=found["embed_dim"],
        vision_config={
            **_tower(vision, vision["width"] // vision.get("head_width", 64), act),
            "image_size": vision["image_size"],
            "patch_size": vision["patch_size"],
            "projection_dim": found["embed_dim"],
        },
        text_config={
            **_tower(text, text["heads"], act),
            "vocab_size": text["vocab_size"],
            "max_position_embeddings": text["context_length"],
            "projection_dim": found["embed_dim"],
            # A text is read at its last token, which is the vocabulary's last.
            "eos_token_id": end,
            "bos_token_id": end - 1,
            "pad_token_id": end,
        },
    )


def _tower(found: Mapping[str, Any], heads: int, act: str) -> dict[str, Any]:
    return {
        "hidden_size": found["width"],
        "intermediate_size": int(found["width"] * found.get("mlp_ratio", 4)),
        "num_hidden_layers": found["layers"],
        "num_attention_heads": heads,
        "hidden_act": act,
    }


def renamed(state: Mapping[str, Any]) -> dict[str, Any]:
    """The weights under the names of transformers; a name of another layout stays, and is refused by the model."""
    found: dict[str, Any] = {}
    for name, tensor in state.items():
        packed = PACKED.fullmatch(name)
        if packed is not None:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                found[_renamed(f"{packed['layer']}.self_attn.{letter}_proj.{packed['part']}")] = part
        else:
            found[_renamed(name)] = tensor.T if name in TURNED else tensor
    return found


def _renamed(name: str) -> str:
    for theirs, ours in BEGINNINGS:
        if name.startswith(theirs):
            name = ours + name.removeprefix(theirs)
            for inner, own in IN_LAYER:
                name = name.replace(inner, own)
            return name
    return name
