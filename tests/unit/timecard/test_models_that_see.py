"""A server that looks at the pictures it gets and answers by what it can see: the card says of each what it is."""

import base64
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image
from reprise.media.views import Planned, other_clips, within_clip
from reprise.models.remote.openai import OpenAIAdapter
from reprise.timecard.card import ANOTHER, NONE, PLANNED, VIEWS
from reprise.timecard.measure import card_of

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.chat_server import MODEL, Asked, ChatServer, Says, completion, well
from tests.unit.timecard.made_views import key_of, write_items, write_verdicts
from tests.unit.videos import barcode_video, read_barcode

CLIPS, FRAMES, MIDDLE = 8, 6, 40


class Question(NamedTuple):
    """What is asked of a clip, in the words that are true or those that are not, and what sees which in the frames."""

    true: str
    false: str
    fewest: int
    sees: Callable[[list[int], bool], bool]
    """whether the frames with these numbers are as the first words say, or as the second"""


def _are_apart(numbers: list[int], is_first: bool) -> bool:
    return len(set(numbers)) > 1 and (max(numbers) - min(numbers) > 10) is is_first


def _in_order(numbers: list[int], is_first: bool) -> bool:
    return all((one < other) is is_first for one, other in pairwise(numbers))


QUESTIONS = {
    "words": Question("Say Yes", "Say Yes", 0, lambda numbers, is_first: True),
    "frame": Question("Is it large", "Is it small", 1, lambda numbers, is_first: (numbers[0] > MIDDLE) is is_first),
    "frames": Question("Are they far apart", "Are they close", 2, _are_apart),
    "order": Question("Do they rise", "Do they fall", 2, _in_order),
}
"""what is needed to answer a question -> the question"""


def planned(at: int) -> tuple[int, ...]:
    """The frames of a clip: small or large numbers, close or far apart, rising or falling, each in half of the clips."""
    first, step = 45 if at & 1 else 1, 5 if at & 2 else 1
    found = tuple(first + step * place for place in range(FRAMES))
    return found if at & 4 else found[::-1]


def clip_frames(view: str) -> list[tuple[int, ...]]:
    """What a view shows of every clip."""
    if view == ANOTHER:
        clips = [Planned(f"{at}", f"v{at}", f"{at}", False, planned(at)) for at in range(CLIPS)]
        others = other_clips(clips, seed=0)
        return [others[f"{at}"].indices for at in range(CLIPS)]
    if view == PLANNED:
        return [planned(at) for at in range(CLIPS)]
    plans = [(at, within_clip({"show": view, "seed": 0}, planned(at), f"{at}", None)[0]) for at in range(CLIPS)]
    return [tuple(planned(at)[place] for _, place in moments) for at, moments in plans]


def asked_of(kind: str, at: int) -> str:
    """A question about a clip whose answer is Yes."""
    one = QUESTIONS[kind]
    return one.true if one.sees(list(planned(at)), True) else one.false


def model_that_sees(kinds: list[str]) -> Callable[[Asked], Says]:
    """A model that answers questions of these kinds by the frames, and No to what it cannot tell."""

    def says(asked: Asked) -> Says:
        if not asked.path.endswith("/chat/completions"):
            return well(asked)
        pictures = [np.asarray(Image.open(BytesIO(base64.b64decode(image)))) for image in asked.images]
        numbers = [read_barcode(picture) for picture in pictures]
        kind, one = next(pair for pair in QUESTIONS.items() if asked.prompt in pair[1][:2])
        can_tell = kind in kinds and len(numbers) >= one.fewest
        return Says(completion(asked, "Yes" if can_tell and one.sees(numbers, asked.prompt == one.true) else "No"))

    return says


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("video") / "v.mp4", 80, width=32, height=32)


def answers_are_right(adapter: OpenAIAdapter, video: Path, view: str) -> Iterator[bool]:
    """Whether each question of each clip is answered right."""
    frames = [()] * CLIPS if view == NONE else clip_frames(view)
    for at, indices in enumerate(frames):
        asked = [request(asked_of(kind, at), "write", request_id=kind) for kind in QUESTIONS]
        for answer in adapter.answers(shown(video, indices) if indices else BLIND, asked):
            yield answer.text == "Yes"


@pytest.mark.parametrize(
    ("kinds", "verdict", "parts"),
    [
        (["words", "frame"], "frame", (25, 25, 0, 0)),
        (["words", "frame", "frames", "order"], "order", (25, 25, 25, 25)),
    ],
)
def test_a_model_behind_a_server_is_called_what_it_is(
    kinds: list[str], verdict: str, parts: tuple[float, ...], video: Path, tmp_path: Path
) -> None:
    with ChatServer(model_that_sees(kinds)) as server:
        adapter = OpenAIAdapter(spec(url=server.url, model=MODEL, scores="logprob_token_ids", retries=0))
        views = {view: write_verdicts(tmp_path, view, list(answers_are_right(adapter, video, view))) for view in VIEWS}
    items = write_items(tmp_path, CLIPS * len(QUESTIONS))  # each as if of a video of its own
    (found,) = card_of(key_of(items, views))[0].benchmarks
    assert found.verdict == verdict, found.sentence
    assert tuple(part.number.value for part in found.parts) == pytest.approx(parts)
