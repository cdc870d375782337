"""Test each native class with other frame counts, without frames, with a system text and with a long prompt."""

from pathlib import Path

import pytest

from tests.unit.models.adapters.natives import FRAME_COUNT, QUESTION, Native, check, check_text, load
from tests.unit.models.adapters.tiny_video import IMAGE_CLASSES, VIDEO_CLASSES
from tests.unit.requests import NO_FRAMES, clip_frames

INDICES = (3, 17, 30)
COUNTS = (3, 10, 80)
# Its images have 980 × 980 pixels, so 80 images would take a gigabyte.
LARGE = {"aria": COUNTS[:2]}


def spread(count: int) -> tuple[int, ...]:
    """Return the indices of this number of frames of the test's video; some repeat if the video has fewer frames."""
    return tuple(index * (FRAME_COUNT - 1) // (count - 1) for index in range(count))


PLANS = [(name, count) for name in [*VIDEO_CLASSES, *IMAGE_CLASSES] for count in LARGE.get(name, COUNTS)]


@pytest.fixture(scope="module")
def natives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Native]:
    folder = tmp_path_factory.mktemp("natives")
    return {name: load(name, make, folder / name) for name, make in {**VIDEO_CLASSES, **IMAGE_CLASSES}.items()}


@pytest.mark.parametrize(("name", "count"), PLANS)
def test_all_frames_reach_the_model(name: str, count: int, natives: dict[str, Native], video: Path) -> None:
    check(natives[name], clip_frames(video, spread(count)))


@pytest.mark.parametrize("name", [*VIDEO_CLASSES, *IMAGE_CLASSES])
def test_text_only_questions_system_texts_long_prompts_and_texts(
    name: str, natives: dict[str, Native], video: Path
) -> None:
    native, clip = natives[name], clip_frames(video, INDICES)
    check(native, NO_FRAMES)
    assert check(native, clip, system="Be brief.").scores != check(native, clip).scores
    long = " ".join([QUESTION] * 300)
    answers = [check(native, clip, question=f"{long} {end}") for end in ("red", "blue")]
    assert answers[0].tokens_in > 3000 and answers[0].scores != answers[1].scores, (
        "the model receives the end of a long prompt"
    )
    check_text(native, clip)
