"""Adapter for native transformers classes: exact p(Yes)/p(No) from one forward pass, greedy text from `generate`.

A clip is encoded once for all questions about it: the key-value cache of their common beginning is kept, and each
question continues from it. This is exact except for rounding; `engine: plain` is the reference. No answer depends on
another question: the shape of a batch follows from the clip and the question alone, and on a CPU scores are not
batched.
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
from reprise.models.base import Answer, AnswerError, ClipFrames, ModelSpec, PreparedClip, Request
from reprise.models.local.checkpoints import (
    OUT_OF_MEMORY,
    PROMPT_SETTINGS,
    NotFiniteError,
    answer_or_error,
    check_scores,
    compute_option_probabilities,
    decode_answer,
    generate_tokens,
    get_input_device,
    inference,
    load_model,
    set_thread_count,
    tokenize_options,
)
from reprise.models.local.clip_inputs import TEXT_INPUTS, ClipProcessor
from reprise.models.local.clip_preparer import ClipPreparer, PreparedQuestions, QuestionTokens
from reprise.models.local.clip_size import compute_clip_size
from reprise.models.local.memory import CopyLimit, release_unused_memory
from reprise.models.local.vision_attention import batch_vision_attention
from reprise.models.settings import TransformersSettings

# Model types for which a test verifies that the shared engine gives the same numbers as the plain one.
VERIFIED_MODEL_TYPES = frozenset(
    {
        "aria", "glm46v", "glm4v", "internvl", "llava", "llava_next", "llava_next_video", "llava_onevision",
        "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "smolvlm", "video_llava",
    }
)  # fmt: skip
# Maximum rows of a batch, and the multiple that lengths are rounded up to.
MAX_BATCH_ROWS, LENGTH_MULTIPLE = 16, 32


class TransformersAdapter:
    """A video-language model with its processor and chat template, loaded from one folder."""

    def __init__(self, spec: ModelSpec) -> None:
        set_thread_count(spec)
        self.preparer = ClipPreparer(spec)
        processor = self.preparer.processor
        self.begin(spec)  # reject an unsuitable checkpoint before its weights are loaded
        self.model = load_model(AutoModelForImageTextToText, spec, compute_clip_size(spec, processor))
        batch_vision_attention(self.model)
        self._is_on_cpu = get_input_device(self.model).type == "cpu"
        self._is_shared = (
            TransformersSettings.model_validate(spec.settings).engine == "shared" and self._enable_sharing()
        )
        self._limit = CopyLimit()
        self.current_clip: EncodedClip | None = None

    def begin(self, spec: ModelSpec) -> None:
        processor = self.preparer.processor
        if spec.has_frames:
            _ = processor.frame_mode  # raises a UserError if neither a video nor images reach the model
        check_scores(spec, processor.processor.tokenizer, opens_thought=processor.opens_thought)
        self.preparer.prompt_start = spec.prompt_start

    def _enable_sharing(self) -> bool:
        """Make the model encode frames once; return whether the common beginning of questions is also encoded once."""
        inner, kind = getattr(self.model, "model", self.model), self.model.config.model_type
        for name in ("get_video_features", "get_image_features"):
            if hasattr(inner, name):
                setattr(inner, name, CachedFrameEncoder(inner, name))
        if kind not in VERIFIED_MODEL_TYPES:
            log.info(f"{kind}: frames are encoded once per clip, but each question is encoded from its beginning")
            return False
        if self._is_on_cpu:
            # Grouped heads use shared keys and values without copies: copying the whole prefix for each question takes
            # as long as the attention itself. On a GPU this setting would select a slow kernel.
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")
            # Store weights by column: a product with the few rows of a question is up to a fifth faster.
            for module in self.model.get_decoder().modules():
                if type(module) is torch.nn.Linear:
                    module.weight.data = module.weight.data.t().contiguous().t()
        return True

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        inputs = self.preparer.prepare(clip, self.preparer.read(clip), tuple(requests))
        return self.answers_about(PreparedClip(inputs, {}), requests)

    def answers_about(self, prepared_clip: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Answer questions about a prepared clip; those that share an encoding are batched.

        On a CPU a batch saves no time for scores. For texts, each further token takes as long for one text as for many.
        """
        clip = self.get_encoded_clip(prepared_clip)
        is_unbatched = not self._is_shared or (self._is_on_cpu and requests[0].ask == "score")
        yield from map(clip.answer_one, requests) if is_unbatched else clip.answer_all(tuple(requests))

    def get_encoded_clip(self, prepared_clip: PreparedClip) -> "EncodedClip":
        """Return a prepared clip with its encodings so far; those of the previous clip are dropped."""
        if self.current_clip is None or self.current_clip.prepared_clip is not prepared_clip:
            self.current_clip = EncodedClip(
                self.model, self.preparer.processor, prepared_clip, self._limit, is_shared=self._is_shared
            )
        return self.current_clip


