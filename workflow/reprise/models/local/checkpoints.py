"""Load checkpoints of torch models, explain failures in one message, and compute answers.

Texts are decoded greedily, so a checkpoint's settings for beam search, sampling or caching are ignored. For all
settings that are not listed here, `generate` uses its own defaults.
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
from transformers.utils.logging import disable_progress_bar

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.plain import summarize_list
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
# Messages with which CUDA libraries report that a device has no free memory.
ALLOCATION_ERRORS = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")

MAX_LISTED_WEIGHTS = 3  # in a message
# With fewer weights, a second thread uses a third more processor time and saves no wall time.
SINGLE_THREAD_MAX_WEIGHTS = 5_000_000

disable_progress_bar()  # The log of a job would get a line for each step.


def _is_needed(record: logging.LogRecord) -> bool:
    """Return whether a message of transformers says more than the messages of `load_model`."""
    text = record.getMessage()
    return "LOAD REPORT" not in text or "CONVERSION" in text


logging.getLogger("transformers.modeling_utils").addFilter(_is_needed)

# --- settings of a checkpoint --------------------------------------------------------------------------------------

# The tokens that begin and end a text, which every checkpoint defines.
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
# Unsupported settings that affect texts; a model with one of them is rejected.
UNSUPPORTED_SETTINGS = ("stop_strings", "guidance_scale", "watermarking_config", "token_healing", "dola_layers")
# Entries without effect: metadata of the file, and neutral values of settings.
METADATA_SETTINGS = frozenset({"transformers_version", "_from_model_config", "generation_kwargs"})
NEUTRAL_VALUES = {
    "use_cache": True, "do_sample": False, "num_beams": 1, "num_return_sequences": 1, "max_length": 20,
    "output_attentions": False, "output_hidden_states": False, "output_scores": False, "output_logits": False,
    "return_dict_in_generate": False, "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "min_length": 0, "min_new_tokens": 0,
}  # fmt: skip


def split_generation_settings(config: GenerationConfig, folder: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the generation settings of a checkpoint that are supported, and those that are ignored."""
    settings = {
        name: value
        for name, value in config.to_diff_dict().items()
        if name not in METADATA_SETTINGS
        and value is not None
        and (name not in NEUTRAL_VALUES or NEUTRAL_VALUES[name] != value)
    }
    unsupported = [name for name in UNSUPPORTED_SETTINGS if settings.get(name)]
    if unsupported:
        raise UserError(
            f"{folder}: `{unsupported[0]}` in generation_config.json (or config.json) affects what the model writes "
            "and is not supported. Remove it from a copy of the checkpoint, which then writes other texts, or import "
            "answers that were produced elsewhere."
        )
    supported = {name: value for name, value in settings.items() if name in SUPPORTED_SETTINGS}
    return supported, {name: value for name, value in settings.items() if name not in SUPPORTED_SETTINGS}


# --- loading -------------------------------------------------------------------------------------------------------


def load_part(auto_class: Any, spec: ModelSpec, **options: Any) -> Any:
    """Load a checkpoint's model, configuration, processor or tokenizer with an auto class of transformers."""
    check_no_adapter(spec.weights_folder)
    try:
        return auto_class.from_pretrained(
            spec.weights_folder, trust_remote_code=spec.trust_remote_code, local_files_only=True, **options
        )
    except MemoryError:
        raise
    except Exception as error:  # malformed files raise errors of any class
        reason = str(error).partition("\n")[0].partition(" If you were trying to load it from")[0]
        if not isinstance(error, OSError | ValueError | ImportError | SafetensorError):
            reason = f"one of its files has an unexpected form ({type(error).__name__}: {reason})."
        raise UserError(
            f"{spec.folder}: {auto_class.__name__} cannot load this checkpoint: {reason} "
            "Correct the checkpoint, or `adapter`, `attention` or `trust_remote_code` in the model's file."
        ) from error


def resolve_dtype(spec: ModelSpec) -> Any:
    """Return the torch type in which weights are loaded; None for the checkpoint's own type."""
    return None if spec.dtype == "checkpoint" else getattr(torch, spec.dtype)


def set_thread_count(spec: ModelSpec) -> None:
    """Set torch's number of threads to that of the model's file, or to one if the model is small."""
    weight_count = sum(math.prod(tensor.shape) for tensor in read_tensors(spec.weights_folder).values())
    torch.set_num_threads(1 if weight_count < SINGLE_THREAD_MAX_WEIGHTS else spec.threads)


