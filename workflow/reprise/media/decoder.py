"""Decode the frames of a clip by index at a requested size, and check their times."""

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
from reprise.media.errors import MediaError, ffmpeg_message
from reprise.media.orientation import Orientation
from reprise.media.packets import demux
from reprise.media.probe import PacketIndex, open_video, read_packet_index
from reprise.media.settings import Limits

Image = npt.NDArray[np.uint8]
Size = tuple[int, int]


class Frame(NamedTuple):
    """A decoded frame with its number and time."""

    number: int
    time_s: float
    image: Image


class Footage(NamedTuple):
    """The decoded frames of a plan and their positions in the clip."""

    frames: Image  # (n, height, width, 3), in the order of the plan
    frame_indices: tuple[int, ...]
    """Frame numbers at the clip's rate, derived from the frames' times: index / rate is the time of a frame."""
    fps: float  # frame rate of the clip
    total_frames: int  # frames of the clip


def read_footage(path: Path, indices: Sequence[int]) -> Footage:
    """Return the frames of a plan with their positions, which for a variable rate are those at a constant rate."""
    index = read_packet_index(path)
    frames, rate = read_frames(path, indices, index=index), float(index.rate)
    return Footage(frames, tuple(round(index.times[number] * rate) for number in indices), rate, index.frames)


def read_frames(
    path: Path, indices: Sequence[int], size: Size | None = None, index: PacketIndex | None = None
) -> Image:
    """Return frames (n, height, width, 3) in the order of `indices`, which may repeat; `size` is (width, height)."""
    numbers = sorted(set(indices))
    if not numbers:
        width, height = size or (0, 0)
        return np.empty((0, height, width, 3), dtype=np.uint8)
    rows = {number: row for row, number in enumerate(numbers)}
    images: Image | None = None
    for frame in iter_frames(path, numbers, size, index=index):
        if images is None:
            images = np.empty((len(numbers), *frame.image.shape), dtype=np.uint8)
        images[rows[frame.number]] = frame.image
    assert images is not None
    if list(indices) == numbers:
        return images
    return images[[rows[number] for number in indices]]


def iter_frames(
    path: Path,
    indices: Sequence[int] | None = None,
    size: Size | None = None,
    pixels: str = "rgb24",
    threads: int = 1,
    scaling: Literal["BICUBIC", "BILINEAR"] = "BICUBIC",
    index: PacketIndex | None = None,
) -> Iterator[Frame]:
    """Yield frames in display order, one in memory at a time.

    Args:
        path: The clip.
        indices: The frame numbers, of which each is yielded once; all frames if None.
        size: Width and height of the images; those of the first picture if None.
        pixels: ffmpeg's name of the pixel format.
        threads: Threads of the decoder.
        scaling: Interpolation of the scaling.
        index: The clip's packet index, if the caller has it already.

    Raises:
        MediaError: an index is out of range, or a frame cannot be decoded or has another time than its packet.
    """
    index = index or read_packet_index(path)
    selection = range(index.frames) if indices is None else sorted(set(indices))
    if selection and not (selection[0] >= 0 and selection[-1] < index.frames):
        raise MediaError("out_of_range", f"{path.name}: frame {selection[-1]} of {index.frames}")
    # The default is the size of the first picture, because the size may change within a stream.
    width, height = size or (index.width, index.height)
    decoded_size = (height, width) if index.orientation.is_sideways else (width, height)
    conversion = _Conversion(VideoReformatter(), decoded_size, pixels, Interpolation[scaling], index.orientation)
    count = 0
    for number, frame in _decode_selected(path, index, selection, threads):
        _check_time(path, index, number, frame)
        yield Frame(number, index.times[number], _convert(path, number, frame, conversion))
        count += 1
    if count < len(selection):
        raise MediaError("corrupt", f"{path.name}: frame {selection[count]} of {index.frames} cannot be decoded")


