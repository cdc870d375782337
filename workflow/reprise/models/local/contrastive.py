"""Adapter for dual encoders: how close a caption is to a clip's frames, one number a caption.

Checkpoints in open_clip's layout, which is OpenAI's, are read into the CLIP of transformers, weight by weight.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reprise.models.local.torch_setup import torch

import numpy as np
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModel,
    AutoTokenizer,
    CLIPConfig,
    CLIPImageProcessorPil,
    CLIPModel,
)

from reprise.core.errors import UserError
from reprise.models.base import Answer, Clip, ModelSpec, Ready, Request
from reprise.models.local.checkpoints import answered, asking, dtype_of, load_model, load_part, placing, use_threads
from reprise.models.local.frames import FramesPreparer

FRAMES_AT_ONCE = 32


class ContrastiveAdapter:
    """Looks at a clip once and compares every caption with it."""

    def __init__(self, spec: ModelSpec) -> None:
        use_threads(spec)
        self.preparer = FramesPreparer(spec)
        self._encoder = load_encoder(spec)

    def begin(self, spec: ModelSpec) -> None:
        """Nothing of a run matters to it."""

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        return self.answers_about(Ready(self.preparer.read(clip), {}), requests)

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        frames, start = ready.value, time.monotonic()
        with asking():
            seen = self._encoder.clip(frames)
        ready.seconds["encode"] = time.monotonic() - start
        for request in requests:
            yield answered(partial(self._answer, request, seen, len(frames)))

    def _answer(self, request: Request, seen: Any, frames: int) -> Answer:
        value, tokens = self._encoder.similarity(seen, request.prompt)
        return Answer(scores=(value,), frames_shown=frames, tokens_in=tokens)


class FrameMean:
    """CLIP and SigLIP: the cosine of the caption's feature and the mean of the frames' features.

    The frames' features are averaged as they are and the mean is brought to unit length, as VELOCITI's authors do it.
    """

    def __init__(self, model: Any, images: Any, tokenizer: Any) -> None:
        self.model, self._images, self._tokenizer = model, images, tokenizer

    def clip(self, frames: "np.ndarray") -> Any:
        features = [
            self.model.get_image_features(pixel_values=some).pooler_output
            for some in self.pixels(frames).split(FRAMES_AT_ONCE)
        ]
        return _unit(torch.cat(features).double().mean(0))

    def similarity(self, clip: Any, caption: str) -> tuple[float, int]:
        """How close a caption is, and how many tokens it has."""
        ids = self.ids(caption)
        feature = self.model.get_text_features(input_ids=ids).pooler_output[0]
        return (clip @ _unit(feature.double())).item(), int(ids.shape[1])

    def pixels(self, frames: "np.ndarray") -> Any:
        pixels = self._images(list(frames), return_tensors="pt")["pixel_values"]
        return pixels.reshape(len(frames), *pixels.shape[-3:]).to(self.model.device, self.model.dtype)

    def ids(self, caption: str) -> Any:
        """A caption's tokens, cut to what the model can read. SigLIP was trained on texts filled up to that length."""
        longest = int(self.model.config.text_config.max_position_embeddings)
        filled = "max_length" if self.model.config.model_type == "siglip" else False
        encoded = self._tokenizer(caption, padding=filled, truncation=True, max_length=longest, return_tensors="pt")
        return encoded["input_ids"].to(self.model.device)


class VideoConditioned(FrameMean):
    """X-CLIP: a fixed number of frames that look at one another, and captions that are read with the clip in mind.

    The parts of the model's own forward, so that a clip is seen once; the similarity is its logit.
    """

    def clip(self, frames: "np.ndarray") -> Any:
        model, wanted = self.model, int(self.model.config.vision_config.num_frames)
        if len(frames) != wanted:
            raise UserError(
                f"this X-CLIP takes {wanted} frames and its run's sampling shows {len(frames)}. "
                f"Name a sampling of {wanted} frames."
            )
        vision = model.vision_model(pixel_values=self.pixels(frames))
        feature = model.mit(model.visual_projection(vision[1])[None])[1]
        patches = model.prompts_visual_layernorm(vision[0][:, 1:]) @ model.prompts_visual_projection
        return _unit(feature[0].double()), patches.mean(0, keepdim=True)

    def similarity(self, clip: Any, caption: str) -> tuple[float, int]:
        (feature, patches), model, ids = clip, self.model, self.ids(caption)
        text = model.get_text_features(input_ids=ids).pooler_output[None]
        text = text + model.prompts_generator(text, patches)
        logit = model.logit_scale.exp().double() * (feature @ _unit(text[0, 0].double()))
        return float(logit), int(ids.shape[1])


def _unit(feature: Any) -> Any:
    return feature / feature.norm()


ENCODERS = {"clip": FrameMean, "siglip": FrameMean, "xclip": VideoConditioned}


def load_encoder(spec: ModelSpec) -> FrameMean:
    """The encoder of a folder, by what its configuration says it is."""
    if (spec.weights / CONFIG).is_file():
        placing(spec)  # it fits, and no file is cut short
        model, images = load_open_clip(spec.weights, spec.device)
        model = model.to(dtype=dtype_of(spec)).eval()
        model.set_attn_implementation(spec.attention)
    else:
        config = load_part(AutoConfig, spec)
        if config.model_type not in ENCODERS:
            raise UserError(
                f"{spec.folder}: the contrastive adapter knows {', '.join(ENCODERS)} and open_clip checkpoints, "
                f"found model_type '{config.model_type}'."
            )
        model = load_model(AutoModel, spec)
        # As the papers' scripts, which resize with PIL.
        images = load_part(AutoImageProcessor, spec, backend="pil")
    return ENCODERS[model.config.model_type](model, images, load_part(AutoTokenizer, spec))


# --- open_clip's layout --------------------------------------------------------------------------------------------

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
    """The CLIP of transformers with these weights, read straight to their device, and what prepares its images."""
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
