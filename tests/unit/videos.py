"""Real videos made with ffmpeg for the tests; every frame carries its number as a barcode."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from reprise.media.ffmpeg import QUIET, ffmpeg_executable

SIZE, RATE, BITS = 128, 24, 8
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "24", "-bf", "2", "-crf", "12")


def run_ffmpeg(*options: str | Path) -> None:
    done = subprocess.run([ffmpeg_executable(), *QUIET, "-y", *map(str, options)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def barcode_frame(number: int, width: int = SIZE, height: int = SIZE) -> npt.NDArray[np.uint8]:
    """Eight vertical bars, white for a 1 of the frame's number, over a grey that keeps the picture from being black."""
    picture = np.full((height, width, 3), 96, np.uint8)
    for bit in range(BITS):
        picture[: height // 2, bit * width // BITS : (bit + 1) * width // BITS] = 235 if number >> bit & 1 else 40
    return picture


def read_barcode(picture: npt.NDArray[np.uint8]) -> int:
    height, width = picture.shape[:2]
    strip = picture[height // 8 : height * 3 // 8].mean(axis=(0, 2))
    return sum(int(strip[int((bit + 0.5) * width / BITS)] > 138) << bit for bit in range(BITS))


def barcode_video(
    path: Path, frames: int = 48, options: tuple[str, ...] = X264, width: int = SIZE, height: int = SIZE,
    rate: str = str(RATE), before: tuple[str, ...] = (),
) -> Path:  # fmt: skip
    """A video whose frame n shows n."""
    pictures = np.stack([barcode_frame(number, width, height) for number in range(frames)])
    return video_of(path, pictures, (*before, *options), rate)


def video_of(
    path: Path, pictures: npt.NDArray[np.uint8], options: tuple[str, ...] = X264, rate: str = str(RATE)
) -> Path:
    height, width = pictures.shape[1:3]
    command = [ffmpeg_executable(), *QUIET, "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command += ["-r", rate, "-i", "-", "-pix_fmt", "yuv420p", *options, str(path)]
    done = subprocess.run(command, input=pictures.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return path


def numbers(pictures: npt.NDArray[np.uint8]) -> list[int]:
    return [read_barcode(picture) for picture in pictures]


def changing_video(path: Path, frames: int = 24) -> Path:
    """A transport stream of three pieces, the middle one of another size, shape and pixel format; each counts from 0."""
    plain = (*X264, "-bf", "0")
    barcode_video(path.with_name("plain.ts"), frames, plain, width=128, height=64)
    barcode_video(path.with_name("other.ts"), frames, (*plain, "-pix_fmt", "yuv444p"), width=96, height=96)
    pieces = path.with_name("pieces.txt")
    pieces.write_text("".join(f"file {name}.ts\n" for name in ("plain", "other", "plain")))
    run_ffmpeg("-f", "concat", "-i", pieces, "-c", "copy", path)
    return path


def shown_by(picture: npt.NDArray[np.uint8], matrix: Sequence[float]) -> npt.NDArray[np.uint8]:
    """Move each pixel of a picture to where a display matrix of right angles shows it."""
    a, b, c, d = (int(value) for value in matrix)
    rows, columns = np.indices(picture.shape[:2])
    x, y = a * columns + c * rows, b * columns + d * rows
    x, y = x - x.min(), y - y.min()
    shown = np.empty((int(y.max()) + 1, int(x.max()) + 1, *picture.shape[2:]), np.uint8)
    shown[y, x] = picture
    return shown
