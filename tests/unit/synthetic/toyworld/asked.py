"""What the toy world's tests ask a checkpoint through its adapter."""

from pathlib import Path

from reprise.models.adapters.base import Clip, ModelSpec, Request

BLIND = Clip("clip", None, (), ())


def spec(folder: Path) -> ModelSpec:
    return ModelSpec(folder, "cpu", 1, "float32", "sdpa", False, {})


def request(prompt: str, ask: str, options: tuple[str, ...] = ()) -> Request:
    return Request(f"r {prompt}", "i", "pos", ask, "", prompt, options, "", 8)
