"""Vision check of a model that uses its frames; for one that does not, see tests/workflow/test_check.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from reprise.models.base import PendingRequests
from reprise.models.inference.vision_check import MISMATCHED_CLIP, REVERSED_FRAMES, TEXT_ONLY, run_vision_check
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.models.adapters import tiny
from tests.unit.requests import request, shown, spec
from tests.unit.videos import barcode_video

QUESTIONS = (
    request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    request("Who is spinning slowly?", "choose", ("A", "B"), max_tokens=2),
)


def test_a_model_that_uses_the_video_answers_differently_and_its_frames_are_counted(tmp_path: Path) -> None:
    """Two clips of different lengths have three and two frames."""
    plans = {"long": (40, (3, 17, 30)), "short": (12, (2, 9))}
    asked = [
        PendingRequests(
            replace(shown(barcode_video(tmp_path / f"{name}.mp4", frames), indices), clip_id=name), QUESTIONS
        )
        for name, (frames, indices) in plans.items()
    ]
    adapter = TransformersAdapter(spec(tiny.llava(tmp_path / "m")))
    seeing = run_vision_check(adapter, asked)
    assert not seeing.is_video_ignored and seeing.clip_count == 2 and seeing.request_count == 4 and not seeing.failures
    for view in (TEXT_ONLY, MISMATCHED_CLIP, REVERSED_FRAMES):
        assert seeing.changes[view].total == 4 and seeing.changes[view].count >= 2
        assert 0 < seeing.changes[view].max_change <= 1
    assert seeing.frame_counts == (3, 2)
    tokens = [next(iter(adapter.answers(due.clip, QUESTIONS[:1]))).tokens_in for due in asked]
    assert seeing.tokens_per_frame == pytest.approx((tokens[0] - tokens[1]), abs=0.5), "one more frame, one more share"
    assert 0 <= seeing.option_share <= 1 and seeing.mean_seconds > 0