def load_model(auto_class: Any, spec: ModelSpec, clip: ClipSize | None = None) -> Any:
    """Load a model with the settings of its file, and leave memory for clips of this size on its devices."""
    options, quantised = plan_device_map(spec, auto_class, clip), spec.settings.get("quantised")
    if quantised == "int8":
        # Without this setting, the library logs a warning about half precision for every layer and question.
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    elif quantised in LOAD_TIME_METHODS:
        compute_dtype = resolve_dtype(spec) or getattr(torch, read_checkpoint_dtype(spec.weights_folder) or "float32")
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type=quantised, bnb_4bit_compute_dtype=compute_dtype
        )
    model, loading_info = load_part(
        auto_class,
        spec,
        dtype=resolve_dtype(spec) or "auto",
        attn_implementation=spec.attention,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # They are reported below.
        **options,
    )
    missing = sorted({*loading_info["missing_keys"], *(name for name, *_ in loading_info["mismatched_keys"])})
    if missing:
        names = ", ".join(summarize_list(missing, MAX_LISTED_WEIGHTS))
        raise UserError(
            f"{spec.folder}: {len(missing)} weights of {type(model).__name__} are not in its files, or have another "
            f"shape: {names}. They would be random numbers. Fetch the checkpoint again, or correct it."
        )
    if unused := sorted(loading_info["unexpected_keys"]):
        names = ", ".join(summarize_list(unused, MAX_LISTED_WEIGHTS))
        log.warning(f"{spec.folder}: {type(model).__name__} does not use {len(unused)} weights of its files: {names}.")
    if model.can_generate():
        supported, _ = split_generation_settings(model.generation_config, spec.weights_folder)
        model.generation_config = GenerationConfig(**supported)
    return model.eval()


def plan_device_map(spec: ModelSpec, auto_class: Any = None, clip: ClipSize | None = None) -> dict[str, Any]:
    """Return the arguments that load weights directly to their devices; raise a UserError if they do not fit.

    Only models of transformers' classes can be spread over several devices. A spread model uses all visible devices,
    because this leaves more memory for clips.
    """
    quantised = spec.settings.get("quantised")  # the method of quantisation, such as `int8`, or None
    check_quantisation(quantised, spec.weights_folder)
    check_quantisation_packages(quantised, spec.weights_folder)
    free_bytes_by_device = spec.free_bytes_by_device
    if not free_bytes_by_device and spec.device == "cpu":
        free_bytes_by_device = {"cpu": psutil.virtual_memory().available}
    elif not free_bytes_by_device:
        if not torch.cuda.is_available():
            raise UserError(
                f"the model's file requests a GPU (`gpus`), but torch {torch.__version__} finds none that it can use. "
                "Install a build of torch for this GPU and its driver, or remove `gpus` to run the model on the CPU."
            )
        free_bytes_by_device = {
            number: torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count())
        }
    requirement = estimate_memory(spec.weights_folder, spec.dtype, quantised, clip)
    free_bytes = tuple(free_bytes_by_device.values())
    capacities = allocate_devices(requirement, free_bytes, str(spec.weights_folder), spec.gpus_per_copy or 1)
    if len(capacities) > 1 and auto_class is not None:
        capacities = allocate_all_devices(requirement, free_bytes) or capacities
        log.info(f"the model is spread over {len(capacities)} of {len(free_bytes_by_device)} devices")
        dtype_bytes = DTYPE_BYTES.get(
            (read_checkpoint_dtype(spec.weights_folder) if spec.dtype == "checkpoint" else spec.dtype) or "", 4
        )
        model = create_on_meta(auto_class, load_part(AutoConfig, spec), trust_remote_code=spec.trust_remote_code)
        max_bytes_by_device = dict(zip(free_bytes_by_device, capacities, strict=False))
        return {
            "device_map": build_device_map(
                model, requirement.weight_bytes, dtype_bytes, max_bytes_by_device, spec.weights_folder
            )
        }
    first_device = next(iter(free_bytes_by_device))
    # Without a device map, transformers loads weights into main memory.
    return {"device_map": {"": first_device}} if first_device != "cpu" or quantised else {}


def load_processor(spec: ModelSpec) -> Any:
    """Load the processor of a video-language model; it must have a tokenizer and a chat template."""
    model_type = load_part(AutoConfig, spec).model_type
    if model_type == "mllama":
        raise UserError(
            f"{spec.folder}: models of type {model_type} are not supported: they receive frames by cross attention "
            "instead of tokens, so it cannot be verified that all frames reach the model, and they were trained on "
            "single images. Import answers that were produced elsewhere (docs/howto/import-answers.md), or use a "
            "server."
        )
    if model_type == "llava_next_video":
        # The processor is built from its parts, because AutoProcessor never returns if the checkpoint has only image
        # settings for its video processor.
        part_classes = {
            "video_processor": LlavaNextVideoVideoProcessor,
            "image_processor": LlavaNextImageProcessor,
            "tokenizer": AutoTokenizer,
        }
        settings, _ = LlavaNextVideoProcessor.get_processor_dict(spec.weights_folder, local_files_only=True)
        parts = [load_part(part_classes[name], spec) for name in LlavaNextVideoProcessor.get_attributes()]
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
    """A model computed NaN, for example because of half precision; its most likely token would be token 0."""


