"""What `check` measures of a model that sees its clips; one that does not: tests/workflow/test_check.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from reprise.models.asking.sight import ANOTHER, BLIND, REVERSED, sight_of
from reprise.models.base import Due
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.asked import request, shown, spec
from tests.unit.models.adapters import tiny
from tests.unit.videos import barcode_video

QUESTIONS = (
    request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    request("Who is spinning slowly?", "choose", ("A", "B"), max_tokens=2),
)


def test_a_model_that_sees_answers_otherwise_about_other_frames_and_its_frames_are_counted(tmp_path: Path) -> None:
    """Two clips of different lengths; three frames are shown of one and two of the other."""
    plans = {"long": (40, (3, 17, 30)), "short": (12, (2, 9))}
    asked = [
        Due(replace(shown(barcode_video(tmp_path / f"{name}.mp4", frames), indices), clip_id=name), QUESTIONS)
        for name, (frames, indices) in plans.items()
    ]
    adapter = TransformersAdapter(spec(tiny.llava(tmp_path / "m")))
    seeing = sight_of(adapter, asked)
    assert not seeing.is_blind and seeing.clips == 2 and seeing.questions == 4 and not seeing.failures
    for view in (BLIND, ANOTHER, REVERSED):
        assert seeing.differing[view].of == 4 and seeing.differing[view].count >= 2
        assert 0 < seeing.differing[view].most <= 1
    assert seeing.frames == (3, 2)
    tokens = [next(iter(adapter.answers(due.clip, QUESTIONS[:1]))).tokens_in for due in asked]
    assert seeing.tokens_a_frame == pytest.approx((tokens[0] - tokens[1]), abs=0.5), "one more frame, one more share"
    assert 0 <= seeing.readable <= 1 and seeing.seconds > 0
