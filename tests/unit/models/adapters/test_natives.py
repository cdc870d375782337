"""Every native class that `config/models` names, and newer ones, with the library's processor: one frame and eight."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.models.local.examine import differences
from reprise.models.local.transformers import TransformersAdapter

from tests.unit.asked import shown, spec
from tests.unit.models.adapters.natives import Native, check, load
from tests.unit.models.adapters.tiny_video import IMAGES, MORE, VIDEO

MADE = {**VIDEO, **IMAGES, **MORE}
EIGHT = (1, 7, 7, 19, 43, 31, 37, 25)


@pytest.fixture(scope="module", params=MADE)
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, MADE[request.param], tmp_path_factory.mktemp("native") / request.param)


def test_a_class_is_shown_the_frames_of_the_plan_and_answers_as_by_hand(native: Native, video: Path) -> None:
    for indices in ((21,), EIGHT):
        check(native, shown(video, indices))


@pytest.mark.parametrize("engine", ["plain", "shared"])
@pytest.mark.parametrize("name", ["ernie4_5_vl_moe", "llama4"])
def test_what_belongs_to_a_question_is_made_for_each(name: str, engine: str, tmp_path: Path, video: Path) -> None:
    native = load(name, MADE[name], tmp_path / name, engine=engine)
    for question in ("who?", "the red circle slides left. who spins?"):
        check(native, shown(video, EIGHT), question=question)


def test_a_class_that_cannot_be_shown_to_see_is_refused_by_its_reason(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mllama"}')
    (reason,) = differences("transformers", spec(tmp_path))
    assert "a model of type mllama is not asked here: it looks at frames by cross attention" in reason
    with pytest.raises(UserError, match="by cross attention"):
        TransformersAdapter(spec(tmp_path))
