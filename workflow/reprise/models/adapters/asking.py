"""What adapters that run torch models share: how a forward is guarded, and the probabilities of options."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from reprise.core.errors import UserError
from reprise.models.adapters.base import Answer, AnswerError, ModelSpec
from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from safetensors import SafetensorError  # noqa: E402
from transformers import LogitsProcessor, LogitsProcessorList  # noqa: E402


class NotFiniteError(Exception):
    """A model computed NaN, as half precision may; its likeliest token would be token 0."""


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


def load_model(kind: Any, spec: ModelSpec) -> Any:
    """A model with the settings of its file, ready to be asked."""
    model = load_part(kind, spec, dtype=getattr(torch, spec.dtype), attn_implementation=spec.attention)
    return model.to(spec.device).eval()


@contextmanager
def asking() -> Iterator[None]:
    """Ask without gradients; a device that is full fails the clip and not the run."""
    try:
        with torch.inference_mode():
            yield
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise AnswerError("out_of_memory", str(error)) from error


def answered(ask: Callable[[], Answer]) -> Answer:
    """The answer to one question; numbers that are not finite fail this question and no other."""
    try:
        with asking():
            answer = ask()
    except NotFiniteError:
        return Answer(error="not_finite")
    return answer if all(map(math.isfinite, answer.scores)) else Answer(error="not_finite")


class _RefuseNaN(LogitsProcessor):  # type: ignore[misc]
    """Stops a text at the first token that was not computed."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if torch.isnan(scores).any():
            raise NotFiniteError
        return scores


def written_greedily(model: Any, inputs: Any, max_tokens: int) -> Any:
    """The token ids that `generate` returns for one prompt, always the likeliest token."""
    return rows_written(model, inputs, max_tokens)[0]


def rows_written(model: Any, inputs: Any, max_tokens: int) -> Any:
    """The same for several prompts; behind the end of a shorter text are the tokens that fill it up."""
    checks = LogitsProcessorList([_RefuseNaN()])
    return model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False, logits_processor=checks)


def option_probabilities(logits: Any, tokenizer: Any, options: Sequence[str]) -> tuple[float, ...]:
    """Softmax over the whole vocabulary at the first answer position, at each option's first sub-token."""
    tokens = _first_tokens(tokenizer, options)
    probabilities = torch.softmax(logits.double(), dim=-1)
    return tuple(float(probabilities[token]) for token in tokens)


def _first_tokens(tokenizer: Any, options: Sequence[str]) -> list[int]:
    tokens = [int(tokenizer(option, add_special_tokens=False)["input_ids"][0]) for option in options]
    if len(set(tokens)) < len(tokens):
        raise UserError(
            f"{tokenizer.name_or_path}: options {list(options)} begin with tokens "
            f"{tokenizer.convert_ids_to_tokens(tokens)}; a score needs a first token of its own for each of them. "
            "Ask this model by a protocol with `ask: choose` or `ask: write`."
        )
    return tokens
