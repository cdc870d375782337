"""The shared engine against the plain one, for every class that shares an encoding; and what must not pass for equal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.base import Answer, Clip, ModelSpec, Ready, Request
from reprise.models.local.prepared import Tokens
from reprise.models.local.transformers import PROVEN, Prefix, TransformersAdapter

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters.tiny_video import IMAGES, VIDEO, glm46v

START = "Carefully watch the video. Here is a caption: "
CAPTIONS = ("the red circle slides left.", "who spins? a square", "1 jump", '"blue"')
YES_NO = ("Yes", "No")
QUESTIONS = [request(START + caption, "score", YES_NO) for caption in CAPTIONS]
TEXTS = [request(START + caption, "write", max_tokens=10) for caption in CAPTIONS]
INDICES, OTHERS = (3, 17, 30, 40), (5, 20, 41, 44)
CLOSE = 1e-5
FAMILIES = {**VIDEO, **IMAGES, "glm46v": glm46v}


def given(folder: Path, **settings: str) -> ModelSpec:
    return replace(spec(folder, **settings), prompt_start=START)


class Engines:
    """A checkpoint that is asked in both ways."""

    def __init__(self, folder: Path) -> None:
        self.plain = TransformersAdapter(given(folder, engine="plain"))
        self.shared = TransformersAdapter(given(folder))

    def prefix(self, clip: Clip) -> tuple[Prefix, list[Any]]:
        """What the shared engine keeps of a clip, and the tokens of the questions about it."""
        value = self.shared.preparer.prepare(clip, self.shared.preparer.read(clip), QUESTIONS)
        list(self.shared.answers_about(Ready(value, {}), QUESTIONS[:1]))
        assert self.shared.asked is not None and self.shared.asked.prefix is not None
        tokens = [value.questions[one] for one in QUESTIONS]
        assert all(isinstance(one, Tokens) for one in tokens)
        return self.shared.asked.prefix, [torch.as_tensor(one.tensors["input_ids"]) for one in tokens]


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(FAMILIES[request.param](tmp_path_factory.mktemp("checkpoint") / request.param))


def furthest(found: list[Answer], wanted: list[Answer]) -> float:
    """The largest difference of two scores, none of texts; all else must be the same."""
    blank = [replace(one, scores=()) for one in wanted]
    assert [replace(one, scores=()) for one in found] == blank and not any(one.error for one in found)
    pairs = [pair for one, two in zip(found, wanted, strict=True) for pair in zip(one.scores, two.scores, strict=True)]
    return max((abs(a - b) for a, b in pairs), default=0.0)


def test_both_engines_give_the_same_numbers_and_the_same_tokens(engines: Engines, video: Path) -> None:
    kind = engines.shared.model.config.model_type
    for clip in (shown(video, INDICES), shown(video, OTHERS[:1])):
        for asked in (QUESTIONS, TEXTS):
            found, wanted = engines.shared.answers(clip, asked), engines.plain.answers(clip, asked)
            assert furthest(list(found), list(wanted)) <= CLOSE
    assert engines.shared.asked is not None and (engines.shared.asked.prefix is not None) == (kind in PROVEN)


def test_a_question_has_the_same_answer_alone(engines: Engines, video: Path) -> None:
    """As in a job that goes on where another was ended."""
    clip = replace(shown(video, INDICES), questions=len(QUESTIONS))
    for asked in (QUESTIONS, TEXTS):
        together = list(engines.shared.answers(clip, asked))
        alone = [answer for one in reversed(asked) for answer in engines.shared.answers(clip, [one])]
        assert together == alone[::-1]


def test_the_only_question_of_a_run_about_a_clip_is_read_at_once(engines: Engines, video: Path) -> None:
    clip = replace(shown(video, INDICES), questions=1)
    asked = QUESTIONS[:1]
    assert furthest(list(engines.shared.answers(clip, asked)), list(engines.plain.answers(clip, asked))) <= CLOSE
    assert engines.shared.asked is not None and engines.shared.asked.prefix is None


# --- batches ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["llava_onevision", "qwen2_vl", "qwen2_5_vl"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(FAMILIES[request.param](tmp_path_factory.mktemp("measured") / request.param))


def apart(one: Any, other: Any) -> float:
    """The largest difference of two questions' probabilities."""
    return float((torch.softmax(one.double(), -1) - torch.softmax(other.double(), -1)).abs().max())


def test_batches_give_the_same_numbers_and_tokens(measured: Engines, video: Path) -> None:
    prefix, ids = measured.prefix(shown(video, INDICES))
    with torch.inference_mode():
        alone, texts = prefix.logits(ids), prefix.written(ids, 10)
        for rows in (2, 3):
            assert max(map(apart, prefix.logits(ids, rows), alone)) <= CLOSE
            assert all(map(torch.equal, prefix.written(ids, 10, rows), texts))
        assert torch.equal(prefix.logits(ids[1:2], 3)[0], prefix.logits(ids, 3)[1]), "no question alters another"


def test_positions_that_another_clip_left_are_not_used(tmp_path: Path, video: Path) -> None:
    engines = Engines(VIDEO["qwen2_vl"](tmp_path / "m"))
    clip, blind = shown(video, INDICES), list(engines.plain.answers(BLIND, TEXTS))
    texts = list(engines.plain.answers(clip, TEXTS))
    prefix, ids = engines.prefix(clip)
    model = engines.shared.model
    with torch.inference_mode():
        right = prefix.logits(ids)
        model.model.rope_deltas = torch.tensor([[40]])
        assert all(map(torch.equal, prefix.logits(ids), right))
        stale = model(
            input_ids=ids[0][:, prefix.length :], past_key_values=prefix._copy(1), use_cache=True, logits_to_keep=1
        )
        assert apart(stale.logits[0, -1], right[0]) > 10 * CLOSE, "left to the model, they would be"
    assert list(engines.shared.answers(clip, TEXTS)) == texts
    assert list(engines.shared.answers(BLIND, TEXTS)) == blind


def test_frames_are_encoded_once_a_clip(engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner, looked = engines.shared.model.model, []
    name = (
        "get_video_features"
        if engines.shared.preparer.processor.mode == "video" and hasattr(inner, "get_video_features")
        else "get_image_features"
    )
    look = getattr(type(inner), name)
    monkeypatch.setattr(type(inner), name, lambda *given, **named: looked.append(1) or look(*given, **named))
    asked: list[Request] = [*QUESTIONS, *TEXTS]
    for clip in (shown(video, INDICES), shown(video, OTHERS)):
        list(engines.shared.answers(clip, asked))
    assert len(looked) == 2
