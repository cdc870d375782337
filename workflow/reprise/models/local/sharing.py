"""One encoding of a clip for all questions about it: the cache of the tokens that they begin with, and what follows it.

Exact but for rounding; `engine: plain` is the reference. A question's answer depends on no other question: batches have
a shape that follows from clip and question alone, and on a CPU each score is asked alone after the shared tokens.
"""

import copy
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprise.models.local.forward import rows_written
from reprise.models.local.generation import looks_at_prompt
from reprise.models.local.torch_setup import prepare

prepare()

import torch  # noqa: E402  prepare() must come first
from torch.nn.functional import pad  # noqa: E402
from transformers.cache_utils import DynamicLayer  # noqa: E402

# Kinds of models for which a test shows the shared engine to give the same numbers as the plain one.
PROVEN = frozenset(
    {
        "aria", "glm46v", "glm4v", "internvl", "llava", "llava_next", "llava_next_video", "llava_onevision",
        "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "smolvlm", "video_llava",
    }
)  # fmt: skip
# Rows of a batch, what their copies of the cache may take of the device's memory, and what lengths are rounded up to.
ROWS, LENGTHS = 16, 32
ROWS_BYTES = {"cpu": 1 << 30, "cuda": 4 << 30}


class Prefix:
    """What a model keeps of the tokens that the questions about a clip begin with."""

    def __init__(self, model: Any, inputs: Mapping[str, Any]) -> None:
        self._model = model
        self.ids = inputs["input_ids"]
        self._cache = model(**inputs, use_cache=True, logits_to_keep=1).past_key_values
        self.shift: Any = getattr(model.model, "rope_deltas", None)
        """Where a model counts positions in space and time: how far what follows is from the number of its token."""

    @property
    def is_whole(self) -> bool:
        """Whether the cache keeps every token, so that others can follow it."""
        return all(type(layer) is DynamicLayer for layer in self._cache.layers)

    def rows(self, questions: int) -> int:
        """How many of a clip's questions are asked at once: as many as there is room for, spread evenly."""
        if questions == 0:
            return 1
        size = sum(layer.keys.nbytes + layer.values.nbytes for layer in self._cache.layers)
        most = max(1, min(ROWS, ROWS_BYTES[self.ids.device.type] // size))
        return int(-(-questions // -(-questions // most)))

    def logits(self, questions: Sequence[Any], rows: int = 1) -> Any:
        """The logits of the first token after each question, whose tokens (1, length) begin with the shared ones."""
        after = [ids[0, self.length :] for ids in questions]
        found: list[Any] = [None] * len(questions)
        for places in _batches([len(ids) for ids in after], rows):
            longest = _rounded(max(len(after[place]) for place in places), rows)
            filled = torch.stack([pad(after[place], (0, longest - len(after[place]))) for place in places])
            positions = torch.arange(self.length, self.length + longest, device=self.ids.device)[None]
            positions = positions if self.shift is None else positions + self.shift
            last = torch.tensor([[len(after[place]) - 1] for place in places], device=self.ids.device)
            logits = self._model(
                input_ids=filled,
                past_key_values=self.copy(rows),
                position_ids=positions.expand(rows, -1),
                use_cache=True,
                logits_to_keep=last,
            ).logits[:, 0]
            for place, one in zip(places, logits, strict=True):
                found[place] = one
        return found

    def written(self, questions: Sequence[Any], max_tokens: int, rows: int = 1) -> Any:
        """The tokens that follow each question, always the likeliest one."""
        rows = 1 if looks_at_prompt(self._model) else rows  # what fills a batch up would count as words of the prompt
        after = [ids[0, self.length :] for ids in questions]
        found: list[Any] = [None] * len(questions)
        for places in _batches([len(ids) for ids in after], rows):
            longest = _rounded(max(len(after[place]) for place in places), rows)
            filled = torch.stack([pad(after[place], (longest - len(after[place]), 0)) for place in places])
            ids = torch.cat([self.ids.expand(rows, -1), filled], 1)
            mask = torch.ones_like(ids)
            for row, place in enumerate(places):
                mask[row, self.length : ids.shape[1] - len(after[place])] = 0
            if self.shift is not None:
                self._model.model.rope_deltas = self.shift.expand(rows, -1)
            inputs = {"input_ids": ids, "attention_mask": mask, "past_key_values": self.copy(rows)}
            for place, one in zip(places, rows_written(self._model, inputs, max_tokens), strict=True):
                found[place] = self._until_end(one[ids.shape[1] :])
        return found

    def _until_end(self, new: Any) -> Any:
        """A text with the token that ends it, as it is written alone."""
        ends = torch.tensor(self._model.generation_config.eos_token_id or [], device=new.device)
        places = torch.isin(new, ends).nonzero()
        return new[: int(places[0]) + 1] if len(places) else new

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    def copy(self, rows: int) -> Any:
        """The cache for some questions: a forward puts what it adds into new tensors."""
        copied = copy.copy(self._cache)
        copied.layers = [copy.copy(layer) for layer in self._cache.layers]
        if rows > 1:
            copied.batch_repeat_interleave(rows)
        return copied


def _rounded(length: int, rows: int) -> int:
    """The length that a batch is filled up to; a question alone needs no filling."""
    return length if rows == 1 else -(-length // LENGTHS) * LENGTHS


def _batches(lengths: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Places of questions of about one length, always the same number: the last of a group fills its batch up."""
    groups: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(_rounded(length, rows) if rows > 1 else 0, []).append(place)
    for group in groups.values():
        for start in range(0, len(group), rows):
            chunk = group[start : start + rows]
            yield chunk + chunk[-1:] * (rows - len(chunk))


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
        is_same = self._found is not None and now.keys() == self._given.keys()
        if not is_same or not all(_is_same(value, self._given[name]) for name, value in now.items()):
            self._found = getattr(type(self._model), self._name)(self._model, *given, **named)
            self._given = now
        return copy.copy(self._found)


def _is_same(before: Any, now: Any) -> bool:
    is_tensor = isinstance(before, torch.Tensor) or isinstance(now, torch.Tensor)
    return before is now if is_tensor else bool(before == now)


def share_heads_on_a_cpu() -> None:
    """Have attention look at keys and values that heads share as they are: copies of the whole prefix for each question
    take as long as the attention itself. On a GPU that would choose a slow kernel."""
    os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")


def lay_out_for_a_cpu(language_model: Any) -> None:
    """Keep weights in columns: a product with the few rows of a question is up to a fifth faster so, others as fast."""
    for module in language_model.modules():
        if type(module) is torch.nn.Linear:
            module.weight.data = module.weight.data.t().contiguous().t()


def encode_once(model: Any) -> None:
    """Have a model encode the frames of a clip once, however often it is asked about them."""
    for name in ("get_video_features", "get_image_features"):
        if hasattr(model, name):
            setattr(model, name, EncodedOnce(model, name))