class EncodedClip:
    """A clip with its encodings, which are kept until questions about another clip arrive."""

    def __init__(
        self, model: Any, processor: ClipProcessor, prepared_clip: PreparedClip, limit: CopyLimit, *, is_shared: bool
    ) -> None:
        prepared: PreparedQuestions = prepared_clip.inputs
        self.prepared_clip, self._limit = prepared_clip, limit
        self._model, self._processor, self._tokenizer = model, processor, processor.processor.tokenizer
        self._device, self._frames = get_input_device(model), prepared.clip.frames
        self._clip = self._to_device(prepared.clip.tensors)
        self._questions, self._questions_in_run = prepared.questions, prepared.question_count
        # With only one question, encoding the prefix separately would cost more than reading everything at once.
        self._is_shared = is_shared and self._questions_in_run > 1
        self._start = b""
        self.prefix: PrefixCache | None = None

    def answer_one(self, request: Request) -> Answer:
        """Answer one question; its failure affects no other."""
        tokens = self._questions[request]
        if isinstance(tokens, Answer):
            return tokens
        if self._is_shared and tokens.shared_length:
            return answer_or_error(lambda: self._continue_from_prefix([request], [tokens], rows=1)[0])
        return answer_or_error(partial(self._from_beginning, request, tokens))

    def answer_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer all these questions; those of the same kind with a common encoding are batched."""
        answers: dict[Request, Answer] = {}
        groups: dict[tuple[object, ...], dict[Request, QuestionTokens]] = {}
        for request in requests:
            tokens = self._questions[request]
            if isinstance(tokens, Answer) or not self._is_shared or not tokens.shared_length:
                answers[request] = self.answer_one(request)
            else:
                key = (tokens.shared_prefix, request.ask == "score", self._processor.resolve_max_tokens(request))
                groups.setdefault(key, {})[request] = tokens
        for group in groups.values():
            answers.update(zip(group, self._answer_group(group), strict=True))
        return [answers[request] for request in requests]

    def _answer_group(self, questions: Mapping[Request, QuestionTokens]) -> list[Answer]:
        requests, tokens = list(questions), list(questions.values())
        with inference():
            prefix = self._shared_prefix(tokens[0])
        rows = prefix.choose_batch_size(self._questions_in_run, self._limit)
        is_full = False
        try:
            with inference():
                return self._continue_from_prefix(requests, tokens, rows)
        except NotFiniteError:
            if len(requests) == 1:
                return [Answer(error="not_finite")]
        except AnswerError as error:
            if rows == 1 or error.status != OUT_OF_MEMORY:
                raise
            is_full = True
        # Not within the handlers, where the error still references the tensors of the failed batch.
        if is_full:
            release_unused_memory()
            prefix.record_failure(rows, self._limit)
            return self._answer_group(questions)
        return [self._answer_group({request: question_tokens})[0] for request, question_tokens in questions.items()]

    def _from_beginning(self, request: Request, tokens: QuestionTokens) -> Answer:
        inputs = {**self._clip, **self._to_device(tokens.tensors)}
        length = int(inputs["input_ids"].shape[1])
        if request.ask == "score":
            return self._score_answer(request, self._model(**inputs, logits_to_keep=1).logits[0, -1], length)
        return self._text_answer(
            generate_tokens(self._model, inputs, self._processor.resolve_max_tokens(request))[0][length:], length
        )

    def _continue_from_prefix(
        self, requests: Sequence[Request], tokens: Sequence[QuestionTokens], rows: int
    ) -> list[Answer]:
        """Answer questions of the same kind that begin with the same tokens."""
        prefix = self._shared_prefix(tokens[0])
        if not prefix.is_complete:
            return list(map(self._from_beginning, requests, tokens))
        ids = [self._to_device(question.tensors)["input_ids"] for question in tokens]
        lengths = [int(question_ids.shape[1]) for question_ids in ids]
        if requests[0].ask == "score":
            return list(map(self._score_answer, requests, prefix.compute_logits(ids, rows), lengths))
        return list(
            map(self._text_answer, prefix.generate(ids, self._processor.resolve_max_tokens(requests[0]), rows), lengths)
        )

    def _shared_prefix(self, tokens: QuestionTokens) -> "PrefixCache":
        if self.prefix is None or self._start != tokens.shared_prefix:
            start = time.monotonic()
            prefix_inputs = {
                name: value[:, : tokens.shared_length] for name, value in tokens.tensors.items() if name in TEXT_INPUTS
            }
            prefix_inputs.pop("attention_mask", None)
            self.prefix, self._start = (
                PrefixCache(self._model, {**self._to_device(prefix_inputs), **self._clip}),
                tokens.shared_prefix,
            )
            if self._device.type == "cuda":
                torch.cuda.synchronize()
            self.prepared_clip.step_seconds["encode"] = (
                self.prepared_clip.step_seconds.get("encode", 0) + time.monotonic() - start
            )
        return self.prefix

    def _to_device(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return arrays as tensors on the model's device; pixels take its type, times and positions keep theirs."""
        tensors = {name: torch.as_tensor(value).to(self._device) for name, value in arrays.items()}
        pixels = {
            name: tensor.to(self._model.dtype) for name, tensor in tensors.items() if name.startswith("pixel_values")
        }
        return tensors | pixels

    def _score_answer(self, request: Request, logits: Any, length: int) -> Answer:
        scores = compute_option_probabilities(logits, tokenize_options(self._tokenizer, request.options))
        return Answer(scores=scores, frames_shown=self._frames, tokens_in=length)

    def _text_answer(self, new_tokens: Any, length: int) -> Answer:
        is_open = self._processor.opens_thought
        return decode_answer(self._tokenizer, new_tokens, opens_thought=is_open, tokens_in=length, frames=self._frames)


