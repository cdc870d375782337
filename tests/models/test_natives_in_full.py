"""Every native class: other numbers of frames, no frames, a system text, a long prompt, and words."""

from pathlib import Path

import pytest

from tests.unit.models.adapters.natives import FRAMES, QUESTION, Native, check, check_words, load
from tests.unit.models.adapters.tiny_video import IMAGES, VIDEO
from tests.unit.requests import BLIND, shown

INDICES = (3, 17, 30)
COUNTS = (3, 10, 80)
# Its pictures have 980 pixels a side: 80 of them are a gigabyte.
LARGE = {"aria": COUNTS[:2]}


def spread(count: int) -> tuple[int, ...]:
    """Return this many frames of the test's video, some of them repeated if it has fewer."""
    return tuple(at * (FRAMES - 1) // (count - 1) for at in range(count))


PLANS = [(name, count) for name in [*VIDEO, *IMAGES] for count in LARGE.get(name, COUNTS)]


@pytest.fixture(scope="module")
def natives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Native]:
    folder = tmp_path_factory.mktemp("natives")
    return {name: load(name, make, folder / name) for name, make in {**VIDEO, **IMAGES}.items()}


@pytest.mark.parametrize(("name", "count"), PLANS)
def test_every_number_of_frames_reaches_the_model(
    name: str, count: int, natives: dict[str, Native], video: Path
) -> None:
    check(natives[name], shown(video, spread(count)))


@pytest.mark.parametrize("name", [*VIDEO, *IMAGES])
def test_text_only_questions_system_texts_long_prompts_and_texts(
    name: str, natives: dict[str, Native], video: Path
) -> None:
    native, clip = natives[name], shown(video, INDICES)
    check(native, BLIND)
    assert check(native, clip, system="Be brief.").scores != check(native, clip).scores
    long = " ".join([QUESTION] * 300)
    answers = [check(native, clip, question=f"{long} {end}") for end in ("red", "blue")]
    assert answers[0].tokens_in > 3000 and answers[0].scores != answers[1].scores, "read to its end"
    check_words(native, clip)
