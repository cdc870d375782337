"""Load checkpoints of torch models, or explain in one message why that fails, and compute answers with them.

A protocol asks for the most likely text, token by token. A checkpoint does not decide how to search, sample, cache or
return it; `generate` uses its own defaults for every setting that is not listed here.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from reprise.models.local.torch_setup import torch

import psutil
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoProcessor,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
    LlavaNextImageProcessor,
    LlavaNextVideoProcessor,
    LlavaNextVideoVideoProcessor,
    LogitsProcessor,
    LogitsProcessorList,
)

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.base import Answer, AnswerError, ModelSpec
from reprise.models.local.device_memory import (
    DTYPE_BYTES,
    ClipSize,
    allocate_all_devices,
    allocate_devices,
    estimate_memory,
)
from reprise.models.local.placement import build_device_map, create_on_meta
from reprise.models.local.weights import (
    LOAD_TIME_METHODS,
    check_no_adapter,
    check_quantisation,
    check_quantisation_packages,
    read_checkpoint_dtype,
    read_tensors,
)
from reprise.models.options import PROTOCOL_ADVICE, reject_shared_token
from reprise.models.thoughts import strip_thought

OUT_OF_MEMORY = "out_of_memory"
# Messages of libraries below torch for a device without free memory.
ALLOCATION_ERRORS = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")

MAX_LISTED = 3
# Below this number of weights a second thread uses a third more processor time and saves no wall time.
SINGLE_THREAD_MAX_WEIGHTS = 5_000_000

# --- settings of a checkpoint --------------------------------------------------------------------------------------

# The tokens that begin and end a text; every checkpoint names them.
SPECIAL_TOKENS = frozenset({"eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id"})
# Settings that inspect or count the tokens of a prompt. Padding tokens of a batch would count as part of the prompt.
PROMPT_SETTINGS = frozenset({
    "repetition_penalty", "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "min_length",
})  # fmt: skip
SUPPORTED_SETTINGS = SPECIAL_TOKENS | PROMPT_SETTINGS | {
    "bad_words_ids", "sequence_bias", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
    "forced_eos_token_id", "exponential_decay_length_penalty", "min_new_tokens",
}  # fmt: skip
# Settings that also change texts but are not supported here; the model is rejected.
UNSUPPORTED_SETTINGS = ("stop_strings", "guidance_scale", "watermarking_config", "token_healing", "dola_layers")
# Entries without effect: metadata of the file itself, and neutral values.
METADATA_SETTINGS = frozenset({"transformers_version", "_from_model_config", "generation_kwargs"})
NEUTRAL_VALUES = {
    "use_cache": True, "do_sample": False, "num_beams": 1, "num_return_sequences": 1, "max_length": 20,
    "output_attentions": False, "output_hidden_states": False, "output_scores": False, "output_logits": False,
    "return_dict_in_generate": False, "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "min_length": 0, "min_new_tokens": 0,
}  # fmt: skip


def split_generation_settings(config: GenerationConfig, folder: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a checkpoint's generation settings: those that are kept, and those that a default replaces."""
    settings = {
        name: value
        for name, value in config.to_diff_dict().items()
        if name not in METADATA_SETTINGS
        and value is not None
        and (name not in NEUTRAL_VALUES or NEUTRAL_VALUES[name] != value)
    }
    refused = [name for name in UNSUPPORTED_SETTINGS if settings.get(name)]
    if refused:
        raise UserError(
            f"{folder}: `{refused[0]}` in generation_config.json (or config.json) affects what the model writes and is "
            "not supported. Remove it from a copy of the checkpoint, which then writes other texts, or import answers "
            "that were produced elsewhere."
        )
    supported = {name: value for name, value in settings.items() if name in SUPPORTED_SETTINGS}
    return supported, {name: value for name, value in settings.items() if name not in SUPPORTED_SETTINGS}


# --- loading ----


