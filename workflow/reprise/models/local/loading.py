"""Loading a checkpoint's parts, or one message that says what is wrong with it."""

import logging
from collections.abc import Mapping
from typing import Any

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.base import ModelSpec
from reprise.models.local.generation import keep_to_list
from reprise.models.local.placement import needed, placed
from reprise.models.local.quantised import ON_LOADING, check_installed, check_named
from reprise.models.local.torch_setup import prepare
from reprise.models.local.weight_files import check_no_adapter, own_dtype

prepare()

import psutil  # noqa: E402  prepare() must come first
import torch  # noqa: E402
from safetensors import SafetensorError  # noqa: E402
from transformers import (  # noqa: E402
    AutoConfig,
    AutoProcessor,
    AutoTokenizer,
    BitsAndBytesConfig,
    LlavaNextImageProcessor,
    LlavaNextVideoProcessor,
    LlavaNextVideoVideoProcessor,
)

LISTED = 3
# Kinds of models that cannot be asked here -> why.
NOT_ASKED = {
    "mllama": "it looks at frames by cross attention, in place of tokens, so that nothing shows whether it sees all of "
    "them, and it was made for one image",
}
OWN_DTYPE = "checkpoint"


def load_part(kind: Any, spec: ModelSpec, **options: Any) -> Any:
    """A model, processor or tokenizer of a checkpoint, by one of transformers' auto classes."""
    assert spec.folder is not None
    check_no_adapter(spec.folder)
    try:
        return kind.from_pretrained(
            spec.folder, trust_remote_code=spec.trust_remote_code, local_files_only=True, **options
        )
    except MemoryError:
        raise
    except Exception as error:  # files of a form that the library does not expect end it with errors of any kind
        reason = str(error).partition("\n")[0]
        if not isinstance(error, OSError | ValueError | ImportError | SafetensorError):
            reason = f"one of its files has an unexpected form ({type(error).__name__}: {reason})."
        raise UserError(
            f"{spec.folder}: {kind.__name__} cannot load this checkpoint: {reason} "
            "Correct the checkpoint, or `adapter`, `attention` or `trust_remote_code` in the model's file."
        ) from error


def dtype_of(spec: ModelSpec) -> Any:
    """The type of the weights; none where it is the checkpoint's own."""
    return None if spec.dtype == OWN_DTYPE else getattr(torch, spec.dtype)


def load_model(kind: Any, spec: ModelSpec) -> Any:
    """A model with the settings of its file on its devices, ready to be asked."""
    options, quantised = placing(spec), spec.settings.get("quantised")
    if quantised == "int8":
        # Which would say of every layer of every question that it computes in half precision.
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    elif quantised in ON_LOADING:
        assert spec.folder is not None
        computed = dtype_of(spec) or getattr(torch, own_dtype(spec.folder) or "float32")
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type=quantised, bnb_4bit_compute_dtype=computed
        )
    model, found = load_part(
        kind,
        spec,
        dtype=dtype_of(spec) or "auto",
        attn_implementation=spec.attention,
        output_loading_info=True,
        **options,
    )
    missing = sorted({*found["missing_keys"], *(name for name, *_ in found["mismatched_keys"])})
    if missing:
        listed = ", ".join(missing[:LISTED]) + (f" and {len(missing) - LISTED} more" if len(missing) > LISTED else "")
        raise UserError(
            f"{spec.folder}: {len(missing)} weights of {type(model).__name__} are not in its files, or have another "
            f"shape: {listed}. Random numbers would stand in for them. Fetch the checkpoint again, or correct it."
        )
    check_places(model, options.get("max_memory"), spec)
    if model.can_generate():
        keep_to_list(model, spec.folder)
    return model.eval()


def placing(spec: ModelSpec) -> dict[str, Any]:
    """Where the weights are loaded to, straight from their files; a UserError where there is no room for them."""
    assert spec.folder is not None
    quantised = spec.settings.get("quantised")
    check_named(quantised, spec.folder)
    check_installed(quantised, spec.folder)
    free = spec.memory
    if not free and spec.device == "cpu":
        free = {"cpu": psutil.virtual_memory().available}
    elif not free:
        if not torch.cuda.is_available():
            raise UserError(
                f"the model's file asks for a GPU (`gpus`), and torch {torch.__version__} finds none that it can use. "
                "Install a build of torch for this GPU and its driver, or remove `gpus` to ask the model on the CPU."
            )
        free = {number: torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count())}
    found = placed(needed(spec.folder, spec.dtype, quantised), tuple(free.values()), str(spec.folder))
    if len(found) > 1:
        log.info(f"the model is spread over {len(found)} of {len(free)} devices")
        return {"device_map": "balanced", "max_memory": dict(zip(free, found, strict=False))}
    first = next(iter(free))
    return {"device_map": {"": first}} if first != "cpu" or quantised else {}


def check_places(model: Any, rooms: Mapping[int | str, int] | None, spec: ModelSpec) -> None:
    """A model whose layers did not all find room would be read from the disk again for each question."""
    left = [name for name, place in getattr(model, "hf_device_map", {}).items() if rooms and place not in rooms]
    if left:
        raise UserError(
            f"{spec.folder}: no device has room for {', '.join(left[:LISTED])} of {type(model).__name__}. Give the "
            "model more or larger devices (`gpus` in its file), or smaller weights (`dtype`, `settings.quantised`)."
        )


def load_processor(spec: ModelSpec) -> Any:
    """What prepares the inputs of a video-language model; it must have a tokenizer and a chat template."""
    kind = load_part(AutoConfig, spec).model_type
    if kind in NOT_ASKED:
        raise UserError(
            f"{spec.folder}: a model of type {kind} is not asked here: {NOT_ASKED[kind]}. Import answers that were "
            "made elsewhere (docs/howto/import-answers.md), or ask it at a server."
        )
    if kind == "llava_next_video":
        # From its parts: where the hub has no settings of its video processor but those for images, AutoProcessor looks
        # for a class of another name without end.
        kinds = {"video_processor": LlavaNextVideoVideoProcessor, "image_processor": LlavaNextImageProcessor}
        parts = {name: load_part(one, spec) for name, one in {**kinds, "tokenizer": AutoTokenizer}.items()}
        settings, _ = LlavaNextVideoProcessor.get_processor_dict(spec.folder, local_files_only=True)
        ordered = [parts[name] for name in LlavaNextVideoProcessor.get_attributes()]
        processor: Any = LlavaNextVideoProcessor.from_args_and_dict(ordered, settings)
    else:
        processor = load_part(AutoProcessor, spec)
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
