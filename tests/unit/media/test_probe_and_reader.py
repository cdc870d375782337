"""Test that every kind of file gives exactly its frames, also when only the groups of the selected frames are decoded."""

from pathlib import Path

import numpy as np
import pytest
from reprise.media.decoder import count_decodable, iter_frames, read_frames
from reprise.media.errors import MediaError
from reprise.media.probe import read_packet_index

from tests.unit.videos import RATE, barcode_video, read_barcodes, run_ffmpeg

FRAME_COUNT = 96
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-g", "12", "-bf", "3")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params")
EVERY_THIRD = ("-vf", "select='not(mod(n,3))+lt(n,9)'", "-fps_mode", "vfr")
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "closed groups": ("a.mp4", X264),
    "open groups": ("a.mp4", (*X264, "-x264-params", "open-gop=1:scenecut=0:b-pyramid=2")),
    "a transport stream": ("a.ts", X264),
    "intra refresh": ("a.mp4", (*X264, "-bf", "0", "-x264-params", "intra-refresh=1:scenecut=0")),
    "interlaced": ("a.mp4", (*X264, "-flags", "+ilme+ildct", "-x264-params", "interlaced=1")),
    "fragments": ("a.mov", (*X264, "-movflags", "frag_keyframe+empty_moov")),
    "full colour": ("a.mp4", (*X264, "-pix_fmt", "yuv444p")),
    "HEVC, closed": ("a.mp4", (*X265, "keyint=12:min-keyint=12:open-gop=0:bframes=4:log-level=error")),
    "HEVC, open, ten bits": ("a.mp4", (*X265, "keyint=12:min-keyint=12:open-gop=1:bframes=4:log-level=error", "-pix_fmt", "yuv420p10le")),
    "VP9": ("a.webm", ("-c:v", "libvpx-vp9", "-g", "12", "-deadline", "good", "-cpu-used", "5", "-auto-alt-ref", "1", "-lag-in-frames", "16")),
    "AV1": ("a.mp4", ("-c:v", "libaom-av1", "-g", "12", "-cpu-used", "8", "-usage", "realtime")),
    "MPEG-4": ("a.mp4", ("-c:v", "mpeg4", "-g", "12", "-bf", "2")),
    "MPEG-2": ("a.ts", ("-c:v", "mpeg2video", "-g", "12", "-bf", "2")),
    "keyframes only": ("a.mkv", ("-c:v", "mjpeg", "-q:v", "5")),
    "AVI": ("a.avi", X264),
    "variable rate": ("a.mp4", X264),
    "variable rate in milliseconds": ("a.mkv", X264),
    "trimmed by an edit list": ("a.mp4", X264),
}  # fmt: skip
# These kinds have no marked random access points, so the decoder starts at the beginning.
WITHOUT_RANDOM_ACCESS = {"open groups", "intra refresh", "AVI"}


def list_every_third(frame_count: int) -> list[int]:
    """Return the frame numbers that EVERY_THIRD keeps."""
    return [number for number in range(frame_count) if number % 3 == 0 or number < 9]


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_of_file_gives_its_frames(kind: str, tmp_path: Path) -> None:
    """The decoder gives all frames, and the same pixels if it decodes selected frames only."""
    name, options = FILES[kind]
    is_variable = kind.startswith("variable")
    frame_numbers = list_every_third(FRAME_COUNT) if is_variable else list(range(FRAME_COUNT))
    frame_selection = EVERY_THIRD if is_variable else ()
    path = barcode_video(tmp_path / name, FRAME_COUNT, options, extra_options=frame_selection, width=96, height=64)
    if kind.startswith("trimmed"):
        run_ffmpeg("-ss", "1.3", "-i", path, "-c", "copy", tmp_path / "cut.mp4")
        path, frame_numbers = tmp_path / "cut.mp4", frame_numbers[32:]
    index, all_frames = read_packet_index(path), np.stack([frame.image for frame in iter_frames(path)])
    assert read_barcodes(all_frames) == frame_numbers and count_decodable(path) == index.frame_count == len(
        frame_numbers
    )
    assert np.allclose(index.times, [(number - frame_numbers[0]) / RATE for number in frame_numbers], atol=0.002)
    assert index.is_variable_rate == is_variable and (is_variable or index.fps == pytest.approx(RATE, rel=1e-3))
    assert index.duration_s == pytest.approx(index.times[-1] + (3 if is_variable else 1) / RATE, abs=0.01)
    assert (len(index.random_access_points) > 1 and index.is_timed) == (kind not in WITHOUT_RANDOM_ACCESS), (
        index.random_access_points
    )
    last = index.frame_count - 1
    plans = [[number] for number in range(0, index.frame_count, 5)]
    plans += [[0, last], [last // 3, last // 2, last], [*range(5, last, 11)], [7, 8, last - 1]]
    for plan in plans:
        assert np.array_equal(read_frames(path, plan), all_frames[plan]), plan


def test_indices_may_repeat_and_come_in_any_order(barcode: Path) -> None:
    assert read_barcodes(read_frames(barcode, [40, 3, 3, 17])) == [40, 3, 3, 17]
    with pytest.raises(MediaError, match="frame 48 of 48"):
        read_frames(barcode, [48])
    assert read_frames(barcode, []).shape == (0, 0, 0, 3)
    assert read_frames(barcode, [], size=(20, 10)).shape == (0, 10, 20, 3)
