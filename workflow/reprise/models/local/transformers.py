"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward, greedy words from generate."""

from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Ready, Request
from reprise.models.local.asked_clip import AskedClip
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.forward import check_no_thought, check_options, device_of
from reprise.models.local.loading import load_model
from reprise.models.local.prepared import ClipPreparer
from reprise.models.local.sharing import PROVEN, encode_once, lay_out_for_a_cpu, share_heads_on_a_cpu
from reprise.models.local.torch_setup import prepare
from reprise.models.settings import TransformersSettings

prepare()

import torch  # noqa: E402  prepare() must come first
from transformers import AutoModelForImageTextToText  # noqa: E402


class TransformersAdapter:
    """A video-language model with its processor and chat template, from one folder.

    A clip is prepared once with its questions, and what they begin with is encoded once where the class allows it.
    """

    def __init__(self, spec: ModelSpec) -> None:
        if spec.folder is None:
            raise UserError("the transformers adapter needs weights: set checkpoint or repo in the model's file.")
        torch.set_num_threads(spec.threads)
        self.preparer = ClipPreparer(spec)
        _check(self.preparer.processor, spec)
        self.model = load_model(AutoModelForImageTextToText, spec)
        self._device = device_of(self.model).type
        self._is_shared = self._shares(TransformersSettings.model_validate(spec.settings))
        self.asked: AskedClip | None = None

    def _shares(self, settings: TransformersSettings) -> bool:
        """Whether the tokens that questions begin with are encoded once."""
        if settings.engine == "plain":
            return False
        encode_once(getattr(self.model, "model", self.model))
        kind = self.model.config.model_type
        if kind not in PROVEN:
            log.info(f"{kind}: the frames are encoded once a clip, each question is read from its beginning")
            return False
        if self._device == "cpu":
            share_heads_on_a_cpu()
            lay_out_for_a_cpu(self.model.get_decoder())
        return True

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Prepare the clip here, then ask its questions; what cannot be shown fails them all."""
        try:
            value = self.preparer.prepare(clip, self.preparer.read(clip), tuple(requests))
        except AnswerError as error:
            yield from [Answer(error=error.status, message=error.message)] * len(requests)
            return
        yield from self.answers_about(Ready(value, requests, {}), requests)

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        """Ask about a prepared clip: those questions together that share an encoding.

        On a CPU a score takes as long alone; each further word takes as long for one text as for many.
        """
        if self.asked is None or self.asked.ready is not ready:
            self.asked = AskedClip(self.model, self.preparer.processor, ready, is_shared=self._is_shared)
        if self._is_shared and (self._device != "cpu" or requests[0].ask != "score"):
            yield from self.asked.together(tuple(requests))
            return
        for request in requests:
            yield self.asked.alone(request)


def _check(processor: ClipProcessor, spec: ModelSpec) -> None:
    """Refuse a checkpoint that the run's questions cannot be asked, before its weights are loaded."""
    if spec.shows_frames:
        processor.check_shows()
    check_options(processor.processor.tokenizer, spec.options)
    check_no_thought(spec, is_open=processor.opens_thought)
