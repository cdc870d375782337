"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward, greedy words from generate."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.adapters.asking import answered, load_model, load_part, option_probabilities, written_greedily
from reprise.models.adapters.base import Answer, Clip, ModelSpec, Request
from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: E402


class TransformersAdapter:
    """A video-language model with its processor and chat template, from one folder."""

    def __init__(self, spec: ModelSpec) -> None:
        if spec.folder is None:
            raise UserError("the transformers adapter needs weights: set checkpoint or repo in the model's file.")
        torch.set_num_threads(spec.threads)
        self._processor = load_part(AutoProcessor, spec)
        _check_processor(self._processor, spec.folder)
        self._model = load_model(AutoModelForImageTextToText, spec)
        self._device = spec.device

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Decode the clip once, then ask its questions one by one."""
        frames = read_frames(clip.path, clip.indices) if clip.path is not None and clip.indices else None
        for request in requests:
            yield answered(partial(self._answer, request, clip, frames))

    def _answer(self, request: Request, clip: Clip, frames: "np.ndarray | None") -> Answer:
        inputs = self._inputs(request, clip, frames)
        tokens_in = int(inputs["input_ids"].shape[1])
        shown = 0 if frames is None else len(frames)
        if request.ask == "score":
            logits = self._model(**inputs, logits_to_keep=1).logits[0, -1]
            scores = option_probabilities(logits, self._processor.tokenizer, request.options)
            return Answer(scores=scores, frames_shown=shown, tokens_in=tokens_in)
        new = written_greedily(self._model, inputs, request.max_tokens)[tokens_in:]
        text = self._processor.tokenizer.decode(new, skip_special_tokens=True)
        return Answer(text=text, frames_shown=shown, tokens_in=tokens_in, tokens_out=len(new))

    def _inputs(self, request: Request, clip: Clip, frames: "np.ndarray | None") -> Any:
        content: list[dict[str, str]] = [] if frames is None else [{"type": "video"}]
        content.append({"type": "text", "text": request.prompt})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if request.system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": request.system}]})
        text = self._processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        given = {**_video(clip, frames), **_specials(text, self._processor.tokenizer.bos_token)}
        return self._processor(text=[text], return_tensors="pt", **given).to(self._device, self._model.dtype)


def _check_processor(processor: Any, folder: Path) -> None:
    if not hasattr(processor, "tokenizer"):
        raise UserError(
            f"{folder}: the transformers adapter needs a processor for text and video, found a "
            f"{type(processor).__name__}. A language model has `adapter: text`, a dual encoder `adapter: contrastive`."
        )
    if not processor.chat_template:
        raise UserError(
            f"{folder}: the checkpoint has no chat template. Add the chat_template.jinja of its model family to the "
            "checkpoint, or use a revision that has one."
        )


def _video(clip: Clip, frames: "np.ndarray | None") -> dict[str, Any]:
    """What a processor is given of a clip: its frames are sampled already, whatever the checkpoint's own setting is."""
    if frames is None:
        return {}
    return {"videos": [frames], "video_metadata": [metadata_of(clip)], "do_sample_frames": False}


def _specials(text: str, begin: str | None) -> dict[str, bool]:
    """A tokenizer adds the token that begins a text, unless the chat template wrote it already."""
    return {"add_special_tokens": False} if begin and text.startswith(begin) else {}


def metadata_of(clip: Clip) -> dict[str, Any]:
    """What processors want to know of frames that are sampled already: their rate and their number.

    Without it they assume 24 frames a second, and models with temporal positions squeeze the clip together.
    """
    count = len(clip.times_s)
    span = clip.times_s[-1] - clip.times_s[0] if count > 1 else 0.0
    rate = float(Fraction((count - 1) / span).limit_denominator(1000)) if span > 0 else 1.0
    return {
        "total_num_frames": count,
        "fps": rate,
        "duration": count / rate,
        "frames_indices": list(range(count)),
    }
