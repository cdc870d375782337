"""What adapters that run torch models share: how a forward is guarded, and the probabilities of options."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from reprise.models.adapters.base import AnswerError
from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first


@contextmanager
def asking() -> Iterator[None]:
    """Ask without gradients; a device that is full fails the clip and not the run."""
    try:
        with torch.inference_mode():
            yield
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise AnswerError("out_of_memory", str(error)) from error


def option_probabilities(logits: Any, tokenizer: Any, options: Sequence[str]) -> tuple[float, ...]:
    """Softmax over the whole vocabulary at the first answer position, at each option's first sub-token."""
    probabilities = torch.softmax(logits.double(), dim=-1)
    return tuple(float(probabilities[_first_token(tokenizer, option)]) for option in options)


def _first_token(tokenizer: Any, option: str) -> int:
    return int(tokenizer(option, add_special_tokens=False)["input_ids"][0])
