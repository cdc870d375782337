"""Loading a checkpoint's parts, or one message that says what is wrong with it."""

from typing import Any

from reprise.core.errors import UserError
from reprise.models.adapters.base import ModelSpec
from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from safetensors import SafetensorError  # noqa: E402
from transformers import (  # noqa: E402
    AutoConfig,
    AutoProcessor,
    AutoTokenizer,
    LlavaNextImageProcessor,
    LlavaNextVideoProcessor,
    LlavaNextVideoVideoProcessor,
)

LISTED = 3
OWN_DTYPE = "checkpoint"


def load_part(kind: Any, spec: ModelSpec, **options: Any) -> Any:
    """A model, processor or tokenizer of a checkpoint, by one of transformers' auto classes."""
    try:
        return kind.from_pretrained(
            spec.folder, trust_remote_code=spec.trust_remote_code, local_files_only=True, **options
        )
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{spec.folder}: {kind.__name__} cannot load this checkpoint: {reason} "
            "Correct the checkpoint, or `adapter`, `attention` or `trust_remote_code` in the model's file."
        ) from error


def dtype_of(spec: ModelSpec) -> Any:
    """The type of the weights; none where it is the checkpoint's own."""
    return None if spec.dtype == OWN_DTYPE else getattr(torch, spec.dtype)


def load_model(kind: Any, spec: ModelSpec) -> Any:
    """A model with the settings of its file, ready to be asked."""
    model, found = load_part(
        kind, spec, dtype=dtype_of(spec) or "auto", attn_implementation=spec.attention, output_loading_info=True
    )
    missing = sorted({*found["missing_keys"], *(name for name, *_ in found["mismatched_keys"])})
    if missing:
        listed = ", ".join(missing[:LISTED]) + (f" and {len(missing) - LISTED} more" if len(missing) > LISTED else "")
        raise UserError(
            f"{spec.folder}: {len(missing)} weights of {type(model).__name__} are not in its files, or have another "
            f"shape: {listed}. Random numbers would stand in for them. Fetch the checkpoint again, or correct it."
        )
    return model.to(spec.device).eval()


def load_processor(spec: ModelSpec) -> Any:
    """What prepares the inputs of a video-language model; it must have a tokenizer and a chat template."""
    is_next_video = load_part(AutoConfig, spec).model_type == "llava_next_video"
    processor = _next_video_processor(spec) if is_next_video else load_part(AutoProcessor, spec)
    if not hasattr(processor, "tokenizer"):
        raise UserError(
            f"{spec.folder}: the transformers adapter needs a processor for text and video, found a "
            f"{type(processor).__name__}. A language model has `adapter: text`, a dual encoder `adapter: contrastive`."
        )
    if not processor.chat_template:
        raise UserError(
            f"{spec.folder}: the checkpoint has no chat template. Add the chat_template.jinja of its model family to "
            "the checkpoint, or use a revision that has one."
        )
    return processor


def _next_video_processor(spec: ModelSpec) -> Any:
    """LLaVA-NeXT-Video's, from its parts: where the hub has no settings of its video processor but those for images,
    AutoProcessor looks for a class of another name without end."""
    parts = {
        "video_processor": load_part(LlavaNextVideoVideoProcessor, spec),
        "image_processor": load_part(LlavaNextImageProcessor, spec),
        "tokenizer": load_part(AutoTokenizer, spec),
    }
    settings, _ = LlavaNextVideoProcessor.get_processor_dict(spec.folder, local_files_only=True)
    return LlavaNextVideoProcessor.from_args_and_dict(
        [parts[name] for name in LlavaNextVideoProcessor.get_attributes()], settings
    )
