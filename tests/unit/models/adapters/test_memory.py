"""Memory of the device: how many questions it holds at once, and what happens when a batch does not fit."""

import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.base import AnswerError, PreparedClip
from reprise.models.local.memory import CopyLimit, compute_copy_budget
from reprise.models.local.transformers import TransformersAdapter
from transformers import DynamicCache

from tests.unit.requests import request, shown, spec

START = "Carefully watch the video. Here is a caption: "
QUESTIONS = [
    request(f"{START}{word} slides left.", "score", ("Yes", "No")) for word in ("red", "blue", "it", "he", "she")
]
TEXTS = [request(START + word, "write", max_tokens=3) for word in ("red", "blue", "it", "he", "she")]
FULL = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
GB = 10**9


class SmallDevice:
    """A decoder on a device with room for some rows of a batch; it records the tensors of batches that did not fit."""

    def __init__(self, model: Any, most: int) -> None:
        self.most, self.failed = most, 0
        self.tensors: list[weakref.ref[Any]] = []
        self.alive = 0
        layers = model.get_decoder().layers
        layers[0].register_forward_pre_hook(self._begin)
        layers[-1].register_forward_hook(self._end, with_kwargs=True)

    def _begin(self, layer: Any, inputs: Any) -> None:
        self.alive += sum(tensor() is not None for tensor in self.tensors)
        self.tensors.clear()

    def _end(self, layer: Any, inputs: Any, named: Any, output: Any) -> None:
        rows = output.shape[0]
        if rows > self.most:
            cache = named["past_key_values"]
            kept = [output, *(tensor for one in cache.layers for tensor in (one.keys, one.values))]
            self.tensors += map(weakref.ref, kept)
            self.failed += 1
            raise torch.cuda.OutOfMemoryError(str(FULL))


def adapter_of(folder: Path) -> TransformersAdapter:
    return TransformersAdapter(replace(spec(folder), prompt_start=START))


@pytest.mark.parametrize("asked", [QUESTIONS, TEXTS], ids=["scores", "texts"])
def test_a_batch_that_does_not_fit_is_released_and_later_ones_are_smaller(
    asked: list[Any], folder: Path, video: Path
) -> None:
    adapter, clips = adapter_of(folder), [shown(video, (3, 17, 30, 40)), shown(video, (5, 20, 41, 44))]
    expected = [[*adapter.answers(clip, asked)] for clip in clips]
    small = SmallDevice(adapter.model, most=2)
    for clip, answers in zip(clips, expected, strict=True):
        prepared = adapter.preparer.prepare(clip, adapter.preparer.read(clip), tuple(asked))
        found = adapter.get_encoded_clip(PreparedClip(prepared, {})).answer_all(asked)
        assert [one.text for one in found] == [one.text for one in answers]
        for one, other in zip(found, answers, strict=True):
            assert one.scores == pytest.approx(other.scores, abs=1e-5)
    assert small.failed == 1, "5 rows do not fit, 2 do; the next clip begins with 2"
    assert small.alive == 0, "tensors of the failed batch are alive while it is tried again"


def test_a_question_that_does_not_fit_alone_fails(folder: Path, video: Path) -> None:
    adapter, clip = adapter_of(folder), shown(video, (3, 17, 30, 40))
    list(adapter.answers(clip, QUESTIONS))
    SmallDevice(adapter.model, most=0)
    assert adapter.current_clip is not None
    with pytest.raises(AnswerError, match="out_of_memory: CUDA out of memory"):
        adapter.current_clip.answer_all(QUESTIONS)


@pytest.mark.parametrize(("free", "reserved", "allocated", "room"), [
    (40 * GB, 0, 0, 4 << 30),
    (2 * GB, 0, 0, GB),
    (GB, 30 * GB, 29 * GB, GB),  # kept by torch, used by nothing
])  # fmt: skip
def test_copies_take_half_of_what_is_free(
    free: int, reserved: int, allocated: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80 * GB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: allocated)
    assert compute_copy_budget(torch.device("cuda", 1)) == room


def test_a_cache_on_several_devices_is_copied_as_often_as_the_fullest_one_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = DynamicCache()
    for layer, device in enumerate(("cpu", "cpu", "meta")):
        cache.update(*(torch.zeros(1, 1, 2**20, 4, device=device) for _ in range(2)), layer_idx=layer)
    # 2 x 32 MiB on the first device and 32 MiB on the second, which both have 1 GiB for copies.
    limit = CopyLimit()
    assert limit.max_copies(cache) == 16
    limit.record_failure(cache, 16)
    assert limit.max_copies(cache) == 8
    limit.record_failure(cache, 1)
    assert limit.max_copies(cache) == 1


@pytest.mark.parametrize(("before", "after"), [
    ({}, "expandable_segments:True"),
    ({"PYTORCH_ALLOC_CONF": "backend:native"}, "backend:native"),
    ({"PYTORCH_CUDA_ALLOC_CONF": "backend:native"}, "None"),
])  # fmt: skip
def test_segments_of_gpu_memory_can_grow(before: dict[str, str], after: str) -> None:
    program = "import os, reprise.models.local.torch_setup; print(os.environ.get('PYTORCH_ALLOC_CONF'))"
    environment = {"PYTHONPATH": ":".join(sys.path), **before}
    done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().strip() == after