def _decode_selected(
    path: Path, index: PacketIndex, selection: Sequence[int], threads: int
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield the selected frames, and decode from the start if the frames between them cannot be skipped."""
    done = 0
    can_skip = len(index.entries) > 1 or index.codec == "h264"
    if index.is_timed and can_skip and len(set(index.ticks)) == index.frames:
        try:
            for numbered_frame in _decode_groups(path, index, selection, threads):
                yield numbered_frame
                done += 1
        except av.error.FFmpegError as error:
            log.debug(f"{path.name}: decoded from its start: {ffmpeg_message(error)}")
    remaining = selection[done:]
    for number, frame in enumerate(_decode(path, threads)) if remaining else ():
        if number == remaining[0]:
            yield number, frame
            remaining = remaining[1:]
            if not remaining:
                return


def _decode_groups(
    path: Path, index: PacketIndex, selection: Sequence[int], threads: int
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield selected frames until one is missing; decode only from the last entry before each and skip other packets.

    H.264 marks the frames that no other frame refers to. They are a third to a half of the frames, and are not decoded
    unless they are selected.
    """
    upcoming = iter(selection)
    number = next(upcoming, None)
    has_marks, ticks = index.codec == "h264", {index.ticks[frame_number] for frame_number in selection}
    with open_video(path) as (container, stream):
        stream.thread_count = threads
        stream.thread_type = "AUTO"
        entry, last_decoded = _entry_before(index, number), -1
        for position, packet in enumerate(chain(demux(container, stream), [None])):
            if number is None:
                return
            if packet is not None and position < entry:
                continue
            if packet is not None and 0 <= last_decoded < position - 1:
                stream.codec_context.flush_buffers()
            last_decoded = position
            if has_marks:
                is_selected = packet is None or packet.pts is None or packet.pts in ticks
                stream.codec_context.skip_frame = "DEFAULT" if is_selected else "NONREF"
            for frame in stream.decode(packet):
                if number is not None and frame.pts == index.ticks[number]:
                    yield number, frame
                    number = next(upcoming, None)
                    entry = _entry_before(index, number)


def _entry_before(index: PacketIndex, number: int | None) -> int:
    """Return the position of the packet at which decoding may begin for a frame."""
    if number is None:
        return 0
    return max((position for position, tick in index.entries if tick <= index.ticks[number]), default=0)


def count_decodable(path: Path, limits: Limits | None = None) -> int:
    """Return the number of frames after decoding all of them and comparing them with the packets.

    Each frame is converted too, so that no later step refuses a file that passes here.

    Raises:
        MediaError: the file is damaged, or its frames differ from its packets in number or time.
    """
    index = read_packet_index(path, limits)
    count, conversion = 0, _Conversion(VideoReformatter(), (64, 64), "bgr24", Interpolation.BILINEAR, index.orientation)
    for count, frame in enumerate(_decode(path, threads=1, limits=limits), start=1):
        if count > index.frames:
            raise MediaError("corrupt", f"{path.name}: more frames than the {index.frames} packets")
        _check_time(path, index, count - 1, frame)
        if frame.is_corrupt:
            raise MediaError("corrupt", f"{path.name}: frame {count - 1} is damaged")
        _convert(path, count - 1, frame, conversion)
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
        raise MediaError("corrupt", f"{path.name}: {ffmpeg_message(error)}") from error


def _check_time(path: Path, index: PacketIndex, number: int, frame: VideoFrame) -> None:
    """Raise an error if a frame has another time than its packet: a lost frame shifts all later frame numbers."""
    expected = index.ticks[number] if number < index.frames else None
    if index.is_timed and frame.pts is not None and frame.pts != expected:
        raise MediaError(
            "corrupt",
            f"{path.name}: frame {number} has time {frame.pts}, its packet {expected}: a frame is missing, or "
            "the file's times are wrong; convert it with ffmpeg",
        )


class _Conversion(NamedTuple):
    """Conversion of decoded frames into images."""

    reformatter: VideoReformatter
    size: Size
    pixels: str
    interpolation: Interpolation
    orientation: Orientation


def _convert(path: Path, number: int, frame: VideoFrame, conversion: _Conversion) -> Image:
    try:
        converted = conversion.reformatter.reformat(
            frame, *conversion.size, conversion.pixels, interpolation=conversion.interpolation, threads=1
        )
    except (av.error.FFmpegError, ValueError) as error:
        raise MediaError(
            "corrupt", f"{path.name}: frame {number} cannot be converted: {ffmpeg_message(error)}"
        ) from error
    return conversion.orientation.apply(np.asarray(converted.to_ndarray(), dtype=np.uint8))


def arrange_grid(frames: Image, rows: int, columns: int) -> Image:
    """Return frames (n, height, width, 3) as one image grid in reading order, as IG-VLM does.

    No space separates the frames, and empty cells are white.
    """
    count, height, width, channels = frames.shape
    cells = np.full((rows * columns, height, width, channels), 255, np.uint8)
    cells[:count] = frames
    in_rows = cells.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return in_rows.reshape(rows * height, columns * width, channels)
