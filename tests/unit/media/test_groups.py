"""Frames that are read by their groups alone have the pixels of a decoding from the start, in every kind of file."""

from pathlib import Path

import numpy as np
import pytest
from reprise.media.decoder import iter_frames, read_frames
from reprise.media.probe import packet_index

from tests.unit.videos import barcode_video, run_ffmpeg

COUNT = 96
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "30")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params")
VARIABLE = ("-vf", "select='not(mod(n,3))+lt(n,9)'", "-fps_mode", "vfr")
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "closed groups": ("a.mp4", (*X264, "-g", "12", "-bf", "3")),
    "open groups": ("a.mp4", (*X264, "-g", "12", "-bf", "3", "-x264-params", "open-gop=1:scenecut=0:b-pyramid=2")),
    "open groups in a transport stream": ("a.ts", (*X264, "-g", "12", "-x264-params", "open-gop=1:scenecut=0")),
    "refreshed in columns": ("a.mp4", (*X264, "-g", "12", "-x264-params", "intra-refresh=1:scenecut=0")),
    "interlaced": ("a.mp4", (*X264, "-g", "12", "-flags", "+ilme+ildct", "-x264-params", "interlaced=1")),
    "fragments": ("a.mov", (*X264, "-g", "12", "-movflags", "frag_keyframe+empty_moov")),
    "HEVC, closed": ("a.mp4", (*X265, "keyint=12:min-keyint=12:open-gop=0:bframes=4:log-level=error")),
    "HEVC, open": ("a.mp4", (*X265, "keyint=12:min-keyint=12:open-gop=1:bframes=4:log-level=error")),
    "VP9": ("a.webm", ("-c:v", "libvpx-vp9", "-g", "12", "-deadline", "good", "-cpu-used", "5", "-auto-alt-ref", "1", "-lag-in-frames", "16")),
    "AV1": ("a.mp4", ("-c:v", "libaom-av1", "-g", "12", "-cpu-used", "8", "-usage", "realtime")),
    "MPEG-4": ("a.mp4", ("-c:v", "mpeg4", "-g", "12", "-bf", "2")),
    "MPEG-2": ("a.ts", ("-c:v", "mpeg2video", "-g", "12", "-bf", "2")),
    "pictures alone": ("a.mkv", ("-c:v", "mjpeg", "-q:v", "5")),
    "AVI": ("a.avi", (*X264, "-g", "12", "-bf", "2")),
    "variable rate": ("a.mp4", (*X264, "-g", "12", *VARIABLE)),
    "cut by an edit list": ("cut.mp4", (*X264, "-g", "12", "-bf", "3")),
}  # fmt: skip
# Nothing says of these where decoding may begin later: all is decoded.
WITHOUT_ENTRIES = {"refreshed in columns", "AVI"}


@pytest.fixture(params=FILES, scope="module")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name, options = FILES[request.param]
    folder = tmp_path_factory.mktemp("groups")
    is_variable = request.param == "variable rate"
    own, before = (options[: -len(VARIABLE)], VARIABLE) if is_variable else (options, ())
    path = barcode_video(folder / f"whole{Path(name).suffix}", COUNT, own, before=before, width=96, height=64)
    if name.startswith("cut"):
        run_ffmpeg("-ss", "1.3", "-i", path, "-c", "copy", folder / name)
        return request.param, folder / name
    return request.param, path


def test_frames_of_some_groups_are_those_of_a_decoding_from_the_start(file: tuple[str, Path]) -> None:
    name, path = file
    whole, index = [frame.image for frame in iter_frames(path)], packet_index(path)
    assert (len(index.entries) > 1 and index.is_timed) == (name not in WITHOUT_ENTRIES), index.entries
    last = index.frames - 1
    plans = [[n] for n in range(0, index.frames, 5)]
    plans += [[0, last], [last // 3, last // 2, last], [*range(5, last, 11)], [7, 8, last - 1]]
    for plan in plans:
        found = read_frames(path, plan)
        for number, picture in zip(plan, found, strict=True):
            assert np.array_equal(picture, whole[number]), (number, plan)
