"""Check a checkpoint without its weights: whether its class is supported and whether frames reach the model."""

from collections.abc import Iterator
from typing import Any

from reprise.models.local.torch_setup import torch  # noqa: F401  before transformers

import numpy as np
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
)

from reprise.core.errors import UserError
from reprise.media.decoder import Footage
from reprise.models.base import AnswerError, ModelSpec
from reprise.models.local.checkpoints import SPECIAL_TOKENS, load_part, split_generation_settings, tokenize_options
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.weights import check_quantisation, find_unused_files

# Adapter -> the auto classes that it loads.
AUTO_CLASSES: dict[str, tuple[Any, ...]] = {
    "transformers": (AutoModelForImageTextToText,),
    "text": (AutoModelForCausalLM, AutoModelForSeq2SeqLM),
}
# The options of the benchmarks' protocols with scored questions; each must be one token.
SCORED_OPTIONS = (("Yes", "No"), ("A", "B"))
# Size of a synthetic clip: as many frames as most protocols use, in a common resolution.
FRAME_COUNT, HEIGHT, WIDTH = 8, 360, 640


def find_incompatibilities(adapter: str, spec: ModelSpec) -> Iterator[str]:
    """Yield each reason why an adapter cannot use a checkpoint, without reading the weights."""
    if adapter not in AUTO_CLASSES:
        return
    try:
        _load_generation_settings(spec)
        check_quantisation(spec.settings.get("quantised"), spec.weights_folder)
        # `head: vera` loads the encoder VERA; the checks below are for models that generate.
        if spec.settings.get("head") is not None:
            return
        config, auto_classes = load_part(AutoConfig, spec), AUTO_CLASSES[adapter]
        if not spec.trust_remote_code and not any(
            type(config) in auto_class._model_mapping for auto_class in auto_classes
        ):
            class_names = " or ".join(auto_class.__name__ for auto_class in auto_classes)
            yield f"transformers has no {class_names} of model_type '{config.model_type}'."
        processor = ClipProcessor(spec) if adapter == "transformers" else None
        tokenizer = load_part(AutoTokenizer, spec) if processor is None else processor.processor.tokenizer
        for options in SCORED_OPTIONS:
            tokenize_options(tokenizer, options)
        if processor is not None:
            noise = np.random.default_rng(0).integers(0, 256, (FRAME_COUNT, HEIGHT, WIDTH, 3), dtype=np.uint8)
            clip = processor.prepare(Footage(noise, tuple(range(0, FRAME_COUNT * 24, 24)), 24.0, FRAME_COUNT * 24))
            if processor.context_length is not None and clip.placeholder_count > processor.context_length:
                yield (
                    f"{FRAME_COUNT} frames of {WIDTH}x{HEIGHT} are {clip.placeholder_count} tokens, but the context "
                    f"length is {processor.context_length}. Set `settings.max_pixels`, or send fewer frames."
                )
    except (UserError, AnswerError) as error:
        yield str(error)


def detect_frame_mode(spec: ModelSpec) -> str:
    """Return how a checkpoint's processor and chat template accept frames: as a `video` or as `images`."""
    return ClipProcessor(spec).frame_mode


def collect_notes(spec: ModelSpec) -> Iterator[str]:
    """Yield unexpected properties of a valid checkpoint: generation settings, unused files and thoughts."""
    supported, replaced = _load_generation_settings(spec)
    reported = {name: value for name, value in supported.items() if name not in SPECIAL_TOKENS}
    for label, settings in (("kept", reported), ("not used", replaced)):
        if settings:
            listing = ", ".join(f"{name}: {value}" for name, value in settings.items())
            yield f"generation settings of the checkpoint that are {label} for written answers: {listing}"
    unused_files = find_unused_files(spec.weights_folder, trust_remote_code=spec.trust_remote_code)
    if unused_files:
        yield f"files that are not read:  {', '.join(unused_files)}"
    if ClipProcessor(spec).opens_thought:
        yield "thoughts:                 the chat template begins each answer with a thought, which is removed"


def _load_generation_settings(spec: ModelSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load the supported and the replaced generation settings, from their own file or the model configuration."""
    if (spec.weights_folder / "generation_config.json").is_file():
        config = load_part(GenerationConfig, spec)
    else:
        config = GenerationConfig.from_model_config(load_part(AutoConfig, spec))
    return split_generation_settings(config, spec.weights_folder)
