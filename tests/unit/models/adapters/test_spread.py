"""A model in parts on several devices answers as it does on one, bit for bit.

The second device of a machine without GPUs is its disk: accelerate brings each part to where it computes, by the hooks
that bring a clip's tokens from one GPU to the next.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reprise.models.base import ModelSpec
from reprise.models.local.devices import allowance, needed
from reprise.models.local.text import TextAdapter
from reprise.models.local.transformers import Prefix, TransformersAdapter

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters import tiny, tiny_video

ASKED = [
    request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    request("Who is spinning?", "write"),
]


def spread(one: ModelSpec, share: float) -> ModelSpec:
    """The same with room for a share of the weights in memory, and for all of them on the disk."""
    weights = needed(one.weights, one.dtype, None).weights
    beside = allowance(weights // 2)
    return replace(one, memory={"cpu": beside + int(weights * share), "disk": beside + 2 * weights})


@pytest.mark.parametrize(("make", "kind", "share"), [
    (tiny.llava, TransformersAdapter, 0.85), (tiny_video.qwen2_vl, TransformersAdapter, 0.7),
    (tiny.llama, TextAdapter, 0.95), (tiny.t5, TextAdapter, 0.95),
])  # fmt: skip
def test_a_model_in_parts_answers_as_a_whole_one(
    make: Callable[[Path], Path], kind: Any, share: float, tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = spec(make(tmp_path / "m"))
    one, parts = kind(whole), kind(spread(whole, share))
    for clip in (BLIND, shown(video, (3, 30))):
        assert list(parts.answers(clip, ASKED)) == list(one.answers(clip, ASKED))
    if kind is TransformersAdapter:
        assert set(parts.model.hf_device_map.values()) == {"cpu", "disk"}
        monkeypatch.setattr(Prefix, "rows", lambda *_: 3)  # in batches, as on a GPU
        assert parts.asked.together(ASKED) == one.asked.together(ASKED)
