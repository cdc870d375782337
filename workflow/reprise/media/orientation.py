"""How a decoded picture is turned and mirrored before it is shown, by the display matrix of its file."""

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

# ffmpeg rounds an angle to whole degrees before it compares it with a right one.
TOLERANCE = tan(radians(0.5))
# Kinds of side data by ffmpeg's numbers, some of which are of the future.
UNNAMED = sorted(set(range(64)).difference(kind.value for kind in Type))
# A clip's index is in front, so its first track's header is near the beginning.
HEADER_BYTES = 65_536
IDENTITY = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)


class Orientation(NamedTuple):
    """Mirror a decoded picture from left to right where `is_mirrored`, then turn it clockwise by `rotation` degrees."""

    rotation: int = 0  # 0, 90, 180 or 270
    is_mirrored: bool = False

    @property
    def is_sideways(self) -> bool:
        """Whether width and height change places."""
        return self.rotation % 180 == 90

    def apply(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Turn a decoded picture (height, width, ...) into the one that is shown."""
        if self == UPRIGHT:
            return image
        mirrored = image[:, ::-1] if self.is_mirrored else image
        return np.ascontiguousarray(np.rot90(mirrored, -self.rotation // 90))

    def filtered(self, stream: Any) -> Any:
        """Do the same in a graph of ffmpeg's filters, whose input must not be rotated by ffmpeg itself."""
        if self.is_mirrored:
            stream = stream.filter("hflip")
        if self.rotation == 180:
            return stream.filter("hflip").filter("vflip")
        return stream.filter("transpose", "clock" if self.rotation == 90 else "cclock") if self.rotation else stream


UPRIGHT = Orientation()


def orientation_of(frame: VideoFrame, name: str) -> Orientation:
    """Return the orientation of a decoded frame of the file with this name."""
    side_data: Any
    try:
        side_data = frame.side_data.get("DISPLAYMATRIX")
    except ValueError:  # PyAV lists no side data where it has no name for one kind, such as the EXIF of a photograph
        side_data = _with_named_side_data(frame).side_data.get("DISPLAYMATRIX")
    return UPRIGHT if side_data is None else of_matrix(np.frombuffer(bytes(side_data), np.int32).tolist(), name)


def _with_named_side_data(frame: VideoFrame) -> VideoFrame:
    """Drop the kinds of side data that PyAV has no name for."""
    graph = av.filter.Graph()
    last = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 1000))
    filters = [graph.add("sidedata", f"mode=delete:type={number}") for number in UNNAMED]
    for step in (*filters, graph.add("buffersink")):
        last.link_to(step)
        last = step
    graph.configure()
    graph.push(frame)
    named = graph.pull()
    assert isinstance(named, VideoFrame)
    return named


def of_matrix(matrix: Sequence[int], name: str) -> Orientation:
    """Read a display matrix as ffmpeg does, which shows a decoded point (x, y) at (a x + c y, b x + d y).

    Raises:
        MediaError: the picture is turned by an angle that is no multiple of 90 degrees, or is sheared.
    """
    a, b, c, d = matrix[0], matrix[1], matrix[3], matrix[4]
    if not any((a, b, c, d)):  # ffmpeg ignores a matrix that some cameras leave empty
        return UPRIGHT
    if max(abs(b), abs(c)) <= TOLERANCE * min(abs(a), abs(d)):
        return Orientation(0 if d > 0 else 180, (a > 0) != (d > 0))
    if max(abs(a), abs(d)) <= TOLERANCE * min(abs(b), abs(c)):
        return Orientation(90 if c < 0 else 270, (b > 0) == (c > 0))
    raise MediaError(
        "unsupported_rotation",
        f"{name}: its display matrix ({a}, {b}, {c}, {d}) turns the picture by an angle that is no multiple of 90 "
        "degrees. Re-encode the video upright, for one with `ffmpeg -i VIDEO UPRIGHT.mp4`.",
    )


def reset_display_matrix(path: Path) -> None:
    """Write into the header of an MP4 file's first track that its pictures are shown as they are stored.

    ffmpeg hands the matrix of a video on to a clip whose pictures its filters have turned already: some versions that
    of the stream, others that of the frames.
    """
    with path.open("r+b") as file:
        track = file.read(HEADER_BYTES).index(b"tkhd") + 4
        file.seek(track)
        is_long = file.read(1) == b"\1"  # with times of 64 bits
        file.seek(track + (52 if is_long else 40))
        file.write(IDENTITY)
