"""Rotate and mirror decoded pictures by the display matrix of their file."""

import struct
from collections.abc import Sequence
from fractions import Fraction
from math import radians, tan
from pathlib import Path
from typing import Any, NamedTuple

import av.filter
import numpy as np
import numpy.typing as npt
from av.sidedata.sidedata import Type
from av.video.frame import VideoFrame

from reprise.media.errors import MediaError

# ffmpeg rounds an angle to whole degrees before it compares it with a right angle.
TOLERANCE = tan(radians(0.5))
# Numbers of the kinds of ffmpeg's side data for which PyAV has no name, including kinds of future versions.
UNNAMED_KINDS = sorted(set(range(64)).difference(kind.value for kind in Type))
# A clip's index comes first in its file, so the header of its first track is near the beginning.
HEADER_BYTES = 65_536
# The matrix that leaves a picture as it is, in the fixed-point numbers of an MP4 file.
IDENTITY = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)


class Orientation(NamedTuple):
    """A horizontal flip if `is_mirrored`, then a clockwise rotation by `rotation` degrees."""

    rotation: int = 0  # 0, 90, 180 or 270
    is_mirrored: bool = False

    @property
    def is_sideways(self) -> bool:
        """Return whether the rotation swaps width and height."""
        return self.rotation % 180 == 90

    def apply(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Return a decoded picture (height, width, ...) as it is displayed."""
        if self == UPRIGHT:
            return image
        mirrored = image[:, ::-1] if self.is_mirrored else image
        return np.ascontiguousarray(np.rot90(mirrored, -self.rotation // 90))

    def apply_filter(self, stream: Any) -> Any:
        """Apply the orientation in an ffmpeg filter graph; ffmpeg itself must not rotate the input."""
        if self.is_mirrored:
            stream = stream.filter("hflip")
        if self.rotation == 180:
            return stream.filter("hflip").filter("vflip")
        if self.is_sideways:
            return stream.filter("transpose", "clock" if self.rotation == 90 else "cclock")
        return stream


UPRIGHT = Orientation()


def read_orientation(frame: VideoFrame, name: str) -> Orientation:
    """Return the orientation of a decoded frame; `name` is the name of its file."""
    side_data: Any
    try:
        side_data = frame.side_data.get("DISPLAYMATRIX")
    except ValueError:  # PyAV lists no side data if it cannot name one kind, such as a photograph's EXIF.
        side_data = _with_named_side_data(frame).side_data.get("DISPLAYMATRIX")
    return (
        UPRIGHT
        if side_data is None
        else orientation_from_matrix(np.frombuffer(bytes(side_data), np.int32).tolist(), name)
    )


def _with_named_side_data(frame: VideoFrame) -> VideoFrame:
    """Return the frame without the kinds of side data for which PyAV has no name."""
    graph = av.filter.Graph()
    previous_node = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 1000)
    )
    filters = [graph.add("sidedata", f"mode=delete:type={number}") for number in UNNAMED_KINDS]
    for node in (*filters, graph.add("buffersink")):
        previous_node.link_to(node)
        previous_node = node
    graph.configure()
    graph.push(frame)
    filtered = graph.pull()
    assert isinstance(filtered, VideoFrame)
    return filtered


def orientation_from_matrix(matrix: Sequence[int], name: str) -> Orientation:
    """Return the orientation of a display matrix, which maps point (x, y) to (a x + c y, b x + d y) in ffmpeg.

    Raises:
        MediaError: the picture is rotated by an angle that is not a multiple of 90 degrees, or is sheared.
    """
    a, b, c, d = matrix[0], matrix[1], matrix[3], matrix[4]
    if not any((a, b, c, d)):  # Some cameras leave the matrix empty, and ffmpeg ignores it.
        return UPRIGHT
    if max(abs(b), abs(c)) <= TOLERANCE * min(abs(a), abs(d)):  # upright or half a turn
        return Orientation(0 if d > 0 else 180, (a > 0) != (d > 0))
    if max(abs(a), abs(d)) <= TOLERANCE * min(abs(b), abs(c)):  # a quarter turn
        return Orientation(90 if c < 0 else 270, (b > 0) == (c > 0))
    raise MediaError(
        "unsupported_rotation",
        f"{name}: its display matrix ({a}, {b}, {c}, {d}) rotates the picture by an angle that is not a multiple of "
        "90 degrees. Re-encode the video upright, for example with `ffmpeg -i VIDEO UPRIGHT.mp4`.",
    )


def reset_display_matrix(path: Path) -> None:
    """Write the identity matrix into the header of an MP4 file's first track.

    ffmpeg copies the source's matrix to the clip, although filters have rotated the pictures. Some versions copy the
    stream's matrix, others that of the frames.
    """
    with path.open("r+b") as file:
        track = file.read(HEADER_BYTES).index(b"tkhd") + 4
        file.seek(track)
        has_64_bit_times = file.read(1) == b"\1"
        file.seek(track + (52 if has_64_bit_times else 40))  # The matrix follows the times and volume.
        file.write(IDENTITY)
