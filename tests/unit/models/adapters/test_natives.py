"""Every native class that `config/models` names, and newer ones, with the library's processor: one frame and eight."""

from pathlib import Path

import pytest

from tests.unit.asked import shown
from tests.unit.models.adapters.natives import Native, check, load
from tests.unit.models.adapters.tiny_newer import NEWER
from tests.unit.models.adapters.tiny_video import IMAGES, VIDEO

MADE = {**VIDEO, **IMAGES, **NEWER}
EIGHT = (1, 7, 13, 19, 25, 31, 37, 43)


@pytest.fixture(scope="module", params=MADE)
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, MADE[request.param], tmp_path_factory.mktemp("native") / request.param)


@pytest.mark.parametrize("indices", [(21,), EIGHT], ids=["one", "eight"])
def test_a_class_is_shown_the_frames_of_the_plan_and_answers_as_by_hand(
    native: Native, indices: tuple[int, ...], video: Path
) -> None:
    check(native, shown(video, indices))
