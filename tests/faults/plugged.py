"""Adapters that the fault tests add to their copy of the library: `pixels` and `faulty`.

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
FAULT_INTERVAL = 5  # On average, a faulty model fails on one of this number of requests.


class Pixels:
    """A model that answers by a digest of the prompt and all pixels, so another pixel gives another answer.

    Without options, its reply contains characters of the digest and is never correct.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._seed = str(spec.settings["seed"])

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        assert clip.path is not None
        frames = read_frames(clip.path, clip.indices)
        frames_digest = hashlib.sha256(frames.tobytes() + self._seed.encode()).hexdigest()
        for request in requests:
            answer_digest = hashlib.sha256((frames_digest + request.prompt).encode()).hexdigest()
            options = request.options or (f"It looks like {' '.join(answer_digest[:4])}.",)
            yield Answer(text=options[int(answer_digest, 16) % len(options)], frames_shown=len(frames))


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
    """Return whether a faulty model fails on a request, which does not depend on earlier attempts."""
    return zlib.crc32(request_id.encode()) % FAULT_INTERVAL == 0


class Faulty:
    """A model that answers correctly, except for some requests on which it fails in the way of its settings."""

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