def load_part(auto_class: Any, spec: ModelSpec, **options: Any) -> Any:
    """Load a checkpoint's model, processor or tokenizer by one of transformers' auto classes."""
    check_no_adapter(spec.weights)
    try:
        return auto_class.from_pretrained(
            spec.weights, trust_remote_code=spec.trust_remote_code, local_files_only=True, **options
        )
    except MemoryError:
        raise
    except Exception as error:  # files in an unexpected form raise errors of any kind
        reason = str(error).partition("\n")[0]
        if not isinstance(error, OSError | ValueError | ImportError | SafetensorError):
            reason = f"one of its files has an unexpected form ({type(error).__name__}: {reason})."
        raise UserError(
            f"{spec.folder}: {auto_class.__name__} cannot load this checkpoint: {reason} "
            "Correct the checkpoint, or `adapter`, `attention` or `trust_remote_code` in the model's file."
        ) from error


def resolve_dtype(spec: ModelSpec) -> Any:
    """Return the type of the weights; None for that of the checkpoint."""
    return None if spec.dtype == "checkpoint" else getattr(torch, spec.dtype)


def set_thread_count(spec: ModelSpec) -> None:
    """Make torch use the threads of a model's file, or one if more would only cost processor time."""
    weights = sum(math.prod(tensor.shape) for tensor in read_tensors(spec.weights).values())
    torch.set_num_threads(1 if weights < SINGLE_THREAD_MAX_WEIGHTS else spec.threads)


def load_model(auto_class: Any, spec: ModelSpec, clip: ClipSize | None = None) -> Any:
    """Load a model with the settings of its file onto its devices, with room for clips of a size."""
    options, quantised = plan_device_map(spec, auto_class, clip), spec.settings.get("quantised")
    if quantised == "int8":
        # Otherwise it logs a warning about half precision for every layer and every question.
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    elif quantised in LOAD_TIME_METHODS:
        compute_dtype = resolve_dtype(spec) or getattr(torch, read_checkpoint_dtype(spec.weights) or "float32")
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type=quantised, bnb_4bit_compute_dtype=compute_dtype
        )
    model, loading = load_part(
        auto_class,
        spec,
        dtype=resolve_dtype(spec) or "auto",
        attn_implementation=spec.attention,
        output_loading_info=True,
        **options,
    )
    missing = sorted({*loading["missing_keys"], *(name for name, *_ in loading["mismatched_keys"])})
    if missing:
        names = ", ".join(missing[:MAX_LISTED]) + (
            f" and {len(missing) - MAX_LISTED} more" if len(missing) > MAX_LISTED else ""
        )
        raise UserError(
            f"{spec.folder}: {len(missing)} weights of {type(model).__name__} are not in its files, or have another "
            f"shape: {names}. They would be random numbers. Fetch the checkpoint again, or correct it."
        )
    if model.can_generate():
        supported, _ = split_generation_settings(model.generation_config, spec.weights)
        model.generation_config = GenerationConfig(**supported)
    return model.eval()


def plan_device_map(spec: ModelSpec, auto_class: Any = None, clip: ClipSize | None = None) -> dict[str, Any]:
    """Return the arguments that load weights straight to their devices; raise a UserError if there is no room for them.

    Only a model of one of transformers' classes can use several devices. It then uses all visible devices, because
    additional devices provide more room.
    """
    quantised = spec.settings.get("quantised")
    check_quantisation(quantised, spec.weights)
    check_quantisation_packages(quantised, spec.weights)
    free = spec.memory
    if not free and spec.device == "cpu":
        free = {"cpu": psutil.virtual_memory().available}
    elif not free:
        if not torch.cuda.is_available():
            raise UserError(
                f"the model's file requests a GPU (`gpus`), but torch {torch.__version__} finds none that it can use. "
                "Install a build of torch for this GPU and its driver, or remove `gpus` to run the model on the CPU."
            )
        free = {number: torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count())}
    requirement, free_bytes = estimate_memory(spec.weights, spec.dtype, quantised, clip), tuple(free.values())
    placement = allocate_devices(requirement, free_bytes, str(spec.weights), spec.gpus_per_copy or 1)
    if len(placement) > 1 and auto_class is not None:
        placement = allocate_all_devices(requirement, free_bytes) or placement
        log.info(f"the model is spread over {len(placement)} of {len(free)} devices")
        width = DTYPE_BYTES.get(
            (read_checkpoint_dtype(spec.weights) if spec.dtype == "checkpoint" else spec.dtype) or "", 4
        )
        model = create_on_meta(auto_class, load_part(AutoConfig, spec), trust_remote_code=spec.trust_remote_code)
        rooms = dict(zip(free, placement, strict=False))
        return {"device_map": build_device_map(model, requirement.weights, width, rooms, spec.weights)}
    first = next(iter(free))
    return {"device_map": {"": first}} if first != "cpu" or quantised else {}


