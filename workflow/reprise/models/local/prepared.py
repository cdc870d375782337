"""A clip and its questions as the model is given them, prepared without the model: in any process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

import numpy as np

from reprise.core.errors import UserError
from reprise.media.decoder import Footage
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Request
from reprise.models.local.clip_inputs import TEXTUAL, ClipInputs, ClipProcessor
from reprise.models.local.frames import footage_of

# What may follow the constant start of a prompt: tokens that are the same before all of these are so before any text.
CONTINUATIONS = ("a", "A", "1", " a", "\n", ".", '"', "(", "é", "中")


class Tokens(NamedTuple):
    """A question's tokens, and how many of them all questions of its run about this clip begin with."""

    tensors: dict[str, Any]
    shared: int

    @property
    def start(self) -> bytes:
        """The tokens that it shares with others, as one value."""
        return bytes(self.tensors["input_ids"][0, : self.shared].tobytes())


@dataclass(frozen=True)
class Prepared:
    """A clip and the questions about it; a question that cannot be asked is its failure."""

    clip: ClipInputs
    questions: Mapping[Request, Tokens | Answer]
    asked: int
    """how many questions about the clip the run has, whether or not they are all due"""


class ClipPreparer:
    """Decodes and preprocesses clips for a checkpoint; loads no weights."""

    def __init__(self, spec: ModelSpec) -> None:
        self.processor = ClipProcessor(spec)
        self.prompt_start = spec.prompt_start
        self._constant: dict[tuple[str, str], Sequence[int]] = {}

    def read(self, clip: Clip) -> Footage | None:
        """The frames that a clip's plan shows; none in a blind run."""
        return footage_of(clip) if clip.path is not None and clip.indices else None

    def prepare(self, clip: Clip, frames: Footage | None, requests: Sequence[Request]) -> Prepared:
        inputs = self.processor.prepare(frames)
        questions = {request: self._question(request, inputs) for request in requests}
        tensors = as_arrays(inputs.tensors)
        if inputs.footage is not None:
            # What a processor that cannot prepare a clip apart made of it again for each question: kept once.
            for tokens in (one for one in questions.values() if isinstance(one, Tokens)):
                for name in tokens.tensors.keys() - set(TEXTUAL):
                    made = tokens.tensors[name]
                    if np.array_equal(tensors.setdefault(name, made), made):
                        del tokens.tensors[name]
        return Prepared(replace(inputs, tensors=tensors, footage=None), questions, clip.questions or len(requests))

    def _question(self, request: Request, clip: ClipInputs) -> Tokens | Answer:
        try:
            made = self.processor.ask(request, clip)
            return Tokens(as_arrays(made), self._shared(request, clip, made["input_ids"]))
        except AnswerError as error:
            return Answer(error=error.status, message=error.message)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # of a library: this question fails, and no other
            return Answer(error="failed", message=f"{type(error).__name__}: {error}")

    def _shared(self, request: Request, clip: ClipInputs, ids: Any) -> int:
        """How many tokens all questions of the run begin with: up to the clip's, and the constant ones after it."""
        end = self.processor.end_of_clip(ids)
        if end == 0 or clip.footage is not None:
            return 0
        start = self.prompt_start if request.prompt.startswith(self.prompt_start) else ""
        constant = self._constant.get((request.system, start), [])
        if not constant or not _goes_on(ids, end, constant):  # what follows a clip may tell of its last frame
            found = []
            for more in CONTINUATIONS:
                other = self.processor.ask(replace(request, prompt=start + more, ask="score"), clip)["input_ids"]
                found.append(other[0, self.processor.end_of_clip(other) :].tolist())
            constant = self._constant[request.system, start] = commonprefix(found)  # noqa: RUF071  tokens
        return end + len(constant) if _goes_on(ids, end, constant) else end


def _goes_on(ids: Any, end: int, constant: Sequence[int]) -> bool:
    """Whether these tokens come next, and others after them."""
    return bool(ids.shape[1] > end + len(constant) and ids[0, end : end + len(constant)].tolist() == constant)


def as_arrays(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors as arrays, which pass from process to process through memory that both see."""
    found = dict(tensors)
    for name, value in tensors.items():
        if isinstance(value, torch.Tensor):  # numpy has no bfloat16; the model is given its own type again
            found[name] = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return found