class PrefixCache:
    """The key-value cache of the tokens that the questions about a clip begin with."""

    def __init__(self, model: Any, inputs: Mapping[str, Any]) -> None:
        self._model = model
        self.ids = inputs["input_ids"]
        self.length = int(self.ids.shape[1])
        # The cache does not depend on the language-model head.
        self._cache = model.model(**inputs, use_cache=True).past_key_values
        self.position_offset: Any = getattr(model.model, "rope_deltas", None)
        """Offset between the position and the index of later tokens, if a model has positions in space and time."""

    @property
    def is_complete(self) -> bool:
        """Return whether the cache keeps every token, so that more tokens can follow."""
        return all(type(layer) is DynamicLayer for layer in self._cache.layers)

    def choose_batch_size(self, questions: int, limit: CopyLimit) -> int:
        """Return how many of a clip's questions form a batch: as many as fit, spread evenly over the batches."""
        if not self.is_complete:
            return 1  # each question is processed from its beginning
        max_rows = min(MAX_BATCH_ROWS, limit.max_copies(self._cache))
        return -(-questions // -(-questions // max_rows))

    def record_failure(self, rows: int, limit: CopyLimit) -> None:
        """Record that a batch of this many questions did not fit."""
        limit.record_failure(self._cache, rows)

    def compute_logits(self, questions: Sequence[Any], rows: int = 1) -> Any:
        """Return the next-token logits of each question, whose tokens (1, length) begin with the shared ones."""
        results: list[Any] = [None] * len(questions)
        for indices, suffixes, length in self._batches(questions, rows):
            padded = torch.stack([pad(suffix, (0, length - len(suffix))) for suffix in suffixes])
            positions = torch.arange(self.length, self.length + length, device=self.ids.device)[None]
            positions = positions if self.position_offset is None else positions + self.position_offset
            hidden = self._model.model(
                input_ids=padded,
                past_key_values=self._copy(rows),
                position_ids=positions.expand(rows, -1),
                use_cache=True,
            )[0]
            # A model on several devices ends on a different device from the first, so the rows are selected where its
            # output is: accelerate moves every argument of the whole model to the first device.
            last = torch.tensor([[[len(suffix) - 1]] for suffix in suffixes], device=hidden.device)
            logits = self._model.get_output_embeddings()(torch.take_along_dim(hidden, last, dim=1))[:, 0]
            for index, row in zip(indices, logits, strict=True):
                results[index] = row
        return results

    def generate(self, questions: Sequence[Any], max_tokens: int, rows: int = 1) -> Any:
        """Return the most likely tokens that follow each question, including the token that ends them."""
        settings = self._model.generation_config
        if any(getattr(settings, name) is not None for name in PROMPT_SETTINGS):
            rows = 1  # padding tokens of a batch would count as part of the prompt
        ends = torch.tensor(settings.eos_token_id or [], device=self.ids.device)
        results: list[Any] = [None] * len(questions)
        for indices, suffixes, length in self._batches(questions, rows):
            padded = torch.stack([pad(suffix, (length - len(suffix), 0)) for suffix in suffixes])
            ids = torch.cat([self.ids.expand(rows, -1), padded], 1)
            mask = torch.ones_like(ids)
            for row, suffix in enumerate(suffixes):
                mask[row, self.length : ids.shape[1] - len(suffix)] = 0
            if self.position_offset is not None:
                self._model.model.rope_deltas = self.position_offset.expand(rows, -1)
            inputs = {"input_ids": ids, "attention_mask": mask, "past_key_values": self._copy(rows)}
            for index, row in zip(indices, generate_tokens(self._model, inputs, max_tokens), strict=True):
                new_tokens = row[ids.shape[1] :]
                end = torch.isin(new_tokens, ends).nonzero()
                results[index] = new_tokens[: int(end[0]) + 1] if len(end) else new_tokens
        return results

    def _batches(self, questions: Sequence[Any], rows: int) -> Iterator[tuple[list[int], list[Any], int]]:
        """Yield batches of questions with similar lengths: their indices, their own tokens and the padded length.

        Every batch has the same number of rows: the last question of a group is repeated to fill its batch. A single
        question needs no padding.
        """
        suffixes = [ids[0, self.length :] for ids in questions]
        groups: dict[int, list[int]] = {}
        for index, suffix in enumerate(suffixes):
            groups.setdefault(
                len(suffix) if rows == 1 else -(-len(suffix) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE, []
            ).append(index)
        for length, group in groups.items():
            for start in range(0, len(group), rows):
                indices = group[start : start + rows]
                indices += indices[-1:] * (rows - len(indices))
                yield indices, [suffixes[index] for index in indices], length

    def _copy(self, rows: int) -> Any:
        """Return the cache for several questions; a forward pass puts added tokens into new tensors."""
        copied = copy.copy(self._cache)
        copied.layers = [copy.copy(layer) for layer in self._cache.layers]
        if rows > 1:
            copied.batch_repeat_interleave(rows)
        return copied


class CachedFrameEncoder:
    """A wrapper of a model's frame encoder that runs it only once while the same frames are passed."""

    def __init__(self, model: Any, name: str) -> None:
        self._model, self._name = model, name
        # `generate` inspects the signature to select arguments.
        self.__signature__ = inspect.signature(getattr(model, name))
        self._arguments: dict[str, Any] = {}
        self._output: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self.__signature__.bind(*args, **kwargs).arguments
        current = {**arguments.pop("kwargs", {}), **arguments}
        current.pop("logits_to_keep", None)  # some classes pass it on; it concerns the text only
        if (
            self._output is None
            or current.keys() != self._arguments.keys()
            or not all(map(self._is_unchanged, current, current.values()))
        ):
            # Free the output for the last clip before this one is encoded.
            self._arguments, self._output = {}, None
            self._output = getattr(type(self._model), self._name)(self._model, *args, **kwargs)
            self._arguments = current
        return copy.copy(self._output)

    def _is_unchanged(self, name: str, value: Any) -> bool:
        previous = self._arguments[name]
        is_tensor = isinstance(value, torch.Tensor) or isinstance(previous, torch.Tensor)
        return bool(value is previous if is_tensor else value == previous)