def load_processor(spec: ModelSpec) -> Any:
    """Load the processor of a video-language model; it must have a tokenizer and a chat template."""
    kind = load_part(AutoConfig, spec).model_type
    if kind == "mllama":
        raise UserError(
            f"{spec.folder}: models of type {kind} are not supported: they receive frames by cross attention instead "
            "of tokens, so it cannot be verified that all frames reach the model, and they were trained on single "
            "images. Import answers that were produced elsewhere (docs/howto/import-answers.md), or use a server."
        )
    if kind == "llava_next_video":
        # It is built from its parts: if the hub only has image settings for its video processor, AutoProcessor searches
        # endlessly for a class of another name.
        kinds = {
            "video_processor": LlavaNextVideoVideoProcessor,
            "image_processor": LlavaNextImageProcessor,
            "tokenizer": AutoTokenizer,
        }
        settings, _ = LlavaNextVideoProcessor.get_processor_dict(spec.weights, local_files_only=True)
        parts = [load_part(kinds[name], spec) for name in LlavaNextVideoProcessor.get_attributes()]
        processor: Any = LlavaNextVideoProcessor.from_args_and_dict(parts, settings)
    else:
        processor = load_part(AutoProcessor, spec)
    if not hasattr(processor, "tokenizer"):
        raise UserError(
            f"{spec.folder}: the transformers adapter needs a processor for text and video, found a "
            f"{type(processor).__name__}. Use `adapter: text` for a language model, `adapter: contrastive` for a dual "
            "encoder."
        )
    if not processor.chat_template:
        raise UserError(
            f"{spec.folder}: the checkpoint has no chat template. Add the chat_template.jinja of its model family to "
            "the checkpoint, or use a revision that has one."
        )
    return processor


# --- inference -----------------------------------------------------------------------------------------------------


class NotFiniteError(Exception):
    """A model computed NaN, as half precision may; its most likely token would be token 0."""


@contextmanager
def inference() -> Iterator[None]:
    """Disable gradients; an out-of-memory error fails the clip and not the run."""
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        if not isinstance(error, torch.cuda.OutOfMemoryError) and not any(
            message in str(error) for message in ALLOCATION_ERRORS
        ):
            raise
        torch.cuda.empty_cache()
        raise AnswerError(OUT_OF_MEMORY, str(error)) from error


def answer_or_error(compute_answer: Callable[[], Answer]) -> Answer:
    """Return the answer to one question; if its text cannot be computed, only this question fails."""
    try:
        with inference():
            return compute_answer()
    except NotFiniteError:
        return Answer(error="not_finite")


