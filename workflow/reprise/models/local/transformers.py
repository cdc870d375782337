"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward, greedy words from generate.

A clip is encoded once for all questions about it: the cache of the tokens that they begin with is kept, and what
follows is asked after it. Exact but for rounding; `engine: plain` is the reference. A question's answer depends on no
other: batches have a shape that follows from clip and question alone, and on a CPU each score is asked alone.
"""

import copy
import inspect
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from reprise.models.local.torch_setup import torch

from torch.nn.functional import pad
from transformers import AutoModelForImageTextToText
from transformers.cache_utils import DynamicLayer

from reprise.core.log import log
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Ready, Request
from reprise.models.local.checkpoints import (
    OF_PROMPT,
    OUT_OF_MEMORY,
    NotFiniteError,
    answered,
    asking,
    check_scores,
    device_of,
    load_model,
    option_probabilities,
    option_tokens,
    use_threads,
    worded,
    written,
)
from reprise.models.local.clip_inputs import TEXTUAL, ClipProcessor
from reprise.models.local.clip_size import clip_size
from reprise.models.local.memory import CopyLimit, release_unused
from reprise.models.local.prepared import ClipPreparer, Prepared, Tokens
from reprise.models.local.vision import batch_vision_attention
from reprise.models.settings import TransformersSettings

# Kinds of models for which a test shows the shared engine to give the same numbers as the plain one.
PROVEN = frozenset(
    {
        "aria", "glm46v", "glm4v", "internvl", "llava", "llava_next", "llava_next_video", "llava_onevision",
        "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "smolvlm", "video_llava",
    }
)  # fmt: skip
# Rows of a batch, and what lengths are rounded up to.
ROWS, LENGTHS = 16, 32


class TransformersAdapter:
    """A video-language model with its processor and chat template, from one folder."""

    def __init__(self, spec: ModelSpec) -> None:
        use_threads(spec)
        self.preparer = ClipPreparer(spec)
        processor = self.preparer.processor
        self.begin(spec)  # a checkpoint that cannot be asked is refused before its weights are loaded
        self.model = load_model(AutoModelForImageTextToText, spec, clip_size(spec, processor))
        batch_vision_attention(self.model)
        self._is_on_cpu = device_of(self.model).type == "cpu"
        self._is_shared = TransformersSettings.model_validate(spec.settings).engine == "shared" and self._shares()
        self._limit = CopyLimit()
        self.asked: AskedClip | None = None

    def begin(self, spec: ModelSpec) -> None:
        processor = self.preparer.processor
        if spec.shows_frames:
            _ = processor.mode  # a UserError where neither a video nor images reach the model
        check_scores(spec, processor.processor.tokenizer, opens_thought=processor.opens_thought)
        self.preparer.prompt_start = spec.prompt_start

    def _shares(self) -> bool:
        """Have the model encode frames once; whether it is also given the tokens that questions begin with once."""
        inner, kind = getattr(self.model, "model", self.model), self.model.config.model_type
        for name in ("get_video_features", "get_image_features"):
            if hasattr(inner, name):
                setattr(inner, name, EncodedOnce(inner, name))
        if kind not in PROVEN:
            log.info(f"{kind}: the frames are encoded once a clip, each question is read from its beginning")
            return False
        if self._is_on_cpu:
            # Keys and values that heads share are looked at as they are: copies of the whole prefix for each question
            # take as long as the attention itself. On a GPU that would choose a slow kernel.
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")
            # Weights lie in columns: a product with the few rows of a question is up to a fifth faster so.
            for module in self.model.get_decoder().modules():
                if type(module) is torch.nn.Linear:
                    module.weight.data = module.weight.data.t().contiguous().t()
        return True

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        value = self.preparer.prepare(clip, self.preparer.read(clip), tuple(requests))
        return self.answers_about(Ready(value, {}), requests)

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        """Ask about a prepared clip: those questions together that share an encoding.

        On a CPU a score takes as long alone; each further word takes as long for one text as for many.
        """
        clip = self.clip_of(ready)
        is_alone = not self._is_shared or (self._is_on_cpu and requests[0].ask == "score")
        yield from map(clip.alone, requests) if is_alone else clip.together(tuple(requests))

    def clip_of(self, ready: Ready) -> "AskedClip":
        """Return a prepared clip with what was encoded of it so far; what was encoded of the last clip is dropped."""
        if self.asked is None or self.asked.ready is not ready:
            self.asked = AskedClip(self.model, self.preparer.processor, ready, self._limit, is_shared=self._is_shared)
        return self.asked


class AskedClip:
    """Keeps what was encoded until another clip is asked about."""

    def __init__(
        self, model: Any, processor: ClipProcessor, ready: Ready, limit: CopyLimit, *, is_shared: bool
    ) -> None:
        value: Prepared = ready.value
        self.ready, self._limit = ready, limit
        self._model, self._processor, self._words = model, processor, processor.processor.tokenizer
        self._device, self._frames = device_of(model), value.clip.frames
        self._clip = self._placed(value.clip.tensors)
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
        if self._is_shared and tokens.shared:
            return answered(lambda: self._after_prefix([request], [tokens], rows=1)[0])
        return answered(partial(self._from_beginning, request, tokens))

    def together(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to all these questions, at once to those that share an encoding and are asked alike."""
        found: dict[Request, Answer] = {}
        groups: dict[tuple[object, ...], dict[Request, Tokens]] = {}
        for request in requests:
            tokens = self._questions[request]
            if isinstance(tokens, Answer) or not self._is_shared or not tokens.shared:
                found[request] = self.alone(request)
            else:
                alike = (tokens.start, request.ask == "score", self._processor.limit(request))
                groups.setdefault(alike, {})[request] = tokens
        for group in groups.values():
            found.update(zip(group, self._group(group), strict=True))
        return [found[request] for request in requests]

    def _group(self, questions: Mapping[Request, Tokens]) -> list[Answer]:
        requests, tokens = list(questions), list(questions.values())
        with asking():
            prefix = self._encoded(tokens[0])
        rows = prefix.rows(self._in_run, self._limit)
        is_full = False
        try:
            with asking():
                return self._after_prefix(requests, tokens, rows)
        except NotFiniteError:
            if len(requests) == 1:
                return [Answer(error="not_finite")]
        except AnswerError as error:
            if rows == 1 or error.status != OUT_OF_MEMORY:
                raise
            is_full = True
        # Not within the handlers, where the error still holds the tensors of the batch that failed.
        if is_full:
            release_unused()
            prefix.lower(rows, self._limit)
            return self._group(questions)
        return [self._group({request: one})[0] for request, one in questions.items()]

    def _from_beginning(self, request: Request, tokens: Tokens) -> Answer:
        inputs = {**self._clip, **self._placed(tokens.tensors)}
        length = int(inputs["input_ids"].shape[1])
        if request.ask == "score":
            return self._scored(request, self._model(**inputs, logits_to_keep=1).logits[0, -1], length)
        return self._worded(written(self._model, inputs, self._processor.limit(request))[0][length:], length)

    def _after_prefix(self, requests: Sequence[Request], tokens: Sequence[Tokens], rows: int) -> list[Answer]:
        """Answers to questions that are asked alike and begin with the same tokens."""
        prefix = self._encoded(tokens[0])
        if not prefix.is_whole:
            return list(map(self._from_beginning, requests, tokens))
        ids = [self._placed(one.tensors)["input_ids"] for one in tokens]
        lengths = [int(one.shape[1]) for one in ids]
        if requests[0].ask == "score":
            return list(map(self._scored, requests, prefix.logits(ids, rows), lengths))
        return list(map(self._worded, prefix.written(ids, self._processor.limit(requests[0]), rows), lengths))

    def _encoded(self, tokens: Tokens) -> "Prefix":
        if self.prefix is None or self._start != tokens.start:
            begun = time.monotonic()
            own = {name: value[:, : tokens.shared] for name, value in tokens.tensors.items() if name in TEXTUAL}
            own.pop("attention_mask", None)
            self.prefix, self._start = Prefix(self._model, {**self._placed(own), **self._clip}), tokens.start
            if self._device.type == "cuda":
                torch.cuda.synchronize()
            self.ready.seconds["encode"] = self.ready.seconds.get("encode", 0) + time.monotonic() - begun
        return self.prefix

    def _placed(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Arrays as tensors on the model's device; pixels in its type, times and positions as they are."""
        found = {name: torch.as_tensor(value).to(self._device) for name, value in arrays.items()}
        pixels = {name: one.to(self._model.dtype) for name, one in found.items() if name.startswith("pixel_values")}
        return found | pixels

    def _scored(self, request: Request, logits: Any, length: int) -> Answer:
        scores = option_probabilities(logits, option_tokens(self._words, request.options))
        return Answer(scores=scores, frames_shown=self._frames, tokens_in=length)

    def _worded(self, new: Any, length: int) -> Answer:
        thinks = self._processor.opens_thought
        return worded(self._words, new, is_open=thinks, tokens_in=length, frames=self._frames)


class Prefix:
    """What a model keeps of the tokens that the questions about a clip begin with."""

    def __init__(self, model: Any, inputs: Mapping[str, Any]) -> None:
        self._model = model
        self.ids = inputs["input_ids"]
        self.length = int(self.ids.shape[1])
        # The head has no part in the cache.
        self._cache = model.model(**inputs, use_cache=True).past_key_values
        self.shift: Any = getattr(model.model, "rope_deltas", None)
        """Where a model counts positions in space and time: how far what follows is from the number of its token."""

    @property
    def is_whole(self) -> bool:
        """Whether the cache keeps every token, so that others can follow it."""
        return all(type(layer) is DynamicLayer for layer in self._cache.layers)

    def rows(self, questions: int, limit: CopyLimit) -> int:
        """How many of a clip's questions are asked at once: as many as there is room for, spread evenly."""
        if not self.is_whole:
            return 1  # each question is asked from its beginning
        most = min(ROWS, limit.copies(self._cache))
        return -(-questions // -(-questions // most))

    def lower(self, rows: int, limit: CopyLimit) -> None:
        """Remember that so many questions at once did not fit."""
        limit.lower(self._cache, rows)

    def logits(self, questions: Sequence[Any], rows: int = 1) -> Any:
        """The logits of the first token after each question, whose tokens (1, length) begin with the shared ones."""
        found: list[Any] = [None] * len(questions)
        for places, after, length in self._batches(questions, rows):
            filled = torch.stack([pad(one, (0, length - len(one))) for one in after])
            positions = torch.arange(self.length, self.length + length, device=self.ids.device)[None]
            positions = positions if self.shift is None else positions + self.shift
            hidden = self._model.model(
                input_ids=filled,
                past_key_values=self._copy(rows),
                position_ids=positions.expand(rows, -1),
                use_cache=True,
            )[0]
            # A model on several devices ends on another one than it begins on, so the rows are selected where its
            # output is: accelerate moves every argument of the whole model to the first device.
            last = torch.tensor([[[len(one) - 1]] for one in after], device=hidden.device)
            logits = self._model.get_output_embeddings()(torch.take_along_dim(hidden, last, dim=1))[:, 0]
            for place, one in zip(places, logits, strict=True):
                found[place] = one
        return found

    def written(self, questions: Sequence[Any], max_tokens: int, rows: int = 1) -> Any:
        """The tokens that follow each question, always the likeliest one, with the token that ends them."""
        settings = self._model.generation_config
        if any(getattr(settings, name) is not None for name in OF_PROMPT):
            rows = 1  # what fills a batch up would count as words of the prompt
        ends = torch.tensor(settings.eos_token_id or [], device=self.ids.device)
        found: list[Any] = [None] * len(questions)
        for places, after, length in self._batches(questions, rows):
            filled = torch.stack([pad(one, (length - len(one), 0)) for one in after])
            ids = torch.cat([self.ids.expand(rows, -1), filled], 1)
            mask = torch.ones_like(ids)
            for row, one in enumerate(after):
                mask[row, self.length : ids.shape[1] - len(one)] = 0
            if self.shift is not None:
                self._model.model.rope_deltas = self.shift.expand(rows, -1)
            inputs = {"input_ids": ids, "attention_mask": mask, "past_key_values": self._copy(rows)}
            for place, row in zip(places, written(self._model, inputs, max_tokens), strict=True):
                new = row[ids.shape[1] :]
                end = torch.isin(new, ends).nonzero()
                found[place] = new[: int(end[0]) + 1] if len(end) else new
        return found

    def _batches(self, questions: Sequence[Any], rows: int) -> Iterator[tuple[list[int], list[Any], int]]:
        """Places of questions of about one length, their own tokens, and the length that these are filled up to.

        There are always as many: the last of a group fills its batch up. A question alone needs no filling.
        """
        after = [ids[0, self.length :] for ids in questions]
        groups: dict[int, list[int]] = {}
        for place, one in enumerate(after):
            groups.setdefault(len(one) if rows == 1 else -(-len(one) // LENGTHS) * LENGTHS, []).append(place)
        for length, group in groups.items():
            for start in range(0, len(group), rows):
                places = group[start : start + rows]
                places += places[-1:] * (rows - len(places))
                yield places, [after[place] for place in places], length

    def _copy(self, rows: int) -> Any:
        """The cache for some questions: a forward puts what it adds into new tensors."""
        copied = copy.copy(self._cache)
        copied.layers = [copy.copy(layer) for layer in self._cache.layers]
        if rows > 1:
            copied.batch_repeat_interleave(rows)
        return copied


class EncodedOnce:
    """A model's look at frames, which is taken once as long as the same frames are looked at."""

    def __init__(self, model: Any, name: str) -> None:
        self._model, self._name = model, name
        # `generate` reads off it what it is to be given.
        self.__signature__ = inspect.signature(getattr(model, name))
        self._given: dict[str, Any] = {}
        self._found: Any = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        arguments = self.__signature__.bind(*given, **named).arguments
        now = {**arguments.pop("kwargs", {}), **arguments}
        now.pop("logits_to_keep", None)  # some classes pass it on; it is of the text
        if self._found is None or now.keys() != self._given.keys() or not all(map(self._is_same, now, now.values())):
            # What was kept of the last clip makes room for this one.
            self._given, self._found = {}, None
            self._found = getattr(type(self._model), self._name)(self._model, *given, **named)
            self._given = now
        return copy.copy(self._found)

    def _is_same(self, name: str, value: Any) -> bool:
        before = self._given[name]
        is_tensor = isinstance(value, torch.Tensor) or isinstance(before, torch.Tensor)
        return bool(value is before if is_tensor else value == before)
