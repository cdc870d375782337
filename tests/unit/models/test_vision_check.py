"""Test the vision check of a model that uses its frames; for a model that does not, see tests/workflow/test_check.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from reprise.models.base import PendingRequests
from reprise.models.inference.vision_check import MISMATCHED_CLIP, REVERSED_FRAMES, TEXT_ONLY, run_vision_check
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.models.adapters import tiny
from tests.unit.requests import clip_frames, make_request, model_spec
from tests.unit.videos import barcode_video

QUESTIONS = (
    make_request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    make_request("Who is spinning slowly?", "choose", ("A", "B"), max_tokens=2),
)


def test_a_model_that_uses_the_video_answers_differently_and_its_frames_are_counted(tmp_path: Path) -> None:
    """Two clips of different lengths have three and two frames."""
    plans = {"long": (40, (3, 17, 30)), "short": (12, (2, 9))}
    pending = [
        PendingRequests(
            replace(clip_frames(barcode_video(tmp_path / f"{name}.mp4", frame_count), indices), clip_id=name), QUESTIONS
        )
        for name, (frame_count, indices) in plans.items()
    ]
    adapter = TransformersAdapter(model_spec(tiny.llava(tmp_path / "m")))
    check = run_vision_check(adapter, pending)
    assert not check.is_video_ignored and check.clip_count == 2 and check.request_count == 4 and not check.failures
    for ablation in (TEXT_ONLY, MISMATCHED_CLIP, REVERSED_FRAMES):
        assert check.changes[ablation].compared_count == 4 and check.changes[ablation].changed_count >= 2
        assert 0 < check.changes[ablation].max_change <= 1
    assert check.frame_counts == (3, 2)
    tokens = [next(iter(adapter.answers(clip_requests.clip, QUESTIONS[:1]))).tokens_in for clip_requests in pending]
    assert check.tokens_per_frame == pytest.approx((tokens[0] - tokens[1]), abs=0.5), (
        "the first clip has one more frame"
    )
    assert 0 <= check.option_share <= 1 and check.mean_seconds > 0
