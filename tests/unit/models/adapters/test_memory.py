"""Test the device's memory: how many requests it holds at once, and what happens when a batch does not fit."""

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

from tests.unit.requests import clip_frames, make_request, model_spec

START = "Carefully watch the video. Here is a caption: "
SCORE_REQUESTS = [
    make_request(f"{START}{word} slides left.", "score", ("Yes", "No")) for word in ("red", "blue", "it", "he", "she")
]
TEXT_REQUESTS = [make_request(START + word, "write", max_tokens=3) for word in ("red", "blue", "it", "he", "she")]
OUT_OF_MEMORY = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
GB = 10**9


class SmallDevice:
    """A decoder on a device that holds `max_rows` rows of a batch; it records the tensors of batches that do not fit."""

    def __init__(self, model: Any, max_rows: int) -> None:
        self.max_rows, self.failed_batches = max_rows, 0
        self.tensors: list[weakref.ref[Any]] = []
        self.leaked_tensors = 0
        layers = model.get_decoder().layers
        layers[0].register_forward_pre_hook(self._begin)
        layers[-1].register_forward_hook(self._end, with_kwargs=True)

    def _begin(self, layer: Any, inputs: Any) -> None:
        self.leaked_tensors += sum(tensor() is not None for tensor in self.tensors)
        self.tensors.clear()

    def _end(self, layer: Any, inputs: Any, options: Any, output: Any) -> None:
        rows = output.shape[0]
        if rows > self.max_rows:
            cache = options["past_key_values"]
            batch_tensors = [output, *(tensor for entry in cache.layers for tensor in (entry.keys, entry.values))]
            self.tensors += map(weakref.ref, batch_tensors)
            self.failed_batches += 1
            raise torch.cuda.OutOfMemoryError(str(OUT_OF_MEMORY))


def make_adapter(folder: Path) -> TransformersAdapter:
    return TransformersAdapter(replace(model_spec(folder), prompt_start=START))


@pytest.mark.parametrize("requests", [SCORE_REQUESTS, TEXT_REQUESTS], ids=["scores", "texts"])
def test_a_batch_that_does_not_fit_is_released_and_the_next_batches_are_smaller(
    requests: list[Any], folder: Path, video: Path
) -> None:
    adapter, clips = make_adapter(folder), [clip_frames(video, (3, 17, 30, 40)), clip_frames(video, (5, 20, 41, 44))]
    expected = [[*adapter.answers(clip, requests)] for clip in clips]
    device = SmallDevice(adapter.model, max_rows=2)
    for clip, answers in zip(clips, expected, strict=True):
        prepared = adapter.preparer.prepare(clip, adapter.preparer.read(clip), tuple(requests))
        batched = adapter.get_encoded_clip(PreparedClip(prepared, {})).answer_all(requests)
        assert [answer.text for answer in batched] == [answer.text for answer in answers]
        for batched_answer, answer in zip(batched, answers, strict=True):
            assert batched_answer.scores == pytest.approx(answer.scores, abs=1e-5)
    assert device.failed_batches == 1, "5 rows do not fit, 2 do; the next clip begins with 2"
    assert device.leaked_tensors == 0, "tensors of the failed batch are released before the retry"


def test_a_request_that_does_not_fit_alone_fails(folder: Path, video: Path) -> None:
    adapter, clip = make_adapter(folder), clip_frames(video, (3, 17, 30, 40))
    list(adapter.answers(clip, SCORE_REQUESTS))
    SmallDevice(adapter.model, max_rows=0)
    assert adapter.current_clip is not None
    with pytest.raises(AnswerError, match="out_of_memory: CUDA out of memory"):
        adapter.current_clip.answer_all(SCORE_REQUESTS)


@pytest.mark.parametrize(("free", "reserved", "allocated", "copy_budget"), [
    (40 * GB, 0, 0, 4 << 30),
    (2 * GB, 0, 0, GB),
    (GB, 30 * GB, 29 * GB, GB),  # torch reserves it, but nothing uses it
])  # fmt: skip
def test_copies_take_half_of_the_free_memory(
    free: int, reserved: int, allocated: int, copy_budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80 * GB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: allocated)
    assert compute_copy_budget(torch.device("cuda", 1)) == copy_budget


def test_the_fullest_device_limits_the_copies_of_a_cache_on_several_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = DynamicCache()
    for layer, device in enumerate(("cpu", "cpu", "meta")):
        cache.update(*(torch.zeros(1, 1, 2**20, 4, device=device) for _ in range(2)), layer_idx=layer)
    # 2 x 32 MiB on the first device and 32 MiB on the second, which both have 1 GiB for copies.
    limit = CopyLimit()
    assert limit.compute_max_copies(cache) == 16
    limit.record_failure(cache, 16)
    assert limit.compute_max_copies(cache) == 8
    limit.record_failure(cache, 1)
    assert limit.compute_max_copies(cache) == 1


@pytest.mark.parametrize(("allocator_settings", "expected"), [
    ({}, "expandable_segments:True"),
    ({"PYTORCH_ALLOC_CONF": "backend:native"}, "backend:native"),
    ({"PYTORCH_CUDA_ALLOC_CONF": "backend:native"}, "None"),
])  # fmt: skip
def test_segments_of_gpu_memory_can_grow(allocator_settings: dict[str, str], expected: str) -> None:
    program = "import os, reprise.models.local.torch_setup; print(os.environ.get('PYTORCH_ALLOC_CONF'))"
    environment = {"PYTHONPATH": ":".join(sys.path), **allocator_settings}
    process = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    assert process.stdout.decode().strip() == expected
