"""What can be said of a checkpoint without its weights: whether its class is known, and what reaches it of a video."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from reprise.core.errors import UserError
from reprise.media.decoder import Footage
from reprise.models.base import AnswerError, ModelSpec
from reprise.models.local.forward import option_tokens
from reprise.models.local.generation import Generation
from reprise.models.local.loading import load_part
from reprise.models.local.prepared import clip_processor
from reprise.models.local.quantised import check_named
from reprise.models.local.torch_setup import prepare
from reprise.models.local.weight_files import check_no_adapter, unread_files

prepare()

from transformers import (  # noqa: E402  prepare() must come first
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
)

GENERATION = "generation_config.json"
# The options of protocols that ask for a score.
OPTIONS = (("Yes", "No"), ("A", "B"))
# A clip that is made up: as many frames as most protocols show, of a common size.
FRAMES, HEIGHT, WIDTH = 8, 360, 640


def differences(adapter: str, spec: ModelSpec) -> Iterator[str]:
    """What of a checkpoint's files is not what the adapter needs; its weights are not looked at."""
    if adapter in ("transformers", "text"):
        try:
            assert spec.folder is not None
            check_no_adapter(spec.folder)
            Generation.of(_generation_config(spec), spec.folder)
            check_named(spec.settings.get("quantised"), spec.folder)
            if adapter == "transformers":
                yield from _of_class(spec, AutoModelForImageTextToText)
                processor = clip_processor(spec)
                yield from _of_options(processor.processor.tokenizer)
                noise = np.random.default_rng(0).integers(0, 256, (FRAMES, HEIGHT, WIDTH, 3), dtype=np.uint8)
                clip = processor.prepare(Footage(noise, tuple(range(0, FRAMES * 24, 24)), 24.0, FRAMES * 24))
                if processor.context is not None and clip.placeholders > processor.context:
                    yield (
                        f"{FRAMES} frames of {WIDTH}x{HEIGHT} are {clip.placeholders} tokens, and the model reads "
                        f"{processor.context}. Set `settings.max_pixels`, or show it fewer frames."
                    )
            elif spec.settings.get("head") is None:
                yield from _of_class(spec, AutoModelForCausalLM, AutoModelForSeq2SeqLM)
                yield from _of_options(load_part(AutoTokenizer, spec))
        except (UserError, AnswerError) as error:
            yield str(error)


def notes(spec: ModelSpec) -> Iterator[str]:
    """What a person may not expect of a checkpoint whose answers are right: its own settings, and files without use."""
    assert spec.folder is not None
    generation = Generation.of(_generation_config(spec), spec.folder)
    for words, settings in (("kept", generation.told), ("not used", generation.replaced)):
        if settings:
            listed = ", ".join(f"{name}: {value}" for name, value in settings.items())
            yield f"settings that are {words}: {listed} (of the checkpoint, for written answers)"
    unread = unread_files(spec.folder, runs_code=spec.trust_remote_code)
    if unread:
        yield f"files that are not read:  {', '.join(unread)}"
    if spec.settings.get("template_arguments"):
        yield f"template arguments:       {spec.settings['template_arguments']}"
    if clip_processor(spec).opens_thought:
        yield "thoughts:                 the chat template opens one; answers are read behind it"


def _generation_config(spec: ModelSpec) -> GenerationConfig:
    """As transformers finds it: in a file of its own, or else among the settings of the model."""
    assert spec.folder is not None
    if (spec.folder / GENERATION).is_file():
        return load_part(GenerationConfig, spec)
    return GenerationConfig.from_model_config(load_part(AutoConfig, spec))


def _of_class(spec: ModelSpec, *kinds: Any) -> Iterator[str]:
    config = load_part(AutoConfig, spec)
    if not spec.trust_remote_code and not any(type(config) in kind._model_mapping for kind in kinds):
        yield f"transformers has no {' or '.join(kind.__name__ for kind in kinds)} of model_type '{config.model_type}'."


def _of_options(tokenizer: Any) -> Iterator[str]:
    for options in OPTIONS:
        try:
            option_tokens(tokenizer, options)
        except UserError as error:
            yield str(error)
