"""Every kind of file gives exactly the frames that it shows, or a named reason why not."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from reprise.media.decoder import count_decodable, read_frames
from reprise.media.errors import MediaError
from reprise.media.probe import packet_index

from tests.unit.videos import X264, barcode_video, numbers, run_ffmpeg, truncated

EVERY_THIRD = ("-vf", "select='not(mod(n,3))+lt(n,9)'", "-fps_mode", "vfr")
SHOWN_BY_EVERY_THIRD = [n for n in range(48) if n % 3 == 0 or n < 9]


@pytest.mark.parametrize(("name", "options", "pixels"), [
    ("h264.mp4", X264, "yuv420p"),
    ("h264.mkv", X264, "yuv420p"),
    ("h264.avi", X264, "yuv420p"),  # with B-frames
    ("h264.mov", (*X264, "-movflags", "frag_keyframe+empty_moov"), "yuv420p"),
    ("h264.ts", X264, "yuv420p"),
    ("vp9.webm", ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"), "yuv420p"),
    ("av1.mp4", ("-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime"), "yuv420p"),
    ("hevc.mp4", ("-c:v", "libx265", "-preset", "ultrafast"), "yuv420p10le"),
    ("full.mp4", X264, "yuv444p"),
])  # fmt: skip
def test_every_kind_of_file_gives_its_frames(tmp_path: Path, name: str, options: tuple[str, ...], pixels: str) -> None:
    path = barcode_video(tmp_path / name, 48, options, pixels=pixels)
    index = packet_index(path)
    assert index.frames == 48
    assert not index.variable_rate
    assert index.fps == pytest.approx(24, rel=1e-3)
    assert index.times[0] == 0
    assert index.duration_s == pytest.approx(2, abs=0.01)
    assert numbers(read_frames(path, [0, 13, 24, 47])) == [0, 13, 24, 47]
    assert count_decodable(path) == 48


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_variable_rate(tmp_path: Path, suffix: str) -> None:
    path = barcode_video(tmp_path / f"variable.{suffix}", 48, X264, before=EVERY_THIRD)
    index = packet_index(path)
    assert index.variable_rate
    assert index.frames == len(SHOWN_BY_EVERY_THIRD)
    assert np.allclose(index.times, [n / 24 for n in SHOWN_BY_EVERY_THIRD], atol=0.002)
    assert numbers(read_frames(path, range(index.frames))) == SHOWN_BY_EVERY_THIRD


def test_rotation_is_undone(barcode: Path, tmp_path: Path) -> None:
    wide = barcode_video(tmp_path / "wide.mp4", 4, width=128, height=64)
    turned = tmp_path / "turned.mp4"
    run_ffmpeg("-display_rotation", "90", "-i", wide, "-c", "copy", turned)
    index = packet_index(turned)
    assert (index.width, index.height, index.rotation) == (64, 128, 90)
    upright, rotated = read_frames(wide, [3])[0], read_frames(turned, [3])[0]
    assert np.array_equal(rotated, np.rot90(upright))
    assert read_frames(turned, [0], size=(32, 64)).shape == (1, 64, 32, 3)


def test_indices_may_repeat_and_come_in_any_order(barcode: Path) -> None:
    assert numbers(read_frames(barcode, [40, 3, 3, 17])) == [40, 3, 3, 17]
    with pytest.raises(MediaError, match="frame 48 of 48"):
        read_frames(barcode, [48])
    assert read_frames(barcode, []).shape == (0, 0, 0, 3)
    assert read_frames(barcode, [], size=(20, 10)).shape == (0, 10, 20, 3)


def lying(path: Path, mark: bytes, after: int, kind: str, value: float) -> Path:
    """A file with another number behind a mark in its header."""
    content = bytearray(path.read_bytes())
    struct.pack_into(kind, content, content.index(mark) + after, value)
    path.write_bytes(content)
    return path


def test_bad_files_have_a_name(tmp_path: Path, barcode: Path) -> None:
    whole, sound, page = tmp_path / "whole.mp4", tmp_path / "sound.mp4", tmp_path / "page.mp4"
    run_ffmpeg("-i", barcode, "-c", "copy", whole)  # its index comes last
    run_ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", sound)
    page.write_text("<html>This video is not available</html>")
    (tmp_path / "empty.mp4").touch()
    with zipfile.ZipFile(tmp_path / "zip.mp4", "w") as archive:
        archive.write(barcode)
    long = barcode_video(tmp_path / "long.mkv", 120)
    cases = {
        "missing": [tmp_path / "nothing.mp4"],
        "empty": [tmp_path / "empty.mp4"],
        "not_media": [page, tmp_path / "zip.mp4"],
        "no_video": [sound],
        "truncated": [
            truncated(barcode, tmp_path / "cut.mp4"),
            truncated(whole, tmp_path / "without_index.mp4"),
            truncated(long, tmp_path / "cut.mkv", 0.4),
            lying(barcode_video(tmp_path / "lying.mkv"), b"\x44\x89\x88", 3, ">d", 100_000.0),
        ],
    }
    for status, paths in cases.items():
        for path in paths:
            with pytest.raises(MediaError) as caught:
                packet_index(path)
            assert caught.value.status == status and str(tmp_path) not in caught.value.message, path


def test_damage_in_the_middle_is_found(barcode: Path, tmp_path: Path) -> None:
    content = bytearray(barcode.read_bytes())
    start = content.index(b"mdat") + len(content) // 3
    content[start : start + 600] = bytes(600)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(content)
    with pytest.raises(MediaError) as caught:
        count_decodable(path)
    assert caught.value.status == "corrupt"
