"""Query dual encoders, which compute the similarity of each caption to a clip's frames.

Checkpoints in the layout of open_clip and OpenAI are converted weight by weight into the CLIP of transformers.
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
from reprise.models.base import Answer, ClipFrames, ModelSpec, PreparedClip, Request
from reprise.models.local.checkpoints import (
    answer_or_error,
    inference,
    load_model,
    load_part,
    plan_device_map,
    resolve_dtype,
    set_thread_count,
)
from reprise.models.local.frames_preparer import FramesPreparer

FRAMES_PER_BATCH = 32  # limits the memory for long clips


class ContrastiveAdapter:
    """An adapter that encodes a clip once and compares every caption with it."""

    def __init__(self, spec: ModelSpec) -> None:
        set_thread_count(spec)
        self.preparer = FramesPreparer(spec)
        self._encoder = load_encoder(spec)

    def begin_run(self, spec: ModelSpec) -> None:
        """Do nothing, because the adapter does not depend on the run."""

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        return self.answers_about(PreparedClip(self.preparer.read(clip), {}), requests)

    def answers_about(self, prepared_clip: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        frames, start = prepared_clip.inputs, time.monotonic()
        with inference():
            encoded_clip = self._encoder.encode_clip(frames)
        prepared_clip.step_seconds["encode"] = time.monotonic() - start
        for request in requests:
            yield answer_or_error(partial(self._answer, request, encoded_clip, len(frames)))

    def _answer(self, request: Request, encoded_clip: Any, frame_count: int) -> Answer:
        similarity, tokens = self._encoder.compute_similarity(encoded_clip, request.prompt)
        return Answer(scores=(similarity,), frames_shown=frame_count, tokens_in=tokens)


class MeanPoolingEncoder:
    """CLIP and SigLIP, whose similarity is the cosine of the caption's feature and the mean of the frames' features.

    As in VELOCITI's code, features are averaged without normalisation, and the mean is scaled to unit length.
    """

    def __init__(self, model: Any, image_processor: Any, tokenizer: Any) -> None:
        self.model, self._image_processor, self._tokenizer = model, image_processor, tokenizer

    def encode_clip(self, frames: "np.ndarray") -> Any:
        """Return the mean feature of the frames, scaled to unit length."""
        features = [
            self.model.get_image_features(pixel_values=batch).pooler_output
            for batch in self.preprocess(frames).split(FRAMES_PER_BATCH)
        ]
        return _normalize(torch.cat(features).double().mean(0))

    def compute_similarity(self, encoded_clip: Any, caption: str) -> tuple[float, int]:
        """Return the similarity of a caption to a clip, and the number of its tokens."""
        ids = self.tokenize(caption)
        feature = self.model.get_text_features(input_ids=ids).pooler_output[0]
        return (encoded_clip @ _normalize(feature.double())).item(), int(ids.shape[1])

    def preprocess(self, frames: "np.ndarray") -> Any:
        pixels = self._image_processor(list(frames), return_tensors="pt")["pixel_values"]
        return pixels.reshape(len(frames), *pixels.shape[-3:]).to(self.model.device, self.model.dtype)

    def tokenize(self, caption: str) -> Any:
        """Return a caption's tokens, truncated to the model's limit.

        SigLIP was trained on texts padded to that length.
        """
        max_length = int(self.model.config.text_config.max_position_embeddings)
        padding = "max_length" if self.model.config.model_type == "siglip" else False
        encoded = self._tokenizer(caption, padding=padding, truncation=True, max_length=max_length, return_tensors="pt")
        return encoded["input_ids"].to(self.model.device)


class XClipEncoder(MeanPoolingEncoder):
    """X-CLIP, which encodes a fixed number of frames together and conditions captions on the clip.

    The class calls the parts of the model's forward pass separately, in order to encode a clip only once. The
    similarity is the model's logit.
    """

    def encode_clip(self, frames: "np.ndarray") -> Any:
        """Return the clip's feature, scaled to unit length, and its patch features, averaged over the frames."""
        model, expected_count = self.model, int(self.model.config.vision_config.num_frames)
        if len(frames) != expected_count:
            raise UserError(
                f"this X-CLIP takes {expected_count} frames, but the run's sampling selects {len(frames)}. "
                f"Use a sampling of {expected_count} frames."
            )
        vision = model.vision_model(pixel_values=self.preprocess(frames))
        # `vision` and the output of `mit` are (all tokens, pooled output); the first token is the class token.
        feature = model.mit(model.visual_projection(vision[1])[None])[1]
        patches = model.prompts_visual_layernorm(vision[0][:, 1:]) @ model.prompts_visual_projection
        return _normalize(feature[0].double()), patches.mean(0, keepdim=True)

    def compute_similarity(self, encoded_clip: Any, caption: str) -> tuple[float, int]:
        (feature, patches), model, ids = encoded_clip, self.model, self.tokenize(caption)
        text = model.get_text_features(input_ids=ids).pooler_output[None]
        text = text + model.prompts_generator(text, patches)
        logit = model.logit_scale.exp().double() * (feature @ _normalize(text[0, 0].double()))
        return float(logit), int(ids.shape[1])


