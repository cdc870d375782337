"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward, greedy words from generate."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Ready, Request
from reprise.models.local.clip_inputs import TEXTUAL, ClipProcessor, placed
from reprise.models.local.forward import (
    NotFiniteError,
    answered,
    asking,
    check_no_thought,
    check_options,
    device_of,
    option_probabilities,
    option_tokens,
    written_greedily,
)
from reprise.models.local.loading import load_model
from reprise.models.local.prepared import ClipPreparer, Prepared, Tokens, as_tensors
from reprise.models.local.sharing import PROVEN, Prefix, encode_once, lay_out_for_a_cpu, share_heads_on_a_cpu
from reprise.models.local.torch_setup import prepare
from reprise.models.settings import TransformersSettings
from reprise.models.thoughts import CUT, words_behind_thought

prepare()

import torch  # noqa: E402  prepare() must come first

NOT_FINITE = Answer(error="not_finite")


class AskedClip:
    """Keeps what was encoded until another clip is asked about."""

    def __init__(self, model: Any, processor: ClipProcessor, ready: Ready, *, is_shared: bool) -> None:
        value: Prepared = ready.value
        clip = replace(value.clip, tensors=as_tensors(value.clip.tensors))
        self.ready = ready
        self._model, self._processor, self._words = model, processor, processor.processor.tokenizer
        self._device = device_of(model)
        self._clip = clip.on(self._device, model.dtype)
        self._questions, self._in_run = value.questions, value.asked
        # Of a clip with one question all is read at once: apart, both parts would cost more.
        self._is_shared = is_shared and self._in_run > 1
        self._start = b""
        self.prefix: Prefix | None = None

    def alone(self, request: Request) -> Answer:
        """The answer to one question; its failure fails no other."""
        tokens = self._questions[request]
        if isinstance(tokens, Answer):
            return tokens
        if self._shares(tokens):
            return answered(lambda: self._after_prefix([request], [tokens], rows=1)[0])
        return answered(partial(self._from_beginning, request, tokens))

    def together(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to all these questions, at once to those that share an encoding and are asked alike."""
        found: dict[Request, Answer] = {}
        groups: dict[tuple[object, ...], dict[Request, Tokens]] = {}
        for request in requests:
            tokens = self._questions[request]
            if isinstance(tokens, Answer) or not self._shares(tokens):
                found[request] = self.alone(request)
            else:
                alike = (_start(tokens), request.ask == "score", self._processor.limit(request))
                groups.setdefault(alike, {})[request] = tokens
        for group in groups.values():
            found.update(zip(group, self._group(group), strict=True))
        return [found[request] for request in requests]

    def _shares(self, tokens: Tokens) -> bool:
        return self._is_shared and tokens.shared > 0

    def _group(self, questions: Mapping[Request, Tokens]) -> list[Answer]:
        requests, tokens = list(questions), list(questions.values())
        with asking():
            rows = self._encoded(tokens[0]).rows(self._in_run)
        try:
            with asking():
                answers = self._after_prefix(requests, tokens, rows)
        except NotFiniteError:
            alone = [{request: one} for request, one in questions.items()]
            return [NOT_FINITE] if len(alone) == 1 else [self._group(one)[0] for one in alone]
        except AnswerError:  # no room for so many at once
            if rows == 1:
                raise
            return [self.alone(one) for one in requests]
        return [one if all(map(math.isfinite, one.scores)) else NOT_FINITE for one in answers]

    def _from_beginning(self, request: Request, tokens: Tokens) -> Answer:
        inputs = {**self._clip.tensors, **self._placed(tokens)}
        length = int(inputs["input_ids"].shape[1])
        if request.ask == "score":
            options = option_tokens(self._words, request.options)
            return self._scored(options, self._model(**inputs, logits_to_keep=1).logits[0, -1], length)
        return self._worded(written_greedily(self._model, inputs, self._processor.limit(request))[length:], length)

    def _after_prefix(self, requests: Sequence[Request], tokens: Sequence[Tokens], rows: int) -> list[Answer]:
        """Answers to questions that are asked alike and begin with the same tokens."""
        prefix = self._encoded(tokens[0])
        if not prefix.is_whole:
            return list(map(self._from_beginning, requests, tokens))
        ids = [self._placed(one)["input_ids"] for one in tokens]
        lengths = [int(one.shape[1]) for one in ids]
        if requests[0].ask == "score":
            options = [option_tokens(self._words, request.options) for request in requests]
            return list(map(self._scored, options, prefix.logits(ids, rows), lengths))
        return list(map(self._worded, prefix.written(ids, self._processor.limit(requests[0]), rows), lengths))

    def _encoded(self, tokens: Tokens) -> Prefix:
        start = _start(tokens)
        if self.prefix is None or self._start != start:
            begun = time.monotonic()
            own = {name: value[:, : tokens.shared] for name, value in self._placed(tokens).items() if name in TEXTUAL}
            own.pop("attention_mask", None)
            self.prefix, self._start = Prefix(self._model, {**own, **self._clip.tensors}), start
            if self._device.type == "cuda":
                torch.cuda.synchronize()
            self.ready.seconds["encode"] = self.ready.seconds.get("encode", 0) + time.monotonic() - begun
        return self.prefix

    def _placed(self, tokens: Tokens) -> dict[str, Any]:
        return placed(as_tensors(tokens.tensors), self._device, self._model.dtype)

    def _scored(self, options: Sequence[int], logits: Any, length: int) -> Answer:
        scores = option_probabilities(logits, options)
        return Answer(scores=scores, frames_shown=self._clip.frames, tokens_in=length)

    def _worded(self, new: Any, length: int) -> Answer:
        text = words_behind_thought(self._words, new, is_open=self._processor.opens_thought)
        if text is None:
            return Answer(error="still_thinking", message=CUT.format(len(new)))
        return Answer(text=text, frames_shown=self._clip.frames, tokens_in=length, tokens_out=len(new))


def _start(tokens: Tokens) -> bytes:
    """The tokens that a question shares with others, as one value."""
    found: bytes = tokens.tensors["input_ids"][0, : tokens.shared].tobytes()
    return found


prepare()

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
        processor = self.preparer.processor
        # A checkpoint that the run's questions cannot be asked is refused before its weights are loaded.
        if spec.shows_frames:
            _ = processor.mode  # a UserError where neither a video nor images reach the model
        check_options(processor.processor.tokenizer, spec.options)
        check_no_thought(spec, is_open=processor.opens_thought)
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
