"""Encode videos with ffmpeg for the tests; every frame shows its number as a barcode."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from reprise.media.ffmpeg import QUIET, ffmpeg_executable

SIZE, RATE, BITS = 128, 24, 8
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "24", "-bf", "2", "-crf", "12")


def run_ffmpeg(*options: str | Path) -> None:
    process = subprocess.run([ffmpeg_executable(), *QUIET, "-y", *map(str, options)], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def barcode_frame(number: int, width: int = SIZE, height: int = SIZE) -> npt.NDArray[np.uint8]:
    """Return a frame with eight vertical bars, one per bit of its number, on grey, so that no frame is taken for black."""
    picture = np.full((height, width, 3), 96, np.uint8)
    for bit in range(BITS):
        picture[: height // 2, bit * width // BITS : (bit + 1) * width // BITS] = 235 if number >> bit & 1 else 40
    return picture


def read_barcode(picture: npt.NDArray[np.uint8]) -> int:
    height, width = picture.shape[:2]
    strip = picture[height // 8 : height * 3 // 8].mean(axis=(0, 2))
    return sum(int(strip[int((bit + 0.5) * width / BITS)] > 138) << bit for bit in range(BITS))


def barcode_video(
    path: Path, frame_count: int = 48, encoding: tuple[str, ...] = X264, width: int = SIZE, height: int = SIZE,
    rate: str = str(RATE), extra_options: tuple[str, ...] = (),
) -> Path:  # fmt: skip
    """Encode a video whose frame n shows the number n."""
    pictures = np.stack([barcode_frame(number, width, height) for number in range(frame_count)])
    return encode_video(path, pictures, (*extra_options, *encoding), rate)


def encode_video(
    path: Path, pictures: npt.NDArray[np.uint8], options: tuple[str, ...] = X264, rate: str = str(RATE)
) -> Path:
    height, width = pictures.shape[1:3]
    command = [ffmpeg_executable(), *QUIET, "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", rate, "-i", "-", "-pix_fmt", "yuv420p", *options, str(path)]
    process = subprocess.run(command, input=pictures.tobytes(), capture_output=True)
    assert process.returncode == 0, process.stderr.decode()
    return path


def read_barcodes(pictures: npt.NDArray[np.uint8]) -> list[int]:
    return [read_barcode(picture) for picture in pictures]


def changing_video(path: Path, frame_count: int = 24) -> Path:
    """Encode a transport stream of three parts that each count from 0; the middle part has another size and pixel format."""
    plain = (*X264, "-bf", "0")
    barcode_video(path.with_name("plain.ts"), frame_count, plain, width=128, height=64)
    barcode_video(path.with_name("other.ts"), frame_count, (*plain, "-pix_fmt", "yuv444p"), width=96, height=96)
    part_list = path.with_name("parts.txt")
    part_list.write_text("".join(f"file {name}.ts\n" for name in ("plain", "other", "plain")))
    run_ffmpeg("-f", "concat", "-i", part_list, "-c", "copy", path)
    return path


def apply_display_matrix(picture: npt.NDArray[np.uint8], matrix: Sequence[float]) -> npt.NDArray[np.uint8]:
    """Transform a picture by the 2x2 part (a, b, c, d) of a display matrix that turns by multiples of 90 degrees or mirrors."""
    a, b, c, d = (int(value) for value in matrix)
    rows, columns = np.indices(picture.shape[:2])
    x, y = a * columns + c * rows, b * columns + d * rows
    x, y = x - x.min(), y - y.min()
    displayed = np.empty((int(y.max()) + 1, int(x.max()) + 1, *picture.shape[2:]), np.uint8)
    displayed[y, x] = picture
    return displayed
