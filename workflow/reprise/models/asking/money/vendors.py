"""What vendors say of the images that they take, each with its page: looked at before anything is paid for.

Only what a page states stands here; what is not known is None, and not checked.
"""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple
from urllib.parse import urlsplit

MIB = 1 << 20


class Shown(NamedTuple):
    """The frames of a clip as they are sent."""

    frames: int
    width: int
    height: int
    largest_bytes: int
    """of one frame as it is sent"""
    all_bytes: int


class ImageLimits(NamedTuple):
    """What one vendor takes in a request."""

    source: str
    images: int
    side: int | None
    """pixels of an image's longer side"""
    many: int | None
    """with more images than this ..."""
    side_of_many: int | None
    """... its longer side has at most so many pixels"""
    image_bytes: int | None
    request_bytes: int | None
    tokens: Callable[[int, int], int]
    """of an image of this width and height, at most"""

    def problem(self, shown: Shown) -> str:
        """Why the vendor would not take these frames; empty if it would."""
        side, longest = self.side, max(shown.width, shown.height)
        if self.many is not None and shown.frames > self.many:
            side = self.side_of_many
        found = (
            ("images in a request", shown.frames, self.images),
            (f"pixels of a side, of {shown.frames} images", longest, side),
            ("bytes of an image", shown.largest_bytes, self.image_bytes),
            ("bytes of a request's images", shown.all_bytes, self.request_bytes),
        )
        over = next(
            (f"{what}: {count:,}, at most {most:,}" for what, count, most in found if most and count > most), ""
        )
        return f"{over} ({self.source})" if over else ""


def _patches_of_28(width: int, height: int) -> int:
    """Tokens of an image that is not made smaller first, which would only lower them."""
    return ceil(width / 28) * ceil(height / 28)


def _by_aspect(width: int, height: int) -> int:
    """Gemini 3 takes a fixed number, earlier ones 258 for each tile of two thirds of the shorter side."""
    unit = max(1, int(min(width, height) / 1.5))
    return max(1120, 258 * ceil(width / unit) * ceil(height / unit))


LIMITS = {
    "api.anthropic.com": ImageLimits(
        source="platform.claude.com/docs/en/build-with-claude/vision, read 2026-11",
        images=600, side=8000, many=20, side_of_many=2000, image_bytes=None, request_bytes=32 * MIB,
        tokens=_patches_of_28,
    ),
    "generativelanguage.googleapis.com": ImageLimits(
        source="docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding, read 2026-11",
        images=3000, side=None, many=None, side_of_many=None, image_bytes=7 * MIB, request_bytes=None,
        tokens=_by_aspect,
    ),
}  # fmt: skip


def limits_of(url: str, adapter_host: str = "") -> ImageLimits | None:
    """The limits of the vendor at an address, or of the one whose interface is spoken there."""
    return LIMITS.get(urlsplit(url).hostname or "") or LIMITS.get(adapter_host)
