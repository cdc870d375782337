"""The shared engine against the plain one, for every class that shares an encoding; and what must not pass for equal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.base import Answer, Clip, Ready
from reprise.models.local.prepared import Tokens
from reprise.models.local.transformers import PROVEN, Prefix, TransformersAdapter

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters.tiny_video import IMAGES, MORE, VIDEO

START = "Carefully watch the video. Here is a caption: "
CAPTIONS = ("the red circle slides left.", "who spins? a square", "1 jump", '"blue"')
QUESTIONS = [request(START + caption, "score", ("Yes", "No")) for caption in CAPTIONS]
TEXTS = [request(START + caption, "write", max_tokens=10) for caption in CAPTIONS]
INDICES, OTHERS = (3, 17, 30, 40), (5, 20, 41, 44)
CLOSE = 1e-5
FAMILIES = {**VIDEO, **IMAGES, "glm46v": MORE["glm46v"]}


class Engines:
    """A checkpoint that is asked in both ways."""

    def __init__(self, folder: Path) -> None:
        plain, shared = (replace(spec(folder, engine=engine), prompt_start=START) for engine in ("plain", "shared"))
        self.plain, self.shared = TransformersAdapter(plain), TransformersAdapter(shared)

    def prefix(self, clip: Clip) -> tuple[Prefix, list[Any]]:
        """What the shared engine keeps of a clip, and the tokens of the questions about it."""
        value = self.shared.preparer.prepare(clip, self.shared.preparer.read(clip), QUESTIONS)
        list(self.shared.answers_about(Ready(value, {}), QUESTIONS[:1]))
        assert self.shared.asked is not None and self.shared.asked.prefix is not None
        tokens = [one for one in value.questions.values() if isinstance(one, Tokens)]
        return self.shared.asked.prefix, [torch.as_tensor(one.tensors["input_ids"]) for one in tokens]


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(FAMILIES[request.param](tmp_path_factory.mktemp("checkpoint") / request.param))


def assert_close(found: list[Answer], wanted: list[Answer]) -> None:
    """Scores differ by rounding alone, texts and all else are the same."""
    assert [replace(one, scores=()) for one in found] == [replace(one, scores=()) for one in wanted]
    assert not any(one.error for one in found)
    for one, other in zip(found, wanted, strict=True):
        assert one.scores == pytest.approx(other.scores, rel=0, abs=CLOSE)


def test_both_engines_give_the_same_numbers_and_tokens_and_no_question_alters_another(
    engines: Engines, video: Path
) -> None:
    kind = engines.shared.model.config.model_type
    for clip in (shown(video, INDICES), shown(video, OTHERS[:1])):
        for asked in (QUESTIONS, TEXTS):
            found = list(engines.shared.answers(clip, asked))
            assert_close(found, list(engines.plain.answers(clip, asked)))
            assert engines.shared.asked is not None and (engines.shared.asked.prefix is not None) == (kind in PROVEN)
            # As in a job that goes on where another was ended.
            rest = replace(clip, questions=len(asked))
            assert [answer for one in asked[::-1] for answer in engines.shared.answers(rest, [one])] == found[::-1]
    only = replace(shown(video, INDICES), questions=1)  # the only question of a run about a clip is read at once
    assert_close(list(engines.shared.answers(only, QUESTIONS[:1])), list(engines.plain.answers(only, QUESTIONS[:1])))
    assert engines.shared.asked is not None and engines.shared.asked.prefix is None


def test_frames_are_encoded_once_a_clip(engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, looked = type(engines.shared.model.model), []
    is_video = engines.shared.preparer.processor.mode == "video" and hasattr(kind, "get_video_features")
    name = "get_video_features" if is_video else "get_image_features"
    look = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda *given, **named: looked.append(1) or look(*given, **named))
    for clip in (shown(video, INDICES), shown(video, OTHERS)):
        list(engines.shared.answers(clip, [*QUESTIONS, *TEXTS]))
    assert len(looked) == 2


# --- batches, as on a GPU -----------------------------------------------------------------------------------------


def apart(one: Any, other: Any) -> float:
    """The largest difference of two questions' probabilities."""
    return float((torch.softmax(one.double(), -1) - torch.softmax(other.double(), -1)).abs().max())


@pytest.mark.parametrize("name", ["llava_onevision", "qwen2_vl", "qwen2_5_vl"])
def test_batches_give_the_same_numbers_and_tokens(name: str, tmp_path: Path, video: Path) -> None:
    prefix, ids = Engines(FAMILIES[name](tmp_path / name)).prefix(shown(video, INDICES))
    with torch.inference_mode():
        alone, texts = prefix.logits(ids), prefix.written(ids, 10)
        for rows in (2, 3):
            assert max(map(apart, prefix.logits(ids, rows), alone)) <= CLOSE
            assert all(map(torch.equal, prefix.written(ids, 10, rows), texts))
        assert torch.equal(prefix.logits(ids[1:2], 3)[0], prefix.logits(ids, 3)[1]), "no question alters another"


def test_positions_that_another_clip_left_are_not_used(tmp_path: Path, video: Path) -> None:
    engines = Engines(VIDEO["qwen2_vl"](tmp_path / "m"))
    clip, (prefix, ids), model = shown(video, INDICES), engines.prefix(shown(video, INDICES)), engines.shared.model
    with torch.inference_mode():
        right = prefix.logits(ids)
        model.model.rope_deltas = torch.tensor([[40]])
        assert all(map(torch.equal, prefix.logits(ids), right))
        own = ids[0][:, prefix.length :]
        stale = model(input_ids=own, past_key_values=prefix._copy(1), use_cache=True, logits_to_keep=1)
        assert apart(stale.logits[0, -1], right[0]) > 10 * CLOSE, "left to the model, they would be"
    for one in (clip, BLIND):
        assert list(engines.shared.answers(one, TEXTS)) == list(engines.plain.answers(one, TEXTS))
