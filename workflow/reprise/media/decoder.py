"""Frames of a clip by index, at the size the model wants, each checked by its time; what is between is left out."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import av
import numpy as np
import numpy.typing as npt
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from reprise.core.log import log
from reprise.media.errors import MediaError, what
from reprise.media.orientation import Orientation
from reprise.media.packets import demux
from reprise.media.probe import PacketIndex, open_video, packet_index
from reprise.media.settings import Limits

Image = npt.NDArray[np.uint8]
Size = tuple[int, int]


class Frame(NamedTuple):
    number: int
    time_s: float
    image: Image


class Footage(NamedTuple):
    """The frames of a plan as they are decoded, and where in their clip they are."""

    frames: Image  # (n, height, width, 3), in the order of the plan
    places: tuple[int, ...]
    """The number of each frame at the clip's rate, by its time: place / rate is when it is shown."""
    rate: float  # frames a second of the clip
    total: int  # frames of the clip


def read_footage(path: Path, indices: Sequence[int]) -> Footage:
    """The frames of a plan with their places; where the rate varies, those of the same times at a constant one."""
    index = packet_index(path)
    frames, rate = read_frames(path, indices, index=index), float(index.rate)
    return Footage(frames, tuple(round(index.times[number] * rate) for number in indices), rate, index.frames)


def read_frames(
    path: Path, indices: Sequence[int], size: Size | None = None, index: PacketIndex | None = None
) -> Image:
    """Frames (n, height, width, 3) in the order of `indices`, which may repeat; `size` is (width, height)."""
    wanted = sorted(set(indices))
    if not wanted:
        width, height = size or (0, 0)
        return np.empty((0, height, width, 3), dtype=np.uint8)
    place = {index: at for at, index in enumerate(wanted)}
    pictures: Image | None = None
    for frame in iter_frames(path, wanted, size, index=index):
        if pictures is None:
            pictures = np.empty((len(wanted), *frame.image.shape), dtype=np.uint8)
        pictures[place[frame.number]] = frame.image
    assert pictures is not None
    if list(indices) == wanted:
        return pictures
    return pictures[[place[index] for index in indices]]


def iter_frames(
    path: Path,
    indices: Sequence[int] | None = None,
    size: Size | None = None,
    pixels: str = "rgb24",
    threads: int = 1,
    scaling: Literal["BICUBIC", "BILINEAR"] = "BICUBIC",
    index: PacketIndex | None = None,
) -> Iterator[Frame]:
    """Frames in display order, each wanted index once, all of them without `indices`; holds one frame at a time."""
    index = index or packet_index(path)
    wanted = range(index.frames) if indices is None else sorted(set(indices))
    if wanted and not (wanted[0] >= 0 and wanted[-1] < index.frames):
        raise MediaError("out_of_range", f"{path.name}: frame {wanted[-1]} of {index.frames}")
    # Without a wanted size that of the first picture: a stream may change it.
    width, height = size or (index.width, index.height)
    decoded_size = (height, width) if index.orientation.is_sideways else (width, height)
    shape = _Shape(VideoReformatter(), decoded_size, pixels, Interpolation[scaling], index.orientation)
    at = 0
    for number, frame in _found(path, index, wanted, threads):
        _check_time(path, index, number, frame)
        yield Frame(number, index.times[number], _picture(path, number, frame, shape))
        at += 1
    if at < len(wanted):
        raise MediaError("corrupt", f"{path.name}: frame {wanted[at]} of {index.frames} cannot be decoded")


def _found(path: Path, index: PacketIndex, wanted: Sequence[int], threads: int) -> Iterator[tuple[int, VideoFrame]]:
    """The wanted frames; all is decoded where what is between them cannot be left out."""
    done = 0
    may_leave_out = len(index.entries) > 1 or index.codec == "h264"
    if index.is_timed and may_leave_out and len(set(index.ticks)) == index.frames:
        try:
            for found in _decode_groups(path, index, wanted, threads):
                yield found
                done += 1
        except av.error.FFmpegError as error:
            log.debug(f"{path.name}: decoded from its start: {what(error)}")
    left = wanted[done:]
    for number, frame in enumerate(_decode(path, threads)) if left else ():
        if number == left[0]:
            yield number, frame
            left = left[1:]
            if not left:
                return


