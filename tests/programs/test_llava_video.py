"""LLaVA-Video's program beside what its authors' demonstration does with the same frames."""

import json
from pathlib import Path

import pytest
from reprise.models.base import Clip

from tests.programs.conftest import Environments, answered, as_asked, shipped
from tests.unit.asked import BLIND, request

ENVIRONMENT = "llava-video"
QUESTIONS = ["Does the circle move? Yes or No.", "What moves?"]
SMALL = "from llava_video_checkpoint import shrink_tower\nshrink_tower()\n"


def test_it_says_what_the_authors_demonstration_says(environments: Environments, clip: Clip, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    environments.run(ENVIRONMENT, "llava_video_checkpoint.py", weights)
    asked = as_asked(clip, QUESTIONS, tmp_path)
    theirs = json.loads(environments.run(ENVIRONMENT, "llava_video_demo.py", weights, asked))
    written = [request(one, "write", max_tokens=12) for one in QUESTIONS]
    scored = [request(one, "score", ("Yes", "No")) for one in QUESTIONS]
    with environments.serving(ENVIRONMENT, shipped("llava_video", SMALL), weights) as adapter:
        texts, ours = answered(adapter, clip, written), answered(adapter, clip, scored)
        blind = answered(adapter, BLIND, scored)
    assert [one.text.strip() for one in texts] == [one["text"] for one in theirs]
    for mine, its in zip(ours, theirs, strict=True):
        assert mine.scores == pytest.approx(its["scores"], rel=1e-6)
    assert len({one.scores for one in [*ours, *blind]}) == 4, "the question and the frames matter"
