"""Query models of transformers' own classes: exact option probabilities from one forward pass, and greedy texts.

A clip is encoded once for all questions about it: the key-value cache of their common prefix is kept, and each question
continues from this cache. The results equal those of the reference, `engine: plain`, up to rounding. No answer depends
on other questions, because the shape of a batch depends only on the clip and the question. On a CPU, scores are not
batched.
"""

import copy
import inspect
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil
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
# Maximum number of questions of a batch.
MAX_BATCH_ROWS = 16
# The lengths of questions are padded to multiples of this number of tokens, so that more questions share a batch.
LENGTH_MULTIPLE = 32


class TransformersAdapter:
    """A video-language model with its processor and chat template, loaded from one folder."""

    def __init__(self, spec: ModelSpec) -> None:
        set_thread_count(spec)
        self.preparer = ClipPreparer(spec)
        processor = self.preparer.processor
        self.begin_run(spec)  # reject an unsuitable checkpoint before its weights are loaded
        self.model = load_model(AutoModelForImageTextToText, spec, compute_clip_size(spec, processor))
        batch_vision_attention(self.model)
        self._is_on_cpu = get_input_device(self.model).type == "cpu"
        self._is_shared = (
            TransformersSettings.model_validate(spec.settings).engine == "shared" and self._enable_sharing()
        )
        self._copy_limit = CopyLimit()
        self.current_clip: EncodedClip | None = None

    def begin_run(self, spec: ModelSpec) -> None:
        processor = self.preparer.processor
        if spec.has_frames:
            _ = processor.frame_mode  # Reading it raises a UserError if neither a video nor images reach the model.
        check_scores(spec, processor.processor.tokenizer, opens_thought=processor.opens_thought)
        self.preparer.prompt_start = spec.prompt_start

    def _enable_sharing(self) -> bool:
        """Make the model encode frames once per clip; return whether the common prefix of questions is encoded once."""
        inner_model, model_type = getattr(self.model, "model", self.model), self.model.config.model_type
        for name in ("get_video_features", "get_image_features"):
            if hasattr(inner_model, name):
                setattr(inner_model, name, CachedFrameEncoder(inner_model, name))
        if model_type not in VERIFIED_MODEL_TYPES:
            log.info(f"{model_type}: frames are encoded once per clip, but each question is encoded from its beginning")
            return False
        if self._is_on_cpu:
            # With this setting, grouped heads share keys and values without copies. A copy of the whole prefix for each
            # question would take as long as the attention itself. On a GPU, the setting would select a slow kernel.
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")
            # Weights are stored by column, which makes a product with the few rows of a question up to a fifth faster.
            for module in self.model.get_decoder().modules():
                if type(module) is torch.nn.Linear:
                    module.weight.data = module.weight.data.t().contiguous().t()
        return True

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        inputs = self.preparer.prepare(clip, self.preparer.read(clip), tuple(requests))
        return self.answers_about(PreparedClip(inputs, {}), requests)

    def answers_about(self, prepared_clip: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        """Answer questions about a prepared clip, and batch questions with a common prefix.

        On a CPU, scores are not batched, because a batch saves no time. Texts are batched, because a further token of
        many texts takes as long as that of one text.
        """
        clip = self.get_encoded_clip(prepared_clip)
        is_unbatched = not self._is_shared or (self._is_on_cpu and requests[0].request_type == "score")
        if is_unbatched:
            yield from map(clip.answer_one, requests)
        else:
            yield from clip.answer_all(tuple(requests))

    def get_encoded_clip(self, prepared_clip: PreparedClip) -> "EncodedClip":
        """Return a clip with its encodings so far; drop the encodings of the previous clip."""
        if self.current_clip is None or self.current_clip.prepared_clip is not prepared_clip:
            self.current_clip = EncodedClip(
                self.model, self.preparer.processor, prepared_clip, self._copy_limit, is_shared=self._is_shared
            )
        return self.current_clip


class EncodedClip:
    """A clip with its encodings, which are kept until the next clip."""

    def __init__(
        self,
        model: Any,
        processor: ClipProcessor,
        prepared_clip: PreparedClip,
        copy_limit: CopyLimit,
        *,
        is_shared: bool,
    ) -> None:
        prepared: PreparedQuestions = prepared_clip.inputs
        self.prepared_clip, self._copy_limit = prepared_clip, copy_limit
        self._model, self._processor, self._tokenizer = model, processor, processor.processor.tokenizer
        self._device, self._frame_count = get_input_device(model), prepared.clip.frame_count
        self._clip = self._to_device(prepared.clip.tensors)
        self._questions, self._question_count = prepared.questions, prepared.question_count
        # If there is only one question, encoding its prefix separately would cost more time than encoding all at once.
        self._is_shared = is_shared and self._question_count > 1
        self._prefix_bytes = b""
        self.prefix: PrefixCache | None = None

    def answer_one(self, request: Request) -> Answer:
        """Answer one question; a failure affects no other question."""
        tokens = self._questions[request]
        if isinstance(tokens, Answer):
            return tokens
        if self._is_shared and tokens.shared_length:
            return answer_or_error(lambda: self._continue_from_prefix([request], [tokens], row_count=1)[0])
        return answer_or_error(partial(self._answer_from_beginning, request, tokens))

    def answer_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer questions; batch those with a common prefix, the same request type and the same token limit."""
        answers: dict[Request, Answer] = {}
        # (shared prefix, whether scores are requested, token limit) -> the questions that one batch may contain
        groups: dict[tuple[object, ...], dict[Request, QuestionTokens]] = {}
        for request in requests:
            tokens = self._questions[request]
            if isinstance(tokens, Answer) or not self._is_shared or not tokens.shared_length:
                answers[request] = self.answer_one(request)
            else:
                key = (
                    tokens.shared_prefix,
                    request.request_type == "score",
                    self._processor.resolve_max_tokens(request),
                )
                groups.setdefault(key, {})[request] = tokens
        for group in groups.values():
            answers.update(zip(group, self._answer_group(group), strict=True))
        return [answers[request] for request in requests]

    def _answer_group(self, questions: Mapping[Request, QuestionTokens]) -> list[Answer]:
        """Answer questions with a common prefix in batches; after an error, use smaller batches or single questions."""
        requests, tokens = list(questions), list(questions.values())
        with inference():
            prefix = self._get_prefix_cache(tokens[0])
        row_count = prefix.choose_batch_size(self._question_count, self._copy_limit)
        is_out_of_memory = False
        try:
            with inference():
                return self._continue_from_prefix(requests, tokens, row_count)
        except NotFiniteError:
            if len(requests) == 1:
                return [Answer(error="not_finite")]
        except AnswerError as error:
            if row_count == 1 or error.status != OUT_OF_MEMORY:
                raise
            is_out_of_memory = True
        # Inside the handlers, the error would still reference the tensors of the failed batch.
        if is_out_of_memory:
            release_unused_memory()
            prefix.record_failure(row_count, self._copy_limit)
            return self._answer_group(questions)
        # NaN for one question aborts the whole batch, so each question is answered alone.
        return [self._answer_group({request: question_tokens})[0] for request, question_tokens in questions.items()]

    def _answer_from_beginning(self, request: Request, tokens: QuestionTokens) -> Answer:
        """Answer one question by a forward pass over its whole prompt, without the prefix cache."""
        inputs = {**self._clip, **self._to_device(tokens.tensors)}
        length = int(inputs["input_ids"].shape[1])
        if request.request_type == "score":
            return self._build_score_answer(request, self._model(**inputs, logits_to_keep=1).logits[0, -1], length)
        return self._build_text_answer(
            generate_tokens(self._model, inputs, self._processor.resolve_max_tokens(request))[0][length:], length
        )

    def _continue_from_prefix(
        self, requests: Sequence[Request], tokens: Sequence[QuestionTokens], row_count: int
    ) -> list[Answer]:
        """Answer questions of one request type that begin with the same tokens."""
        prefix = self._get_prefix_cache(tokens[0])
        if not prefix.is_complete:
            return list(map(self._answer_from_beginning, requests, tokens))
        ids = [self._to_device(question.tensors)["input_ids"] for question in tokens]
        lengths = [int(question_ids.shape[1]) for question_ids in ids]
        if requests[0].request_type == "score":
            return list(map(self._build_score_answer, requests, prefix.compute_logits(ids, row_count), lengths))
        return list(
            map(
                self._build_text_answer,
                prefix.generate(ids, self._processor.resolve_max_tokens(requests[0]), row_count),
                lengths,
            )
        )

    def _get_prefix_cache(self, tokens: QuestionTokens) -> "PrefixCache":
        """Return the key-value cache of a question's shared prefix; compute it if the last question had another one."""
        if self.prefix is None or self._prefix_bytes != tokens.shared_prefix:
            start = time.monotonic()
            prefix_inputs = {
                name: value[:, : tokens.shared_length] for name, value in tokens.tensors.items() if name in TEXT_INPUTS
            }
            prefix_inputs.pop("attention_mask", None)  # The prefix has no padding.
            self.prefix = PrefixCache(self._model, {**self._to_device(prefix_inputs), **self._clip})
            self._prefix_bytes = tokens.shared_prefix
            if self._device.type == "cuda":
                torch.cuda.synchronize()
            self.prepared_clip.step_seconds["encode"] = (
                self.prepared_clip.step_seconds.get("encode", 0) + time.monotonic() - start
            )
        return self.prefix

    def _to_device(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return arrays as tensors on the model's device; convert only pixels to the model's type."""
        tensors = {name: torch.as_tensor(value).to(self._device) for name, value in arrays.items()}
        pixels = {
            name: tensor.to(self._model.dtype) for name, tensor in tensors.items() if name.startswith("pixel_values")
        }
        return tensors | pixels

    def _build_score_answer(self, request: Request, logits: Any, length: int) -> Answer:
        scores = compute_option_probabilities(logits, tokenize_options(self._tokenizer, request.options))
        return Answer(scores=scores, frames_shown=self._frame_count, tokens_in=length)

    def _build_text_answer(self, new_tokens: Any, length: int) -> Answer:
        opens_thought = self._processor.opens_thought
        return decode_answer(
            self._tokenizer, new_tokens, opens_thought=opens_thought, tokens_in=length, frame_count=self._frame_count
        )


class PrefixCache:
    """The key-value cache of the common prefix of the questions about a clip."""

    def __init__(self, model: Any, inputs: Mapping[str, Any]) -> None:
        self._model = model
        self.ids = inputs["input_ids"]
        self.length = int(self.ids.shape[1])
        # The language-model head is skipped, because the cache does not depend on it.
        self._cache = model.model(**inputs, use_cache=True).past_key_values
        self.position_offset: Any = getattr(model.model, "rope_deltas", None)
        """offset between the position and the index of later tokens, if the model has positions in space and time"""

    @property
    def is_complete(self) -> bool:
        """Return whether the cache keeps every token, as is required to continue from it."""
        return all(type(layer) is DynamicLayer for layer in self._cache.layers)

    def choose_batch_size(self, question_count: int, copy_limit: CopyLimit) -> int:
        """Return the number of questions per batch: at most as many as fit, and similar for all batches."""
        if not self.is_complete:
            return 1  # each question is processed from its beginning
        max_rows = min(MAX_BATCH_ROWS, copy_limit.compute_max_copies(self._cache))
        batch_count = ceil(question_count / max_rows)
        return ceil(question_count / batch_count)

    def record_failure(self, row_count: int, copy_limit: CopyLimit) -> None:
        """Record that a batch of this many questions did not fit."""
        copy_limit.record_failure(self._cache, row_count)

    def compute_logits(self, question_ids: Sequence[Any], row_count: int = 1) -> Any:
        """Return the next-token logits of each question, whose tokens (1, length) begin with the common prefix."""
        logits_by_question: list[Any] = [None] * len(question_ids)
        for indices, suffixes, length in self._make_batches(question_ids, row_count):
            padded = torch.stack([pad(suffix, (0, length - len(suffix))) for suffix in suffixes])
            positions = torch.arange(self.length, self.length + length, device=self.ids.device)[None]
            positions = positions if self.position_offset is None else positions + self.position_offset
            hidden = self._model.model(
                input_ids=padded,
                past_key_values=self._copy_cache(row_count),
                position_ids=positions.expand(row_count, -1),
                use_cache=True,
            )[0]
            # The output of a model on several devices is on the last one. The rows are selected there, because
            # accelerate would move the arguments of a call of the whole model to the first device.
            last_positions = torch.tensor([[[len(suffix) - 1]] for suffix in suffixes], device=hidden.device)
            logits = self._model.get_output_embeddings()(torch.take_along_dim(hidden, last_positions, dim=1))[:, 0]
            for index, row in zip(indices, logits, strict=True):
                logits_by_question[index] = row
        return logits_by_question

    def generate(self, question_ids: Sequence[Any], max_tokens: int, row_count: int = 1) -> Any:
        """Return the most likely tokens after each question, including the token that ends the text."""
        settings = self._model.generation_config
        if any(getattr(settings, name) is not None for name in PROMPT_SETTINGS):
            row_count = 1  # padding tokens of a batch would count as part of the prompt
        end_tokens = torch.tensor(settings.eos_token_id or [], device=self.ids.device)
        tokens_by_question: list[Any] = [None] * len(question_ids)
        for indices, suffixes, length in self._make_batches(question_ids, row_count):
            padded = torch.stack([pad(suffix, (length - len(suffix), 0)) for suffix in suffixes])
            ids = torch.cat([self.ids.expand(row_count, -1), padded], 1)
            mask = torch.ones_like(ids)  # The padding is between the prefix and the suffix, before the new tokens.
            for row, suffix in enumerate(suffixes):
                mask[row, self.length : ids.shape[1] - len(suffix)] = 0
            if self.position_offset is not None:
                self._model.model.rope_deltas = self.position_offset.expand(row_count, -1)
            inputs = {"input_ids": ids, "attention_mask": mask, "past_key_values": self._copy_cache(row_count)}
            for index, row in zip(indices, generate_tokens(self._model, inputs, max_tokens), strict=True):
                new_tokens = row[ids.shape[1] :]
                end = torch.isin(new_tokens, end_tokens).nonzero()
                tokens_by_question[index] = new_tokens[: int(end[0]) + 1] if len(end) else new_tokens
        return tokens_by_question

    def _make_batches(self, question_ids: Sequence[Any], row_count: int) -> Iterator[tuple[list[int], list[Any], int]]:
        """Yield batches of questions with similar lengths: indices, tokens after the common prefix, and padded length.

        All batches have the same number of rows, because the last question of a group is repeated to fill its batch.
        A single question needs no padding.
        """
        suffixes = [ids[0, self.length :] for ids in question_ids]
        groups: dict[int, list[int]] = {}
        for index, suffix in enumerate(suffixes):
            padded_length = len(suffix) if row_count == 1 else ceil(len(suffix) / LENGTH_MULTIPLE) * LENGTH_MULTIPLE
            groups.setdefault(padded_length, []).append(index)
        for length, group in groups.items():
            for start in range(0, len(group), row_count):
                indices = group[start : start + row_count]
                indices += indices[-1:] * (row_count - len(indices))
                yield indices, [suffixes[index] for index in indices], length

    def _copy_cache(self, row_count: int) -> Any:
        """Return a copy of the cache for a batch of `row_count` questions.

        Forward passes replace the tensors of the copied layers, so the original tensors stay as they are.
        """
        copied = copy.copy(self._cache)
        copied.layers = [copy.copy(layer) for layer in self._cache.layers]
        if row_count > 1:
            copied.batch_repeat_interleave(row_count)
        return copied


class CachedFrameEncoder:
    """A wrapper of a model's frame encoder, which runs the encoder only if its arguments change."""

    def __init__(self, model: Any, name: str) -> None:
        self._model, self._name = model, name
        # `generate` inspects the signature to select arguments.
        self.__signature__ = inspect.signature(getattr(model, name))
        self._arguments: dict[str, Any] = {}
        self._output: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self.__signature__.bind(*args, **kwargs).arguments
        current = {**arguments.pop("kwargs", {}), **arguments}
        current.pop("logits_to_keep", None)  # some classes pass this argument, which affects only the text
        if (
            self._output is None
            or current.keys() != self._arguments.keys()
            or not all(map(self._is_unchanged, current, current.values()))
        ):
            # The memory of the previous clip's output must be free before this clip is encoded.
            self._arguments, self._output = {}, None
            # The method of the class is called, because this wrapper replaces that of the instance.
            self._output = getattr(type(self._model), self._name)(self._model, *args, **kwargs)
            self._arguments = current
        return copy.copy(self._output)

    def _is_unchanged(self, name: str, value: Any) -> bool:
        previous = self._arguments[name]
        is_tensor = isinstance(value, torch.Tensor) or isinstance(previous, torch.Tensor)
        return bool(value is previous if is_tensor else value == previous)