def _decode_groups(
    path: Path, index: PacketIndex, wanted: Sequence[int], threads: int
) -> Iterator[tuple[int, VideoFrame]]:
    """The wanted frames as far as they come, of the packets from the last entry before each; the others are skipped.

    Of what is between, H.264 marks the frames that no other refers to: those are left out, which is a third to a half.
    """
    upcoming = iter(wanted)
    number = next(upcoming, None)
    is_marked, ticks = index.codec == "h264", {index.ticks[one] for one in wanted}
    with open_video(path) as (container, stream):
        stream.thread_count = threads
        stream.thread_type = "AUTO"
        entry, fed = _entry_before(index, number), -1
        for place, packet in enumerate(chain(demux(container, stream), [None])):
            if number is None:
                return
            if packet is not None and place < entry:
                continue
            if packet is not None and 0 <= fed < place - 1:
                stream.codec_context.flush_buffers()
            fed = place
            if is_marked:
                is_wanted = packet is None or packet.pts is None or packet.pts in ticks
                stream.codec_context.skip_frame = "DEFAULT" if is_wanted else "NONREF"
            for frame in stream.decode(packet):
                if number is not None and frame.pts == index.ticks[number]:
                    yield number, frame
                    number = next(upcoming, None)
                    entry = _entry_before(index, number)


def _entry_before(index: PacketIndex, number: int | None) -> int:
    """The place of the packet at which the decoding of a frame may begin."""
    if number is None:
        return 0
    return max((place for place, tick in index.entries if tick <= index.ticks[number]), default=0)


def count_decodable(path: Path, limits: Limits | None = None) -> int:
    """Decode every frame and refuse a file that gives fewer, damaged or other ones than its packets promise.

    Each is converted too, as for every later use: what is accepted here is refused nowhere.
    """
    index = packet_index(path, limits)
    count, shape = 0, _Shape(VideoReformatter(), (64, 64), "bgr24", Interpolation.BILINEAR, index.orientation)
    for count, frame in enumerate(_decode(path, threads=1, limits=limits), start=1):
        if count > index.frames:
            raise MediaError("corrupt", f"{path.name}: more frames than the {index.frames} packets")
        _check_time(path, index, count - 1, frame)
        if frame.is_corrupt:
            raise MediaError("corrupt", f"{path.name}: frame {count - 1} is damaged")
        _picture(path, count - 1, frame, shape)
    if count != index.frames:
        raise MediaError("corrupt", f"{path.name}: {count} of {index.frames} frames can be decoded")
    return count


def _decode(path: Path, threads: int, limits: Limits | None = None) -> Iterator[VideoFrame]:
    try:
        with open_video(path, limits) as (container, stream):
            stream.thread_count = threads
            stream.thread_type = "AUTO"
            for packet in chain(demux(container, stream), [None]):
                yield from stream.decode(packet)
    except av.error.FFmpegError as error:
        raise MediaError("corrupt", f"{path.name}: {what(error)}") from error


def _check_time(path: Path, index: PacketIndex, number: int, frame: VideoFrame) -> None:
    """A lost frame shifts every later number; its time reveals that."""
    expected = index.ticks[number] if number < index.frames else None
    if index.is_timed and frame.pts is not None and frame.pts != expected:
        raise MediaError(
            "corrupt",
            f"{path.name}: frame {number} has time {frame.pts}, its packet {expected}: a frame is lost, or the "
            "file's times are wrong; convert it with ffmpeg",
        )


class _Shape(NamedTuple):
    reformatter: VideoReformatter
    size: Size
    pixels: str
    interpolation: Interpolation
    orientation: Orientation


def _picture(path: Path, number: int, frame: VideoFrame, shape: _Shape) -> Image:
    try:
        shaped = shape.reformatter.reformat(
            frame, *shape.size, shape.pixels, interpolation=shape.interpolation, threads=1
        )
    except (av.error.FFmpegError, ValueError) as error:
        raise MediaError("corrupt", f"{path.name}: frame {number} cannot be converted: {what(error)}") from error
    return shape.orientation.apply(np.asarray(shaped.to_ndarray(), dtype=np.uint8))


def as_grid(frames: Image, rows: int, columns: int) -> Image:
    """Frames (n, height, width, 3) in reading order, nothing between them, as IG-VLM's; a cell without one is white."""
    count, height, width, colours = frames.shape
    cells = np.full((rows * columns, height, width, colours), 255, np.uint8)
    cells[:count] = frames
    in_rows = cells.reshape(rows, columns, height, width, colours).swapaxes(1, 2)
    return in_rows.reshape(rows * height, columns * width, colours)