class _RefuseNaN(LogitsProcessor):  # type: ignore[misc]
    """Abort generation at the first token whose scores are NaN."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if torch.isnan(scores).any():
            raise NotFiniteError
        return scores


def generate_tokens(model: Any, inputs: Any, max_tokens: int) -> Any:
    """Return the most likely tokens that `generate` produces for each prompt; shorter texts are padded at the end."""
    checks = LogitsProcessorList([_RefuseNaN()])
    return model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False, logits_processor=checks)


def decode_answer(tokenizer: Any, new_tokens: Any, *, opens_thought: bool, tokens_in: int, frames: int = 0) -> Answer:
    """Decode the tokens after a thought, whose markers may be special tokens.

    A thought that did not end is an error.
    """
    full_text = tokenizer.decode(new_tokens)
    text = strip_thought(full_text, opens_thought=opens_thought)
    if text is None:
        message = (
            f"the thought did not end within {len(new_tokens)} tokens. Raise settings.max_tokens in the model's file"
        )
        return Answer(error="still_thinking", message=message)
    if text is full_text:
        text = str(tokenizer.decode(new_tokens, skip_special_tokens=True))
    else:
        for special_token in tokenizer.all_special_tokens:
            text = text.replace(special_token, "")
    return Answer(text=text, frames_shown=frames, tokens_in=tokens_in, tokens_out=len(new_tokens))


def get_input_device(model: Any) -> Any:
    """Return the device for the inputs of a model; the first one if the model uses several."""
    devices = [device for device in getattr(model, "hf_device_map", {}).values() if device != "disk"]
    return torch.device(devices[0]) if devices else model.device


# --- options -------------------------------------------------------------------------------------------------------


def compute_option_probabilities(logits: Any, tokens: Sequence[int]) -> tuple[float, ...]:
    """Return each option token's softmax probability over the whole vocabulary at the first answer position."""
    probabilities = torch.softmax(logits.double(), dim=-1)
    return tuple(float(probabilities[token]) for token in tokens)


@cache
def tokenize_options(tokenizer: Any, options: tuple[str, ...]) -> list[int]:
    """Return the single token of each option; raise a UserError if an option has several."""
    encoded = {option: tokenizer(option, add_special_tokens=False)["input_ids"] for option in options}
    if any(len(tokens) != 1 for tokens in encoded.values()):
        details = (f"'{option}' is {tokenizer.convert_ids_to_tokens(tokens)}" for option, tokens in encoded.items())
        raise UserError(
            f"{tokenizer.name_or_path}: {', '.join(details)}; a score needs options of one token each. "
            f"{PROTOCOL_ADVICE}"
        )
    tokens = {option: int(encoded[option][0]) for option in options}
    unknown = [option for option, token in tokens.items() if token == tokenizer.unk_token_id]
    if unknown:
        raise UserError(f"{tokenizer.name_or_path}: its vocabulary has no token '{unknown[0]}'. {PROTOCOL_ADVICE}")
    reject_shared_token(tokenizer.name_or_path, tokens)
    return list(tokens.values())


def check_scores(spec: ModelSpec, tokenizer: Any, *, opens_thought: bool) -> None:
    """Raise a UserError if scored options are not one token each, or would be scored inside a thought."""
    for options in spec.options:
        tokenize_options(tokenizer, options)
    if opens_thought and spec.options:
        raise UserError(
            f"{spec.folder}: the chat template opens a thought (<think>), so the first token's probabilities are not "
            "those of the options. If the template has an argument for it, add `template_arguments: {enable_thinking: "
            "false}` to `settings` in the model's file. Otherwise use a protocol with `ask: choose` or `ask: write`, "
            "and set `settings.max_tokens`."
        )


# --- context length -------------------------------------------------------------------------------------------------


def get_context_length(config: Any) -> int | None:
    """Return the context length of a language model in tokens; None if its configuration states no limit.

    Scaled positions extend it beyond the number of positions, unless the configuration includes that already.
    """
    positions: int | None = getattr(config, "max_position_embeddings", None)
    scaling = getattr(config, "rope_parameters", None) or {}
    if positions is None or not isinstance(scaling.get("factor"), int | float):
        return positions
    return max(positions, int(scaling["factor"] * scaling.get("original_max_position_embeddings", positions)))


def check_context_length(tokens: int, new_tokens: int, context_length: int | None) -> None:
    """Raise an AnswerError unless a prompt and its new tokens fit in the context."""
    if context_length is not None and tokens + new_tokens > context_length:
        raise AnswerError(
            "beyond_context",
            f"{tokens} prompt tokens and {new_tokens} new tokens exceed the context length of {context_length}",
        )
