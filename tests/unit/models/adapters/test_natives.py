"""Every native class that `config/models` names, and newer ones, with the library's processor: one frame and eight."""

from pathlib import Path

import pytest
import torch
from reprise.core.errors import UserError
from reprise.models.local.examine import differences
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.asked import request, shown, spec
from tests.unit.models.adapters.natives import Native, check, load
from tests.unit.models.adapters.tiny_newer import NEWER
from tests.unit.models.adapters.tiny_video import IMAGES, MORE, VIDEO

MADE = {**VIDEO, **IMAGES, **MORE, **NEWER}
EIGHT = (1, 7, 7, 19, 43, 31, 37, 25)


@pytest.fixture(scope="module", params=MADE)
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, MADE[request.param], tmp_path_factory.mktemp("native") / request.param)


@pytest.mark.parametrize("indices", [(21,), EIGHT], ids=["one", "eight"])
def test_a_class_is_shown_the_frames_of_the_plan_and_answers_as_by_hand(
    native: Native, indices: tuple[int, ...], video: Path
) -> None:
    check(native, shown(video, indices))


@pytest.mark.parametrize("engine", ["plain", "shared"])
@pytest.mark.parametrize("name", ["ernie4_5_vl_moe", "llama4"])
def test_what_belongs_to_a_question_is_made_for_each(name: str, engine: str, tmp_path: Path, video: Path) -> None:
    native, clip = load(name, MADE[name], tmp_path / name, engine=engine), shown(video, EIGHT)
    asked = [
        request(question, "score", ("Yes", "No")) for question in ("who?", "the red circle slides left. who spins?")
    ]
    found = list(native.adapter.answers(clip, asked))
    words = native.processor.tokenizer.convert_tokens_to_ids(["Yes", "No"])
    with torch.inference_mode():
        for one, answer in zip(asked, found, strict=True):
            logits = native.model(**native.by_hand(clip, one), logits_to_keep=1).logits[0, -1]
            assert answer.scores == tuple(torch.softmax(logits.double(), -1)[words].tolist())


def test_a_class_that_cannot_be_shown_to_see_is_refused_by_its_reason(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mllama"}')
    given = spec(tmp_path)
    reasons = list(differences("transformers", given))
    assert len(reasons) == 1 and "a model of type mllama is not asked here: it looks at frames by cross" in reasons[0]
    with pytest.raises(UserError, match="by cross attention"):
        TransformersAdapter(given)
