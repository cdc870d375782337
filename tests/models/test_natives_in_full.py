"""Every native class: other numbers of frames, no frames, a system text, a long prompt, and words."""

from pathlib import Path

import pytest
import torch

from tests.unit.asked import BLIND, request, shown
from tests.unit.models.adapters.natives import FRAMES, QUESTION, Native, check, load
from tests.unit.models.adapters.tiny_video import IMAGES, VIDEO

INDICES = (3, 17, 30)
COUNTS = (3, 10, 80)
# Its pictures have 980 pixels a side: 80 of them are a gigabyte.
LARGE = {"aria": COUNTS[:2]}
WORDS = 12


def spread(count: int) -> tuple[int, ...]:
    """That many frames of the test's video, some of them repeated where it has fewer."""
    return tuple(at * (FRAMES - 1) // (count - 1) for at in range(count))


PLANS = [(name, count) for name in [*VIDEO, *IMAGES] for count in LARGE.get(name, COUNTS)]


@pytest.fixture(scope="module")
def natives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Native]:
    folder = tmp_path_factory.mktemp("natives")
    return {name: load(name, make, folder / name) for name, make in {**VIDEO, **IMAGES}.items()}


@pytest.mark.parametrize(("name", "count"), PLANS)
def test_every_number_of_frames_is_shown(name: str, count: int, natives: dict[str, Native], video: Path) -> None:
    check(natives[name], shown(video, spread(count)))


@pytest.mark.parametrize("name", [*VIDEO, *IMAGES])
def test_a_blind_question_has_no_frames(name: str, natives: dict[str, Native]) -> None:
    check(natives[name], BLIND)


@pytest.mark.parametrize("name", [*VIDEO, *IMAGES])
def test_a_system_text_comes_before_the_frames(name: str, natives: dict[str, Native], video: Path) -> None:
    plain = check(natives[name], shown(video, INDICES))
    told = check(natives[name], shown(video, INDICES), system="Be brief.")
    assert told.scores != plain.scores


@pytest.mark.parametrize("name", [*VIDEO, *IMAGES])
def test_a_long_prompt_is_read_to_its_end(name: str, natives: dict[str, Native], video: Path) -> None:
    long = " ".join([QUESTION] * 300)
    answers = [check(natives[name], shown(video, INDICES), question=f"{long} {end}") for end in ("red", "blue")]
    assert answers[0].tokens_in > 3000 and answers[0].scores != answers[1].scores


@pytest.mark.parametrize("name", [*VIDEO, *IMAGES])
def test_words_are_those_of_the_call_by_hand(name: str, natives: dict[str, Native], video: Path) -> None:
    native, clip, asked = natives[name], shown(video, INDICES), request(QUESTION, "write", max_tokens=WORDS)
    given = native.by_hand(clip, asked)
    with torch.inference_mode():
        written = native.model.generate(**given, max_new_tokens=WORDS, do_sample=False)
    answer, _ = native.ask(clip, asked)
    new = written[0, given["input_ids"].shape[1] :]
    assert answer.text == native.processor.tokenizer.decode(new, skip_special_tokens=True)
    assert answer.tokens_out == len(new) and answer.frames_shown == len(INDICES)
