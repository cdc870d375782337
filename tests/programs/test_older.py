"""A model class that the pinned transformers has no more, under an older one in an environment of its own."""

import json
from pathlib import Path

import pytest
import transformers
from reprise.models.base import Clip

from tests.programs.conftest import HERE, Environments, answered, as_asked
from tests.unit.asked import request


def test_a_class_that_is_gone_answers_as_a_plain_loop_does(
    environments: Environments, clip: Clip, tmp_path: Path
) -> None:
    assert not hasattr(transformers, "VanForImageClassification")
    asked = as_asked(clip, [], tmp_path)
    plain = json.loads(environments.run("older", "older_loop.py", tmp_path / "weights", asked))
    program = (HERE / "older_program.py").read_text()
    with environments.serving("older", program, tmp_path / "weights") as adapter:
        (text,) = answered(adapter, clip, [request("What is it?", "write")])
        (score,) = answered(adapter, clip, [request("Is it so?", "score", ("Yes", "No"))])
    assert text.text == plain["text"]
    assert score.scores == pytest.approx(plain["scores"][:2], rel=1e-5)
    assert len({round(one, 3) for one in plain["scores"]}) == 3, "the weights say something"
