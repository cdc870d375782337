"""Decoded frames for models that preprocess pictures themselves."""

from collections.abc import Sequence

from reprise.media.decoder import Footage, Image, as_grid, read_footage
from reprise.models.base import Clip, ModelSpec, Request


def footage_of(clip: Clip) -> Footage:
    """Return the pictures that a clip's plan selects: its frames with their times, or one grid of all frames."""
    assert clip.path is not None
    footage = read_footage(clip.path, clip.indices)
    footage = footage._replace(places=tuple(round(time_s * footage.rate) for time_s in clip.times_s))
    if clip.grid is None:
        return footage
    return footage._replace(frames=as_grid(footage.frames, *clip.grid)[None], places=footage.places[:1])


class FramesPreparer:
    """A preparer that only decodes; it needs neither the model nor torch."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def read(self, clip: Clip) -> Image:
        return footage_of(clip).frames

    def prepare(self, clip: Clip, frames: Image, requests: Sequence[Request]) -> Image:
        return frames
