"""What tests ask an adapter: its settings, a question, and the clip that is shown."""

from pathlib import Path
from typing import Any

from reprise.models.base import ClipFrames, ModelSpec, Request
from reprise.models.keys import ModelRunKey

from tests.unit.videos import RATE

BLIND = ClipFrames("clip", None, (), ())


def spec(folder: Path | None = None, *, dtype: str = "float32", attention: str = "sdpa", **settings: Any) -> ModelSpec:
    return ModelSpec(folder, "cpu", 1, dtype, attention, False, settings)


def run_key(adapter: str, settings: dict[str, Any] | None = None, serving: Any = None, **more: Any) -> ModelRunKey:
    """The key of a run of a model with these settings; `serving` is of its server's answers."""
    answers = {
        "adapter": adapter, "sampling": {"rule": "uniform"}, "model": {}, "settings": settings or {}, "dtype": "float32",
        "attention": "sdpa", "trust_remote_code": False, "prompt": {}, "form": "f", "ask": "score", "max_tokens": 1,
        "versions": {}, "serving": serving,
    }  # fmt: skip
    return ModelRunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": answers, **more})


def request(
    prompt: str, ask: str, options: tuple[str, ...] = (), *, system: str = "", max_tokens: int = 8,
    request_id: str = "", item_id: str = "i", role: str = "pos", expected: str = "",
) -> Request:  # fmt: skip
    return Request(request_id or f"r {prompt}", item_id, role, ask, system, prompt, options, expected, max_tokens)


def yes_or_no(name: str) -> Request:
    return request(f"prompt {name}", "score", ("Yes", "No"), request_id=name, item_id=name)


def shown(video: Path, indices: tuple[int, ...]) -> ClipFrames:
    """A video of `tests.unit.videos` with the frames that are shown of it."""
    return ClipFrames("clip", video, indices, tuple(index / RATE for index in indices))
