"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward, greedy words from generate."""

from collections.abc import Iterator, Sequence
from functools import partial

from reprise.core.errors import UserError
from reprise.media.decoder import Footage, read_footage
from reprise.models.adapters.asking import answered, option_probabilities, option_tokens, written_greedily
from reprise.models.adapters.base import Answer, AnswerError, Clip, ModelSpec, Request
from reprise.models.adapters.clip_inputs import ClipInputs, ClipProcessor, placed
from reprise.models.adapters.loading import load_model, load_part, load_processor
from reprise.models.settings import TransformersSettings
from reprise.models.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from transformers import AutoConfig, AutoModelForImageTextToText  # noqa: E402


def footage_of(clip: Clip) -> Footage | None:
    """The frames that a clip's plan shows; none in a blind run."""
    return read_footage(clip.path, clip.indices) if clip.path is not None and clip.indices else None


def clip_processor(spec: ModelSpec) -> ClipProcessor:
    """What prepares the inputs of a checkpoint; loads no weights."""
    settings = TransformersSettings.model_validate(spec.settings)
    return ClipProcessor(load_processor(spec), load_part(AutoConfig, spec), settings)


class TransformersAdapter:
    """A video-language model with its processor and chat template, from one folder.

    A clip is prepared once (`prepare`), then each question is asked of what was prepared (`ask`).
    """

    def __init__(self, spec: ModelSpec) -> None:
        if spec.folder is None:
            raise UserError("the transformers adapter needs weights: set checkpoint or repo in the model's file.")
        torch.set_num_threads(spec.threads)
        self.processor = clip_processor(spec)
        self.model = load_model(AutoModelForImageTextToText, spec)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Prepare the clip once, then ask its questions one by one; what cannot be shown fails them all."""
        try:
            inputs = self.prepare(footage_of(clip))
        except AnswerError as error:
            yield from [Answer(error=error.status, message=error.message)] * len(requests)
            return
        for request in requests:
            yield answered(partial(self.ask, request, inputs))

    def prepare(self, footage: Footage | None) -> ClipInputs:
        """A clip's inputs where the model is."""
        return self.processor.prepare(footage).on(self.model.device, self.model.dtype)

    def ask(self, request: Request, clip: ClipInputs) -> Answer:
        """The answer to a question about a prepared clip."""
        tokens = self.processor.ask(request, clip)
        inputs = {**placed(tokens, self.model.device, self.model.dtype), **clip.tensors}
        tokens_in = int(inputs["input_ids"].shape[1])
        words = self.processor.processor.tokenizer
        if request.ask == "score":
            options = option_tokens(words, request.options)
            logits = self.model(**inputs, logits_to_keep=1).logits[0, -1]
            scores = option_probabilities(logits, options)
            return Answer(scores=scores, frames_shown=clip.frames, tokens_in=tokens_in)
        new = written_greedily(self.model, inputs, request.max_tokens)[tokens_in:]
        text = words.decode(new, skip_special_tokens=True)
        return Answer(text=text, frames_shown=clip.frames, tokens_in=tokens_in, tokens_out=len(new))
