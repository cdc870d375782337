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
"""width and height in pixels"""


class Frame(NamedTuple):
    """A decoded frame with its number and time."""

    number: int
    time_s: float
    image: Image


class Footage(NamedTuple):
    """The decoded frames of a plan, with the video metadata that processors of transformers expect."""

    frames: Image  # (n, height, width, 3), in the order of the plan
    frame_indices: tuple[int, ...]
    """Frame numbers at the clip's constant rate: index / fps is the time of a frame, also for a variable rate."""
    fps: float  # frame rate of the clip
    total_frames: int  # number of frames of the clip


def read_footage(path: Path, indices: Sequence[int]) -> Footage:
    """Return the frames of a plan with their frame numbers at a constant rate."""
    packet_index = read_packet_index(path)
    frames = read_frames(path, indices, packet_index=packet_index)
    rate = float(packet_index.rate)
    return Footage(
        frames, tuple(round(packet_index.times[number] * rate) for number in indices), rate, packet_index.frame_count
    )


def read_frames(
    path: Path, indices: Sequence[int], size: Size | None = None, packet_index: PacketIndex | None = None
) -> Image:
    """Return frames (n, height, width, 3) in the order of `indices`, which may repeat; `size` is (width, height)."""
    distinct_numbers = sorted(set(indices))
    if not distinct_numbers:
        width, height = size or (0, 0)
        return np.empty((0, height, width, 3), dtype=np.uint8)
    row_by_number = {number: row for row, number in enumerate(distinct_numbers)}
    images: Image | None = None
    for frame in iter_frames(path, distinct_numbers, size, packet_index=packet_index):
        if images is None:
            images = np.empty((len(distinct_numbers), *frame.image.shape), dtype=np.uint8)
        images[row_by_number[frame.number]] = frame.image
    assert images is not None
    if list(indices) == distinct_numbers:
        return images
    return images[[row_by_number[number] for number in indices]]


def iter_frames(
    path: Path,
    indices: Sequence[int] | None = None,
    size: Size | None = None,
    pixels: str = "rgb24",
    threads: int = 1,
    scaling: Literal["BICUBIC", "BILINEAR"] = "BICUBIC",
    packet_index: PacketIndex | None = None,
) -> Iterator[Frame]:
    """Yield frames in display order, one in memory at a time.

    Args:
        path: The clip.
        indices: The frame numbers; all frames if None. A repeated number is yielded once.
        size: Width and height of the images; those of the first picture if None.
        pixels: ffmpeg's name of the pixel format.
        threads: Threads of the decoder.
        scaling: Interpolation of the scaling.
        packet_index: The clip's packet index, if the caller has it already.

    Raises:
        MediaError: an index is out of range, or a frame cannot be decoded or has another time than its packet.
    """
    packet_index = packet_index or read_packet_index(path)
    frame_numbers = range(packet_index.frame_count) if indices is None else sorted(set(indices))
    if frame_numbers and not (frame_numbers[0] >= 0 and frame_numbers[-1] < packet_index.frame_count):
        raise MediaError("out_of_range", f"{path.name}: frame {frame_numbers[-1]} of {packet_index.frame_count}")
    # The default is the size of the first picture, because the size may change within a stream.
    width, height = size or (packet_index.width, packet_index.height)
    decoded_size = (height, width) if packet_index.orientation.is_sideways else (width, height)
    conversion = _Conversion(VideoReformatter(), decoded_size, pixels, Interpolation[scaling], packet_index.orientation)
    decoded_count = 0
    for number, frame in _decode_selected(path, packet_index, frame_numbers, threads):
        _check_frame_time(path, packet_index, number, frame)
        yield Frame(number, packet_index.times[number], _convert_frame(path, number, frame, conversion))
        decoded_count += 1
    if decoded_count < len(frame_numbers):
        raise MediaError(
            "corrupt",
            f"{path.name}: frame {frame_numbers[decoded_count]} of {packet_index.frame_count} cannot be decoded",
        )


