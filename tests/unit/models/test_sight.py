"""What `check` measures of a model that sees its clips; one that does not: tests/workflow/test_check.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from reprise.models.asking.sight import ANOTHER, BLIND, REVERSED, Sight, sight_of
from reprise.models.base import Due
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.asked import request, shown, spec
from tests.unit.models.adapters import tiny
from tests.unit.videos import barcode_video

QUESTIONS = (
    request("Does the red circle slide left quickly?", "score", ("Yes", "No")),
    request("Who is spinning slowly?", "choose", ("A", "B"), max_tokens=2),
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[Due]:
    """Two clips of different lengths; three frames are shown of one and two of the other."""
    folder = tmp_path_factory.mktemp("clips")
    plans = {"long": (40, (3, 17, 30)), "short": (12, (2, 9))}
    return [
        Due(replace(shown(barcode_video(folder / f"{name}.mp4", frames), indices), clip_id=name), QUESTIONS)
        for name, (frames, indices) in plans.items()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.llava(tmp_path_factory.mktemp("model") / "m")


@pytest.fixture(scope="module")
def seeing(folder: Path, asked: list[Due]) -> Sight:
    return sight_of(TransformersAdapter(spec(folder)), asked)


def test_a_model_that_sees_answers_otherwise_about_other_frames(seeing: Sight) -> None:
    assert not seeing.is_blind and seeing.clips == 2 and seeing.questions == 4 and not seeing.failures
    for view in (BLIND, ANOTHER, REVERSED):
        assert seeing.differing[view].of == 4 and seeing.differing[view].count >= 2
        assert 0 < seeing.differing[view].most <= 1


def test_frames_tokens_and_options_are_counted(seeing: Sight, folder: Path, asked: list[Due]) -> None:
    assert seeing.frames == (3, 2)
    adapter = TransformersAdapter(spec(folder))
    tokens = [next(iter(adapter.answers(clip, QUESTIONS[:1]))).tokens_in for clip in (asked[0].clip, asked[1].clip)]
    assert seeing.tokens_a_frame == pytest.approx((tokens[0] - tokens[1]), abs=0.5), "one more frame, one more share"
    assert 0 <= seeing.readable <= 1 and seeing.seconds > 0
