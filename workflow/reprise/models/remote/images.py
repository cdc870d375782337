"""Encode the frames of a clip as lossless PNG images, once for all requests."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import Image as Picture

from reprise.media.decoder import Footage, Image
from reprise.models.asking.money.limits import Shown
from reprise.models.base import Clip, ModelSpec, Request
from reprise.models.local.frames import footage_of


class EncodedFrames(NamedTuple):
    """The encoded frames of a clip and their positions in the video."""

    images: tuple[bytes, ...]
    """PNG images in base64, in the order of the plan"""
    places: tuple[int, ...]
    rate: float
    total: int
    width: int
    height: int

    @property
    def shown(self) -> Shown:
        return Shown(len(self.images), self.width, self.height)


class ImagesPreparer:
    """Decodes and encodes frames without loading a model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._size: int | None = spec.settings.get("image_size")

    def read(self, clip: Clip) -> Footage:
        return footage_of(clip)

    def prepare(self, clip: Clip, frames: Footage, requests: Sequence[Request]) -> EncodedFrames:
        pictures = [self._picture(frame) for frame in frames.frames]
        width, height = pictures[0].size
        return EncodedFrames(tuple(map(_png, pictures)), frames.places, frames.rate, frames.total, width, height)

    def _picture(self, frame: Image) -> Picture.Image:
        picture = Picture.fromarray(np.ascontiguousarray(frame))
        if self._size is not None:
            picture.thumbnail((self._size, self._size))  # like VLMEvalKit; `thumbnail` never enlarges
        return picture


def _png(picture: Picture.Image) -> bytes:
    stream = BytesIO()
    picture.save(stream, "PNG", compress_level=1)  # other levels save little more space
    return b64encode(stream.getvalue())
