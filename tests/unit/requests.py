"""Inputs of an adapter for tests: model settings, requests and clips."""

from pathlib import Path
from typing import Any

from reprise.models.base import ClipFrames, ModelSpec, Request
from reprise.models.keys import ModelRunKey

from tests.unit.videos import RATE

NO_FRAMES = ClipFrames("clip", None, (), ())


def model_spec(
    folder: Path | None = None, *, dtype: str = "float32", attention: str = "sdpa", **settings: Any
) -> ModelSpec:
    return ModelSpec(folder, "cpu", 1, dtype, attention, False, settings)


def make_run_key(
    adapter: str, settings: dict[str, Any] | None = None, serving: Any = None, **fields: Any
) -> ModelRunKey:
    """Return the key of a run of a model with these settings; `serving` is the part of the key about its server."""
    answers = {
        "adapter": adapter, "sampling": {"rule": "uniform"}, "model": {}, "settings": settings or {}, "dtype": "float32",
        "attention": "sdpa", "trust_remote_code": False, "prompt": {}, "form": "f", "request_type": "score", "max_tokens": 1,
        "versions": {}, "serving": serving,
    }  # fmt: skip
    return ModelRunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": answers, **fields})


def make_request(
    prompt: str, ask: str, options: tuple[str, ...] = (), *, system: str = "", max_tokens: int = 8,
    request_id: str = "", item_id: str = "i", role: str = "pos", expected: str = "",
) -> Request:  # fmt: skip
    return Request(request_id or f"r {prompt}", item_id, role, ask, system, prompt, options, expected, max_tokens)


def make_yes_no_request(request_id: str) -> Request:
    return make_request(f"prompt {request_id}", "score", ("Yes", "No"), request_id=request_id, item_id=request_id)


def clip_frames(video: Path, indices: tuple[int, ...]) -> ClipFrames:
    """Return a video of `tests.unit.videos` with the frames that a model receives."""
    return ClipFrames("clip", video, indices, tuple(index / RATE for index in indices))
