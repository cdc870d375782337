"""Prepare the model inputs for a clip and its questions, in any process and without the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

import numpy as np

from reprise.core.errors import UserError
from reprise.media.decoder import Footage
from reprise.models.base import Answer, AnswerError, ClipFrames, ModelSpec, Request
from reprise.models.local.clip_inputs import TEXT_INPUTS, ClipInputs, ClipProcessor
from reprise.models.local.frames_preparer import read_clip_footage

# Texts that may follow the constant start of a prompt. Tokens of the start that are the same before all of these texts
# are assumed to be the same before any text.
CONTINUATIONS = ("a", "A", "1", " a", "\n", ".", '"', "(", "é", "中")


class QuestionTokens(NamedTuple):
    """A question's tokens, and the number of first tokens that all questions of the run about this clip share."""

    tensors: dict[str, Any]
    shared_length: int

    @property
    def shared_prefix(self) -> bytes:
        """Return the shared tokens as bytes, for comparison."""
        return bytes(self.tensors["input_ids"][0, : self.shared_length].tobytes())


@dataclass(frozen=True)
class PreparedQuestions:
    """The inputs of a clip and of the questions about it, with the failure of each question that cannot be sent."""

    clip: ClipInputs
    questions: Mapping[Request, QuestionTokens | Answer]
    question_count: int
    """number of questions that the run has about the clip, pending or not"""


class ClipPreparer:
    """Decode and preprocess clips for a checkpoint, without loading its weights."""

    def __init__(self, spec: ModelSpec) -> None:
        self.processor = ClipProcessor(spec)
        self.prompt_start = spec.prompt_start
        # (system text, start of the prompt) -> tokens after the clip that all such questions share
        self._constant_tokens: dict[tuple[str, str], Sequence[int]] = {}

    def read(self, clip: ClipFrames) -> Footage | None:
        """Return the frames that a clip's plan selects; None in a text-only run."""
        return read_clip_footage(clip) if clip.path is not None and clip.indices else None

    def prepare(self, clip: ClipFrames, frames: Footage | None, requests: Sequence[Request]) -> PreparedQuestions:
        inputs = self.processor.prepare(frames)
        questions = {request: self._prepare_question(request, inputs) for request in requests}
        tensors = convert_to_arrays(inputs.tensors)
        if inputs.footage is not None:
            # The processor has processed the clip again for each question, so only one copy is kept.
            for tokens in questions.values():
                if not isinstance(tokens, QuestionTokens):
                    continue
                for name in tokens.tensors.keys() - set(TEXT_INPUTS):
                    array = tokens.tensors[name]
                    if np.array_equal(tensors.setdefault(name, array), array):
                        del tokens.tensors[name]
        return PreparedQuestions(
            replace(inputs, tensors=tensors, footage=None), questions, clip.question_count or len(requests)
        )

    def _prepare_question(self, request: Request, clip: ClipInputs) -> QuestionTokens | Answer:
        try:
            inputs = self.processor.build_question_inputs(request, clip)
            return QuestionTokens(
                convert_to_arrays(inputs), self._count_shared_tokens(request, clip, inputs["input_ids"])
            )
        except AnswerError as error:
            return Answer(error=error.status, message=error.message)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # any error of a library fails this question only
            return Answer(error="failed", message=f"{type(error).__name__}: {error}")

    def _count_shared_tokens(self, request: Request, clip: ClipInputs, ids: Any) -> int:
        """Return the number of first tokens that all questions of the run share.

        These are the tokens up to the end of the clip, and the constant tokens after the clip.
        """
        end = self.processor.find_clip_end(ids)
        if end == 0 or clip.footage is not None:
            return 0
        start = self.prompt_start if request.prompt.startswith(self.prompt_start) else ""
        constant = self._constant_tokens.get((request.system, start), [])
        # The cached tokens may not match this clip, because the template's text after a clip may depend on its frames.
        if not constant or not _continues_with(ids, end, constant):
            endings = []
            for text in CONTINUATIONS:
                # A probe of the type `score` needs no room for an answer in the context.
                probe = self.processor.build_question_inputs(
                    replace(request, prompt=start + text, request_type="score"), clip
                )["input_ids"]
                endings.append(probe[0, self.processor.find_clip_end(probe) :].tolist())
            constant = self._constant_tokens[request.system, start] = commonprefix(endings)  # noqa: RUF071  tokens
        return end + len(constant) if _continues_with(ids, end, constant) else end


def _continues_with(ids: Any, end: int, constant: Sequence[int]) -> bool:
    """Return whether the constant tokens begin at `end` and are followed by other tokens."""
    return bool(ids.shape[1] > end + len(constant) and ids[0, end : end + len(constant)].tolist() == constant)


def convert_to_arrays(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Convert tensors to arrays, which can pass between processes through shared memory."""
    arrays = dict(tensors)
    for name, value in tensors.items():
        if isinstance(value, torch.Tensor):  # numpy has no bfloat16; its type is restored before the model runs
            arrays[name] = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return arrays