@contextmanager
def inference() -> Iterator[None]:
    """Disable gradients, and raise an out-of-memory error as an AnswerError, which does not end the job."""
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
    """Compute the answer to one question; return NaN in the model as a failure of this question."""
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
    """Generate the most likely tokens for each prompt, with padding at the end of shorter texts.

    The rows of a decoder-only model begin with the prompt, those of an encoder-decoder model with its start token.
    """
    checks = LogitsProcessorList([_RefuseNaN()])
    return model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False, logits_processor=checks)


def decode_answer(
    tokenizer: Any, new_tokens: Any, *, opens_thought: bool, tokens_in: int, frame_count: int = 0
) -> Answer:
    """Decode the tokens after the thought, or return a failure if the thought did not end.

    The markers of a thought may be special tokens, so special tokens are removed only after the thought.
    """
    full_text = tokenizer.decode(new_tokens)
    text = strip_thought(full_text, opens_thought=opens_thought)
    if text is None:
        message = (
            f"the thought did not end within {len(new_tokens)} tokens. Raise settings.max_tokens in the model's file"
        )
        return Answer(error="still_thinking", message=message)
    if text is full_text:  # There was no thought.
        text = str(tokenizer.decode(new_tokens, skip_special_tokens=True))
    else:
        for special_token in tokenizer.all_special_tokens:
            text = text.replace(special_token, "")
    return Answer(text=text, frames_shown=frame_count, tokens_in=tokens_in, tokens_out=len(new_tokens))


def get_input_device(model: Any) -> Any:
    """Return the device for a model's inputs; the first one if the model uses several devices."""
    devices = [device for device in getattr(model, "hf_device_map", {}).values() if device != "disk"]
    return torch.device(devices[0]) if devices else model.device


# --- options -------------------------------------------------------------------------------------------------------


def compute_option_probabilities(logits: Any, option_tokens: Sequence[int]) -> tuple[float, ...]:
    """Return each option token's softmax probability over the whole vocabulary at the first answer position."""
    probabilities = torch.softmax(logits.double(), dim=-1)
    return tuple(float(probabilities[token]) for token in option_tokens)


@cache
def tokenize_options(tokenizer: Any, options: tuple[str, ...]) -> list[int]:
    """Return the single token of each option; raise a UserError if an option is more than one token."""
    encoded = {option: tokenizer(option, add_special_tokens=False)["input_ids"] for option in options}
    if any(len(tokens) != 1 for tokens in encoded.values()):
        details = (f"'{option}' is {tokenizer.convert_ids_to_tokens(tokens)}" for option, tokens in encoded.items())
        raise UserError(
            f"{tokenizer.name_or_path}: {', '.join(details)}; a score needs options of one token each. "
            f"{PROTOCOL_ADVICE}"
        )
    tokens = {option: int(encoded[option][0]) for option in options}
    unknown_options = [option for option, token in tokens.items() if token == tokenizer.unk_token_id]
    if unknown_options:
        raise UserError(
            f"{tokenizer.name_or_path}: its vocabulary has no token '{unknown_options[0]}'. {PROTOCOL_ADVICE}"
        )
    reject_shared_token(tokenizer.name_or_path, tokens)
    return list(tokens.values())


def check_scores(spec: ModelSpec, tokenizer: Any, *, opens_thought: bool) -> None:
    """Raise a UserError if a scored option is more than one token, or if answers begin with a thought."""
    for options in spec.option_sets:
        tokenize_options(tokenizer, options)
    if opens_thought and spec.option_sets:
        raise UserError(
            f"{spec.folder}: the chat template opens a thought (<think>), so the first token's probabilities are not "
            "those of the options. If the template has an argument for it, add `template_arguments: {enable_thinking: "
            "false}` to `settings` in the model's file. Otherwise use a protocol with `request_type: choose` or "
            "`request_type: write`, and set `settings.max_tokens`."
        )


# --- context length -------------------------------------------------------------------------------------------------


def get_context_length(config: Any) -> int | None:
    """Return the context length of a language model in tokens; None if its configuration states no limit.

    Scaled positions extend the length beyond the number of positions, unless that number already includes the scaling.
    """
    positions: int | None = getattr(config, "max_position_embeddings", None)
    scaling = getattr(config, "rope_parameters", None) or {}
    if positions is None or not isinstance(scaling.get("factor"), int | float):
        return positions
    return max(positions, int(scaling["factor"] * scaling.get("original_max_position_embeddings", positions)))


def check_context_length(prompt_token_count: int, new_token_count: int, context_length: int | None) -> None:
    """Raise an AnswerError if the tokens of a prompt and its answer exceed the context length."""
    if context_length is not None and prompt_token_count + new_token_count > context_length:
        raise AnswerError(
            "beyond_context",
            f"{prompt_token_count} prompt tokens and {new_token_count} new tokens exceed the context length of "
            f"{context_length}",
        )
