"""Test that a file that is truncated anywhere is rejected in every container, and a complete file is not."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reprise.media.completeness import check_complete
from reprise.media.decoder import count_decodable
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import QUIET, ffmpeg_executable

from tests.unit.videos import X264

FRAME_COUNT = 40
X264_AAC = (*X264, "-c:a", "aac")
VP8 = ("-c:v", "libvpx", "-b:v", "500k", "-deadline", "realtime", "-c:a", "libvorbis")
WMV = ("-c:v", "wmv2", "-c:a", "wmav2")
# Kind of file -> format, whether ffmpeg writes it to a pipe (and so cannot fill in sizes afterwards), and encoding options.
FILES: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "Matroska": ("matroska", False, X264_AAC),
    "Matroska, streamed": ("matroska", True, X264_AAC),
    "WebM": ("webm", False, VP8),
    "WebM, live": ("webm", False, (*VP8, "-live", "1")),
    "MP4": ("mp4", False, X264_AAC),
    "MP4, index in front": ("mp4", False, (*X264_AAC, "-movflags", "+faststart")),
    "MP4 in fragments": ("mp4", True, (*X264_AAC, "-movflags", "frag_keyframe+empty_moov")),
    "MP4 in listed fragments": ("mp4", False, (*X264, "-an", "-movflags", "+dash+global_sidx+frag_keyframe")),
    "QuickTime": ("mov", False, ("-c:v", "mjpeg", "-c:a", "pcm_s16le")),
    "AVI": ("avi", False, ("-c:v", "mjpeg", "-c:a", "pcm_s16le")),
    "AVI, streamed": ("avi", True, ("-c:v", "mpeg4", "-c:a", "mp2")),
    "FLV": ("flv", False, X264_AAC),
    "FLV, streamed": ("flv", True, X264_AAC),
    "Ogg": ("ogg", False, ("-c:v", "libtheora", "-c:a", "libvorbis")),
    "ASF": ("asf", False, WMV),
    "ASF, streamed": ("asf", True, WMV),
    "program stream": ("mpeg", False, ("-c:v", "mpeg2video", "-c:a", "mp2")),
    "transport stream": ("mpegts", False, X264_AAC),
    "transport stream of a Blu-ray": ("mpegts", False, (*X264_AAC, "-mpegts_m2ts_mode", "1")),
    "GIF": ("gif", False, ("-an",)),
}
# No header of these kinds states the end: a cut between two tags, chunks or packets leaves a complete file.
OPEN_ENDED = {
    *("Matroska, streamed", "WebM, live", "MP4 in fragments", "AVI, streamed", "FLV, streamed", "ASF, streamed"),
    *("program stream", "transport stream", "transport stream of a Blu-ray"),
}


def make_media_file(kind: str, folder: Path) -> Path:
    """Encode blocks of noise with a tone; noise makes large frames."""
    name, is_streamed, options = FILES[kind]
    blocks = np.random.default_rng(0).integers(0, 255, (FRAME_COUNT, 6, 8, 3), np.uint8)
    pictures = blocks.repeat(16, axis=1).repeat(16, axis=2)
    command = [ffmpeg_executable(), *QUIET, "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "128x96", "-r", "25"]
    command += ["-i", "-", "-f", "lavfi", "-i", f"sine=d={FRAME_COUNT / 25}", *options, "-f", name]
    path = folder / "video"
    command.append("pipe:1" if is_streamed else str(path))
    process = subprocess.run(command, input=pictures.tobytes(), capture_output=True)
    assert process.returncode == 0, process.stderr.decode()
    if is_streamed:
        path.write_bytes(process.stdout)
    return path


def find_status(path: Path) -> str:
    try:
        check_complete(path)
    except MediaError as error:
        return error.status
    return "ok"


@pytest.mark.parametrize("kind", FILES)
def test_a_shortened_file_is_truncated(kind: str, tmp_path: Path) -> None:
    path = make_media_file(kind, tmp_path)
    assert find_status(path) == "ok" and count_decodable(path) == FRAME_COUNT
    content = path.read_bytes()
    lengths = np.random.default_rng(1).integers(len(content) // 10, len(content) - 16, 200)
    statuses = []
    for length in sorted({*lengths.tolist(), *(int(len(content) * share) for share in (0.95, 0.98, 0.995))}):
        path.write_bytes(content[:length])
        statuses.append(find_status(path))
    # MP4 may end with an empty box.
    assert set(statuses) <= {"truncated", "ok"}
    assert statuses.count("ok") <= (len(statuses) * 0.05 if kind in OPEN_ENDED else kind.startswith("MP4"))


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_half_zeros_is_rejected(kind: str, tmp_path: Path) -> None:
    path = make_media_file(kind, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2].ljust(len(content), b"\0"))
    with pytest.raises(MediaError) as caught:
        count_decodable(path)
    assert caught.value.status in ("truncated", "corrupt")


@pytest.mark.parametrize(("kind", "zero_count"), [("Ogg", 40), ("transport stream", 376), ("transport stream", 2000)])
def test_a_file_with_a_few_zeros_at_the_end_is_rejected(kind: str, zero_count: int, tmp_path: Path) -> None:
    """A demuxer skips a damaged page and packets of zeros, so the last frames would be missing."""
    path = make_media_file(kind, tmp_path)
    path.write_bytes(path.read_bytes()[:-zero_count] + bytes(zero_count))
    assert find_status(path) in ("truncated", "corrupt")


def test_a_damaged_page_of_an_ogg_file_is_corrupt(tmp_path: Path) -> None:
    path = make_media_file("Ogg", tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    assert find_status(path) == "corrupt"


def test_a_gap_in_a_matroska_file_is_corrupt(tmp_path: Path) -> None:
    """ffmpeg continues at the next cluster, so frames in the middle would be missing."""
    path = make_media_file("Matroska", tmp_path)
    content = bytearray(path.read_bytes())
    start = content.index(b"\xa3", len(content) // 2)
    content[start : start + 64] = bytes(64)
    path.write_bytes(content)
    assert find_status(path) == "corrupt"


@pytest.mark.parametrize("kind", ["MP4", "AVI", "Ogg", "GIF", "WebM", "program stream"])
def test_data_after_the_end_of_a_complete_file_is_ignored(kind: str, tmp_path: Path) -> None:
    path = make_media_file(kind, tmp_path)
    path.write_bytes(path.read_bytes() + b"TAG" + b"\x20" * 125)
    assert find_status(path) == "ok"


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
def test_a_shortened_picture_is_truncated(suffix: str, tmp_path: Path) -> None:
    """Decoders fill the missing part of a JPEG with grey."""
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)).save(path)
    assert find_status(path) == "ok"
    content = path.read_bytes()
    for length in (len(content) - 2, *range(len(content) // 3, len(content), len(content) // 9)):
        path.write_bytes(content[:length])
        assert find_status(path) == "truncated", length