def _normalize(feature: Any) -> Any:
    """Scale a feature to unit length."""
    return feature / feature.norm()


# Model type of a checkpoint -> class of its encoder.
ENCODERS = {"clip": MeanPoolingEncoder, "siglip": MeanPoolingEncoder, "xclip": XClipEncoder}


def load_encoder(spec: ModelSpec) -> MeanPoolingEncoder:
    """Load the encoder of a checkpoint, with the class for its model type."""
    if (spec.weights_folder / OPEN_CLIP_CONFIG).is_file():
        plan_device_map(spec)  # raises a UserError if the model does not fit or a file is truncated
        model, image_processor = load_open_clip(spec.weights_folder, spec.device)
        model = model.to(dtype=resolve_dtype(spec)).eval()
        model.set_attn_implementation(spec.attention)
    else:
        config = load_part(AutoConfig, spec)
        if config.model_type not in ENCODERS:
            raise UserError(
                f"{spec.folder}: the contrastive adapter supports {', '.join(ENCODERS)} and open_clip checkpoints, "
                f"found model_type '{config.model_type}'."
            )
        model = load_model(AutoModel, spec)
        # PIL resizes, as in the papers' scripts.
        image_processor = load_part(AutoImageProcessor, spec, backend="pil")
    return ENCODERS[model.config.model_type](model, image_processor, load_part(AutoTokenizer, spec))


# --- open_clip's layout --------------------------------------------------------------------------------------------

OPEN_CLIP_CONFIG, OPEN_CLIP_WEIGHTS = "open_clip_config.json", "open_clip_model.safetensors"
# Keys of open_clip's configuration that `build_clip_config` converts; any other key is rejected.
VISION_KEYS = {"image_size", "layers", "width", "patch_size", "head_width", "mlp_ratio"}
TEXT_KEYS = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio"}
MODEL_KEYS = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu"}