def _decode_selected(
    path: Path, packet_index: PacketIndex, frame_numbers: Sequence[int], threads: int
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield the selected frames; decode from the start of the file if other frames cannot be skipped."""
    decoded_count = 0
    can_skip = len(packet_index.random_access_points) > 1 or packet_index.codec == "h264"
    if packet_index.is_timed and can_skip and len(set(packet_index.ticks)) == packet_index.frame_count:
        try:
            for numbered_frame in _decode_groups(path, packet_index, frame_numbers, threads):
                yield numbered_frame
                decoded_count += 1
        except av.error.FFmpegError as error:
            log.debug(f"{path.name}: decoded from its start: {ffmpeg_message(error)}")
    remaining_numbers = frame_numbers[decoded_count:]
    if not remaining_numbers:
        return
    for number, frame in enumerate(_decode_all(path, threads)):
        if number == remaining_numbers[0]:
            yield number, frame
            remaining_numbers = remaining_numbers[1:]
            if not remaining_numbers:
                return


def _decode_groups(
    path: Path, packet_index: PacketIndex, frame_numbers: Sequence[int], threads: int
) -> Iterator[tuple[int, VideoFrame]]:
    """Yield selected frames until one is missing; decode each from the last random access point before it.

    A random access point is a packet at which decoding may begin.

    H.264 marks the frames to which no other frame refers, a third to a half of all frames. They are decoded only if
    they are selected.
    """
    remaining_numbers = iter(frame_numbers)
    next_number = next(remaining_numbers, None)
    has_reference_marks = packet_index.codec == "h264"
    selected_ticks = {packet_index.ticks[frame_number] for frame_number in frame_numbers}
    with open_video(path) as (container, stream):
        stream.thread_count = threads
        stream.thread_type = "AUTO"
        start_position = _find_decoding_start(packet_index, next_number)
        last_decoded = -1  # position of the last packet that was decoded
        for position, packet in enumerate(chain(demux(container, stream), [None])):
            if next_number is None:
                return
            if packet is not None and position < start_position:
                continue
            has_skipped = 0 <= last_decoded < position - 1
            if packet is not None and has_skipped:
                stream.codec_context.flush_buffers()
            last_decoded = position
            if has_reference_marks:
                is_selected = packet is None or packet.pts is None or packet.pts in selected_ticks
                stream.codec_context.skip_frame = "DEFAULT" if is_selected else "NONREF"
            for frame in stream.decode(packet):
                if next_number is not None and frame.pts == packet_index.ticks[next_number]:
                    yield next_number, frame
                    next_number = next(remaining_numbers, None)
                    start_position = _find_decoding_start(packet_index, next_number)


def _find_decoding_start(packet_index: PacketIndex, frame_number: int | None) -> int:
    """Return the position of the last packet from which a frame can be decoded; 0 if there is no frame."""
    if frame_number is None:
        return 0
    return max(
        (position for position, tick in packet_index.random_access_points if tick <= packet_index.ticks[frame_number]),
        default=0,
    )


def count_decodable(path: Path, limits: Limits | None = None) -> int:
    """Decode all frames, compare them with the packets, and return the number of frames.

    Each frame is also converted to an image, because later steps fail if a frame cannot be converted.

    Raises:
        MediaError: the file is damaged, or its frames differ from its packets in number or time.
    """
    packet_index = read_packet_index(path, limits)
    conversion = _Conversion(VideoReformatter(), (64, 64), "bgr24", Interpolation.BILINEAR, packet_index.orientation)
    count = 0
    for count, frame in enumerate(_decode_all(path, threads=1, limits=limits), start=1):
        if count > packet_index.frame_count:
            raise MediaError("corrupt", f"{path.name}: more frames than the {packet_index.frame_count} packets")
        _check_frame_time(path, packet_index, count - 1, frame)
        if frame.is_corrupt:
            raise MediaError("corrupt", f"{path.name}: frame {count - 1} is damaged")
        _convert_frame(path, count - 1, frame, conversion)
    if count != packet_index.frame_count:
        raise MediaError("corrupt", f"{path.name}: {count} of {packet_index.frame_count} frames can be decoded")
    return count


def _decode_all(path: Path, threads: int, limits: Limits | None = None) -> Iterator[VideoFrame]:
    """Yield all frames of a file in display order."""
    try:
        with open_video(path, limits) as (container, stream):
            stream.thread_count = threads
            stream.thread_type = "AUTO"
            for packet in chain(demux(container, stream), [None]):
                yield from stream.decode(packet)
    except av.error.FFmpegError as error:
        raise MediaError("corrupt", f"{path.name}: {ffmpeg_message(error)}") from error


def _check_frame_time(path: Path, packet_index: PacketIndex, frame_number: int, frame: VideoFrame) -> None:
    """Raise an error if a frame has another time than its packet; a lost frame would shift all later frame numbers."""
    packet_tick = packet_index.ticks[frame_number] if frame_number < packet_index.frame_count else None
    if packet_index.is_timed and frame.pts is not None and frame.pts != packet_tick:
        raise MediaError(
            "corrupt",
            f"{path.name}: frame {frame_number} has time {frame.pts}, its packet {packet_tick}: a frame is missing, or "
            "the file's times are wrong; convert it with ffmpeg",
        )


class _Conversion(NamedTuple):
    """Conversion of decoded frames into images; `orientation` is applied after the scaling to `size`."""

    reformatter: VideoReformatter
    size: Size
    pixels: str
    interpolation: Interpolation
    orientation: Orientation


def _convert_frame(path: Path, number: int, frame: VideoFrame, conversion: _Conversion) -> Image:
    """Return the image of a decoded frame, scaled and then rotated for display."""
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
    """Arrange frames (n, height, width, 3) in reading order in one image grid, as IG-VLM does.

    The grid has no space between the frames, and empty cells are white.
    """
    count, height, width, channels = frames.shape
    cells = np.full((rows * columns, height, width, channels), 255, np.uint8)
    cells[:count] = frames
    in_rows = cells.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return in_rows.reshape(rows * height, columns * width, channels)
