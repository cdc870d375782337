"""What adapters that run torch models share: how a forward is guarded, and the probabilities of options."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from reprise.core.errors import UserError
from reprise.models.base import Answer, AnswerError, ModelSpec
from reprise.models.local.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from transformers import LogitsProcessor, LogitsProcessorList  # noqa: E402

# How libraries below torch say that the device is full.
NO_ROOM = ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")


class NotFiniteError(Exception):
    """A model computed NaN, as half precision may; its likeliest token would be token 0."""


@contextmanager
def asking() -> Iterator[None]:
    """Ask without gradients; a device that is full fails the clip and not the run."""
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        if not isinstance(error, torch.cuda.OutOfMemoryError) and not any(words in str(error) for words in NO_ROOM):
            raise
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
    """The tokens that `generate` returns for several prompts; what fills a shorter text up is behind its end."""
    checks = LogitsProcessorList([_RefuseNaN()])
    return model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False, logits_processor=checks)


def device_of(model: Any) -> Any:
    """The device that a model is given its inputs on: of several the first."""
    spread = [place for place in getattr(model, "hf_device_map", {}).values() if place != "disk"]
    return torch.device(spread[0]) if spread else model.device


def option_probabilities(logits: Any, tokens: Sequence[int]) -> tuple[float, ...]:
    """Softmax over the whole vocabulary at the first answer position, at each option's token."""
    probabilities = torch.softmax(logits.double(), dim=-1)
    return tuple(float(probabilities[token]) for token in tokens)


def option_tokens(tokenizer: Any, options: Sequence[str]) -> list[int]:
    """The token of each option, which must be one."""
    found = [tokenizer(option, add_special_tokens=False)["input_ids"] for option in options]
    if any(len(tokens) != 1 for tokens in found):
        listed = ", ".join(
            f"'{option}' is {tokenizer.convert_ids_to_tokens(tokens)}"
            for option, tokens in zip(options, found, strict=True)
        )
        raise UserError(
            f"{tokenizer.name_or_path}: {listed}; a score needs options that are one token each. "
            "Ask this model by a protocol with `ask: choose` or `ask: write`."
        )
    return [int(tokens[0]) for tokens in found]


def check_options(tokenizer: Any, options: Sequence[Sequence[str]]) -> None:
    """A UserError where a score is asked of options that are not one token each."""
    for some in options:
        option_tokens(tokenizer, some)


def check_no_thought(spec: ModelSpec, *, is_open: bool) -> None:
    """A UserError where a score is asked of a model whose first token belongs to a thought."""
    if is_open and spec.options:
        raise UserError(
            f"{spec.folder}: the chat template opens a thought (<think>), so that probabilities of an answer's first "
            "token say nothing of the options. Where the template has an argument for it, write "
            "`template_arguments: {enable_thinking: false}` below `settings:` in the model's file; else ask this model "
            "by a protocol with `ask: choose` or `ask: write`, and set `max_tokens` there."
        )


def context_of(config: Any) -> int | None:
    """How many tokens a language model can read; none where its configuration states no limit.

    Positions that are scaled reach further than the number of them, unless that is stated already.
    """
    positions: int | None = getattr(config, "max_position_embeddings", None)
    scaling = getattr(config, "rope_parameters", None) or {}
    if positions is None or not isinstance(scaling.get("factor"), int | float):
        return positions
    return max(positions, int(scaling["factor"] * scaling.get("original_max_position_embeddings", positions)))


def check_length(tokens: int, new: int, context: int | None) -> None:
    """A prompt and what is to be written must fit in what the model can read."""
    if context is not None and tokens + new > context:
        raise AnswerError("beyond_context", f"{tokens} tokens and {new} to write; the model reads {context}")
