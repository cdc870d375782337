"""Adapters that the harness plugs into its copy of the library: `pixels`, whose answers are what it is shown, and `faulty`.

The file is copied next to the library's own adapters; REGISTRATION is appended to their registry.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reprise.media.decoder import read_frames
from reprise.models.base import Answer, AnswerError, ClipFrames, ModelSpec, Request

REGISTRATION = """

class PluggedSettings(Settings):
    seed: int = 0
    fault: str = ""


ADAPTERS |= {
    "pixels": AdapterInfo("reprise.models.local.plugged:Pixels", PluggedSettings, request_types=ALL_REQUEST_TYPES),
    "faulty": AdapterInfo("reprise.models.local.plugged:Faulty", PluggedSettings, request_types=ALL_REQUEST_TYPES),
}
"""
ONE_IN = 5  # of the questions to a faulty model, one in so many is met by its fault


class Pixels:
    """Answers by a digest of the question and of every pixel that it is shown: another pixel is another answer.

    Where there are no options it says the digest's first letters, and more, so that no judge finds an answer right.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._seed = str(spec.settings["seed"])

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        assert clip.path is not None
        frames = read_frames(clip.path, clip.indices)
        seen = hashlib.sha256(frames.tobytes() + self._seed.encode()).hexdigest()
        for request in requests:
            drawn = hashlib.sha256((seen + request.prompt).encode()).hexdigest()
            said = request.options or (f"It looks like {' '.join(drawn[:4])}.",)
            yield Answer(text=said[int(drawn, 16) % len(said)], frames_shown=len(frames))


def _raises(error: BaseException) -> Callable[[], Answer]:
    def fail() -> Answer:
        raise error

    return fail


NOTHING: Any = None
FAULTS: dict[str, Callable[[], Answer]] = {
    "value-error": _raises(ValueError("a message with {braces}, a \x1b[31mcolour\x1b[0m and\ntwo lines")),
    "memory-error": _raises(MemoryError()),
    "exit": _raises(SystemExit(0)),
    "answer-error": _raises(AnswerError("refused", "the server refused it")),
    "nan": lambda: Answer(scores=(float("nan"), 0.5)),
    "surrogate": lambda: Answer(text="\ud800"),
    "nothing": lambda: NOTHING,
    "stops": _raises(StopIteration()),
}


def is_hit(request_id: str) -> bool:
    """Whether a faulty model fails at this question: every time, so that asking again does not hide the failure."""
    return zlib.crc32(request_id.encode()) % ONE_IN == 0


class Faulty:
    """Knows the expected option, and fails at some questions in the way that its settings name."""

    def __init__(self, spec: ModelSpec) -> None:
        self._name = str(spec.settings["fault"])

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not is_hit(request.request_id):
                yield Answer(text=request.expected)
            elif self._name == "stops":
                return
            else:
                yield FAULTS[self._name]()
