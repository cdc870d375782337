"""Clips for models that prepare pictures themselves: their frames, decoded."""

from collections.abc import Sequence

from reprise.core.errors import UserError
from reprise.media.decoder import Image, read_frames
from reprise.models.base import Clip, ModelSpec, Request


class FramesPreparer:
    """Decodes, and needs neither the model nor torch for that."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def read(self, clip: Clip) -> Image:
        if clip.path is None or not clip.indices:
            raise UserError(f"clip '{clip.clip_id}': contrastive needs frames. Name a sampling other than `none`.")
        return read_frames(clip.path, clip.indices)

    def prepare(self, clip: Clip, frames: Image, requests: Sequence[Request]) -> Image:
        return frames
