"""A prepared clip at its model: the questions about it, each from its beginning or after what they all begin with."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reprise.models.base import Answer, AnswerError, Ready, Request
from reprise.models.local.clip_inputs import TEXTUAL, ClipProcessor, placed
from reprise.models.local.forward import (
    NotFiniteError,
    answered,
    asking,
    device_of,
    option_probabilities,
    option_tokens,
    written_greedily,
)
from reprise.models.local.prepared import Prepared, Tokens, as_tensors
from reprise.models.local.sharing import Prefix
from reprise.models.local.torch_setup import prepare
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