# Prefixes of names in open_clip and in transformers, longer ones first.
WEIGHT_PREFIXES = (
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
LAYER_WEIGHT_NAMES = (
    (".ln_1.", ".layer_norm1."),
    (".ln_2.", ".layer_norm2."),
    (".attn.out_proj.", ".self_attn.out_proj."),
    (".mlp.c_fc.", ".mlp.fc1."),
    (".mlp.c_proj.", ".mlp.fc2."),
)
# Weights in which open_clip stores the projections of query, key and value together.
PACKED_PROJECTION = re.compile(r"(?P<layer>.*)\.attn\.in_proj_(?P<part>weight|bias)")
# Weights that open_clip multiplies from the right.
TRANSPOSED_WEIGHTS = {"visual.proj", "text_projection"}


def load_open_clip(folder: Path, device: str) -> tuple[Any, Any]:
    """Load open_clip weights into the CLIP of transformers on a device; return the model and its image processor."""
    stored_config = json.loads((folder / OPEN_CLIP_CONFIG).read_text(encoding="utf-8"))
    config = build_clip_config(stored_config["model_cfg"], folder / OPEN_CLIP_CONFIG)
    with torch.device(device):
        model: Any = CLIPModel(config)
    weights = rename_weights(load_file(folder / OPEN_CLIP_WEIGHTS, device=device))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if missing or unexpected:
        raise UserError(
            f"{folder / OPEN_CLIP_WEIGHTS}: not open_clip's layout of a CLIP: {len(missing)} weights are missing "
            f"({', '.join(missing[:3])}, ...), {len(unexpected)} are unknown ({', '.join(unexpected[:3])}, ...)."
        )
    image_size = config.vision_config.image_size
    preprocessing = stored_config.get("preprocess_cfg", {})
    image_processor = CLIPImageProcessorPil(
        size={"shortest_edge": image_size},
        crop_size={"height": image_size, "width": image_size},
        **{
            name: preprocessing[key]
            for name, key in (("image_mean", "mean"), ("image_std", "std"))
            if key in preprocessing
        },
    )
    return model, image_processor


def build_clip_config(model_cfg: Mapping[str, Any], config_path: Path) -> Any:
    """Convert open_clip's configuration to that of transformers; raise a UserError if a key is not supported."""
    vision, text = model_cfg["vision_cfg"], model_cfg["text_cfg"]
    unsupported_keys = {*set(model_cfg) - MODEL_KEYS, *set(vision) - VISION_KEYS, *set(text) - TEXT_KEYS}
    if unsupported_keys:
        raise UserError(
            f"{config_path}: only plain CLIP towers are supported, found {', '.join(sorted(unsupported_keys))}."
        )
    activation = "quick_gelu" if model_cfg.get("quick_gelu") else "gelu"
    end_token = text["vocab_size"] - 1
    return CLIPConfig(
        projection_dim=model_cfg["embed_dim"],
        vision_config={
            **_build_tower_config(vision, vision["width"] // vision.get("head_width", 64), activation),
            "image_size": vision["image_size"],
            "patch_size": vision["patch_size"],
            "projection_dim": model_cfg["embed_dim"],
        },
        text_config={
            **_build_tower_config(text, text["heads"], activation),
            "vocab_size": text["vocab_size"],
            "max_position_embeddings": text["context_length"],
            "projection_dim": model_cfg["embed_dim"],
            # The feature of a text is the feature of its end token, which is the last token of the vocabulary.
            "eos_token_id": end_token,
            "bos_token_id": end_token - 1,
            "pad_token_id": end_token,
        },
    )


def _build_tower_config(tower: Mapping[str, Any], head_count: int, activation: str) -> dict[str, Any]:
    """Return the settings that vision and text towers have in common, under their names in transformers."""
    return {
        "hidden_size": tower["width"],
        "intermediate_size": int(tower["width"] * tower.get("mlp_ratio", 4)),
        "num_hidden_layers": tower["layers"],
        "num_attention_heads": head_count,
        "hidden_act": activation,
    }


def rename_weights(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights under their names in transformers; unknown names are kept for the model to reject."""
    renamed: dict[str, Any] = {}
    for name, tensor in weights.items():
        packed = PACKED_PROJECTION.fullmatch(name)
        if packed is not None:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                renamed[_rename_weight(f"{packed['layer']}.self_attn.{letter}_proj.{packed['part']}")] = part
        else:
            renamed[_rename_weight(name)] = tensor.T if name in TRANSPOSED_WEIGHTS else tensor
    return renamed


def _rename_weight(name: str) -> str:
    """Return the name of a weight in transformers; an unknown name is returned unchanged."""
    for prefix, new_prefix in WEIGHT_PREFIXES:
        if name.startswith(prefix):
            name = new_prefix + name.removeprefix(prefix)
            for part, new_part in LAYER_WEIGHT_NAMES:
                name = name.replace(part, new_part)
            return name
    return name
