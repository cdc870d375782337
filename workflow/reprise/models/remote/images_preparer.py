"""Encode the frames of a clip as lossless PNG images, once for all requests."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import Image as Picture

from reprise.media.decoder import Footage, Image
from reprise.models.base import ClipFrames, ModelSpec, Request
from reprise.models.inference.money.limits import FrameShape
from reprise.models.local.frames_preparer import read_clip_footage


class EncodedFrames(NamedTuple):
    """The encoded frames of a clip and their positions in the video."""

    images: tuple[bytes, ...]
    """PNG images in base64, in the order of the plan"""
    frame_indices: tuple[int, ...]
    fps: float
    total_frames: int
    width: int
    height: int

    @property
    def shape(self) -> FrameShape:
        """Return the number and size of the frames."""
        return FrameShape(len(self.images), self.width, self.height)


class ImagesPreparer:
    """Decode and encode frames without loading a model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._size: int | None = spec.settings.get("image_size")

    def read(self, clip: ClipFrames) -> Footage:
        return read_clip_footage(clip)

    def prepare(self, clip: ClipFrames, frames: Footage, requests: Sequence[Request]) -> EncodedFrames:
        pictures = [self._create_picture(frame) for frame in frames.frames]
        width, height = pictures[0].size
        return EncodedFrames(
            tuple(map(_encode_png, pictures)), frames.frame_indices, frames.fps, frames.total_frames, width, height
        )

    def _create_picture(self, frame: Image) -> Picture.Image:
        picture = Picture.fromarray(np.ascontiguousarray(frame))
        if self._size is not None:
            picture.thumbnail((self._size, self._size))  # like VLMEvalKit; `thumbnail` never enlarges
        return picture


def _encode_png(picture: Picture.Image) -> bytes:
    """Return a picture as PNG in base64."""
    stream = BytesIO()
    picture.save(stream, "PNG", compress_level=1)  # other levels save little more space
    return b64encode(stream.getvalue())
