"""Adapter for dual encoders: how close a caption is to a clip's frames, one number a caption."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from reprise.core.errors import UserError
from reprise.models.base import Answer, Clip, ModelSpec, Ready, Request
from reprise.models.local.forward import answered, asking
from reprise.models.local.frames import FramesPreparer
from reprise.models.local.loading import dtype_of, load_model, load_part, placing
from reprise.models.local.open_clip import CONFIG, load_open_clip
from reprise.models.local.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoTokenizer  # noqa: E402

FRAMES_AT_ONCE = 32


class ContrastiveAdapter:
    """Looks at a clip once and compares every caption with it."""

    def __init__(self, spec: ModelSpec) -> None:
        if spec.folder is None:
            raise UserError("the contrastive adapter needs weights: set checkpoint or repo in the model's file.")
        torch.set_num_threads(spec.threads)
        self.preparer = FramesPreparer(spec)
        self._encoder = load_encoder(spec)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        return self.answers_about(Ready(self.preparer.read(clip), (), {}), requests)

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


class Parts(NamedTuple):
    """A model with what prepares its frames and its captions."""

    model: Any
    images: Any
    tokenizer: Any

    def pixels(self, frames: "np.ndarray") -> Any:
        """Prepared frames (frames, channels, height, width)."""
        pixels = self.images(list(frames), return_tensors="pt")["pixel_values"]
        return pixels.reshape(len(frames), *pixels.shape[-3:]).to(self.model.device, self.model.dtype)

    def ids(self, caption: str) -> Any:
        """A caption's tokens, cut to what the model can read. SigLIP was trained on texts filled up to that length."""
        longest = int(self.model.config.text_config.max_position_embeddings)
        filled = "max_length" if self.model.config.model_type == "siglip" else False
        encoded = self.tokenizer(caption, padding=filled, truncation=True, max_length=longest, return_tensors="pt")
        return encoded["input_ids"].to(self.model.device)


class FrameMean:
    """CLIP and SigLIP: the cosine of the caption's feature and the mean of the frames' features.

    The frames' features are averaged as they are and the mean is brought to unit length, as VELOCITI's authors do it.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def clip(self, frames: "np.ndarray") -> Any:
        pixels = self._parts.pixels(frames)
        features = [
            self._parts.model.get_image_features(pixel_values=some).pooler_output
            for some in pixels.split(FRAMES_AT_ONCE)
        ]
        return _unit(torch.cat(features).double().mean(0))

    def similarity(self, clip: Any, caption: str) -> tuple[float, int]:
        ids = self._parts.ids(caption)
        feature = self._parts.model.get_text_features(input_ids=ids).pooler_output[0]
        return (clip @ _unit(feature.double())).item(), int(ids.shape[1])


class Seen(NamedTuple):
    """What X-CLIP keeps of a clip: its feature, and the patches that its captions are read with."""

    feature: Any
    patches: Any


class VideoConditioned:
    """X-CLIP: a fixed number of frames that look at one another, and captions that are read with the clip in mind.

    The parts of the model's own forward, so that a clip is seen once; the similarity is its logit.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._frames = int(parts.model.config.vision_config.num_frames)

    def clip(self, frames: "np.ndarray") -> Seen:
        if len(frames) != self._frames:
            raise UserError(
                f"this X-CLIP takes {self._frames} frames and its run's sampling shows {len(frames)}. "
                f"Name a sampling of {self._frames} frames."
            )
        model = self._parts.model
        vision = model.vision_model(pixel_values=self._parts.pixels(frames))
        feature = model.mit(model.visual_projection(vision[1])[None])[1]
        patches = model.prompts_visual_layernorm(vision[0][:, 1:]) @ model.prompts_visual_projection
        return Seen(_unit(feature[0].double()), patches.mean(0, keepdim=True))

    def similarity(self, clip: Seen, caption: str) -> tuple[float, int]:
        model, ids = self._parts.model, self._parts.ids(caption)
        text = model.get_text_features(input_ids=ids).pooler_output[None]
        text = text + model.prompts_generator(text, clip.patches)
        logit = model.logit_scale.exp().double() * (clip.feature @ _unit(text[0, 0].double()))
        return float(logit), int(ids.shape[1])


Encoder = FrameMean | VideoConditioned
ENCODERS: dict[str, type[Encoder]] = {"clip": FrameMean, "siglip": FrameMean, "xclip": VideoConditioned}


def load_encoder(spec: ModelSpec) -> Encoder:
    """The encoder of a folder, by what its configuration says it is."""
    assert spec.folder is not None
    if (spec.folder / CONFIG).is_file():
        placing(spec)  # it fits, and no file is cut short
        model, images = load_open_clip(spec.folder, spec.device)
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
    return ENCODERS[model.config.model_type](Parts(model, images, load_part(AutoTokenizer, spec)))


def _unit(feature: Any) -> Any:
    return feature / feature.norm()
