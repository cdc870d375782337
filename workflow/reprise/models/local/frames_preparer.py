"""Decode frames for models that preprocess pictures themselves."""

from collections.abc import Sequence

from reprise.media.decoder import Footage, Image, arrange_grid, read_footage
from reprise.models.base import ClipFrames, ModelSpec, Request


def read_clip_footage(clip: ClipFrames) -> Footage:
    """Decode the pictures that a clip's plan selects: its frames with their times, or one grid of all frames."""
    assert clip.path is not None
    footage = read_footage(clip.path, clip.indices)
    # A temporal ablation changes which frames are decoded, but not the times at which the model receives frames.
    footage = footage._replace(frame_indices=tuple(round(time_s * footage.fps) for time_s in clip.times_s))
    if clip.grid is None:
        return footage
    return footage._replace(
        frames=arrange_grid(footage.frames, *clip.grid)[None], frame_indices=footage.frame_indices[:1]
    )


class FramesPreparer:
    """A preparer that only decodes frames, without the model or torch."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def read(self, clip: ClipFrames) -> Image:
        return read_clip_footage(clip).frames

    def prepare(self, clip: ClipFrames, frames: Image, requests: Sequence[Request]) -> Image:
        return frames
