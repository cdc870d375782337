"""Clips as a server is shown them: each frame a PNG, which loses nothing, encoded once for all questions."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import Image as Picture

from reprise.media.decoder import Footage
from reprise.models.asking.money.limits import Shown
from reprise.models.base import Clip, ModelSpec, Request
from reprise.models.local.frames import footage_of


class Encoded(NamedTuple):
    """The frames of a clip, and when they are shown."""

    images: tuple[bytes, ...]
    """each a PNG in base64, in the order of the plan"""
    places: tuple[int, ...]
    rate: float
    total: int
    width: int
    height: int

    @property
    def shown(self) -> Shown:
        return Shown(len(self.images), self.width, self.height)


class ImagesPreparer:
    """Decodes and encodes frames; needs no model for that."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def read(self, clip: Clip) -> Footage:
        return footage_of(clip)

    def prepare(self, clip: Clip, frames: Footage, requests: Sequence[Request]) -> Encoded:
        """A frame that the plan shows several times is encoded once."""
        shown = clip.indices[: len(frames.frames)]
        first = {index: at for at, index in reversed(list(enumerate(shown)))}
        encoded: dict[int, bytes] = {}
        for index, at in first.items():
            stream = BytesIO()
            picture = Picture.fromarray(np.ascontiguousarray(frames.frames[at]))
            picture.save(stream, "PNG", compress_level=1)  # the others make frames little smaller
            encoded[index] = b64encode(stream.getvalue())
        height, width = frames.frames[0].shape[:2]
        images = tuple(encoded[index] for index in shown)
        return Encoded(images, frames.places, frames.rate, frames.total, width, height)
