"""A model in parts on several devices answers as it does on one, bit for bit.

The second device of a machine without GPUs is its disk: accelerate brings each part to where it computes, by the hooks
that bring a clip's tokens from one GPU to the next.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from reprise.models.base import ModelSpec
from reprise.models.local.devices import allowance, needed
from reprise.models.local.text import TextAdapter
from reprise.models.local.transformers import Prefix, TransformersAdapter

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters import tiny

ASKED = [
    request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    request("Who is spinning slowly?", "score", ("Yes", "No")),
    request("Who is spinning slowly?", "write"),
]
INDICES = (3, 30)


def spread(one: ModelSpec, share: float) -> ModelSpec:
    """The same with room for a share of the weights in memory, and for all of them on the disk."""
    assert one.folder is not None
    weights = needed(one.folder, one.dtype, None).weights
    beside = allowance(weights // 2)
    return replace(one, memory={"cpu": beside + int(weights * share), "disk": beside + 2 * weights})


@pytest.mark.parametrize("engine", ["shared", "plain"])
@pytest.mark.parametrize(("make", "share"), [(tiny.llava, 0.85), (tiny.qwen2_vl, 0.7)])
def test_a_video_model_in_parts_answers_as_a_whole_one(
    make: Callable[[Path], Path],
    share: float,
    engine: str,
    tmp_path: Path,
    video: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = spec(make(tmp_path / "m"), engine=engine)
    one, parts = TransformersAdapter(whole), TransformersAdapter(spread(whole, share))
    assert set(parts.model.hf_device_map.values()) == {"cpu", "disk"}
    clip = shown(video, INDICES)
    assert list(parts.answers(clip, ASKED)) == list(one.answers(clip, ASKED))
    assert list(parts.answers(BLIND, ASKED)) == list(one.answers(BLIND, ASKED))
    if engine == "shared":  # in batches, as on a GPU
        monkeypatch.setattr(Prefix, "rows", lambda *_: 3)
        batches = []
        for adapter in (one, parts):
            list(adapter.answers(clip, ASKED))
            assert adapter.asked is not None
            batches.append(adapter.asked.together(ASKED))
        assert batches[0] == batches[1]


@pytest.mark.parametrize(("make", "share"), [(tiny.llama, 0.95), (tiny.t5, 0.95)])
def test_a_language_model_in_parts_answers_as_a_whole_one(
    make: Callable[[Path], Path], share: float, tmp_path: Path
) -> None:
    whole = spec(make(tmp_path / "m"))
    one, parts = TextAdapter(whole), TextAdapter(spread(whole, share))
    assert list(parts.answers(BLIND, ASKED)) == list(one.answers(BLIND, ASKED))
