"""Trims start and end on the right frame, concatenations know their black span, and both are the same every time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from reprise.core.errors import MachineError
from reprise.media.black import black_runs, check_black, separating_span
from reprise.media.decoder import read_frames
from reprise.media.encode import concatenate, still_clip, trim
from reprise.media.errors import MediaError
from reprise.media.probe import packet_index
from reprise.media.settings import Concat, Encode, Images

from tests.unit.media.test_probe_and_reader import EVERY_THIRD, SHOWN_BY_EVERY_THIRD
from tests.unit.videos import X264, barcode_video, numbers, run_ffmpeg

FAST = Encode(preset="ultrafast", crf=12)


def shown(path: Path) -> list[int]:
    return numbers(read_frames(path, range(packet_index(path).frames)))


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(0.0, 1.0, 0, 23), (0.51, 1.5, 13, 35), (1.0, 2.0, 24, 47), (1.0, 2.4, 24, 47), (0.25, 0.2917, 6, 6)],
)
def test_trim_is_frame_exact(barcode: Path, tmp_path: Path, start: float, end: float, first: int, last: int) -> None:
    assert trim(barcode, start, end, tmp_path / "clip.mp4", FAST) == last - first + 1
    assert shown(tmp_path / "clip.mp4") == list(range(first, last + 1))


@pytest.mark.parametrize(("name", "options", "more", "start", "end", "first", "last"), [
    ("a.ts", X264, {}, 0.5, 1.5, 12, 35),
    ("a.avi", X264, {}, 0.5, 1.5, 12, 35),  # whose packets do not say when they are shown
    ("long.mp4", (*X264, "-g", "150"), {"frames": 240, "rate": "10"}, 13.7, 14.2, 137, 141),  # far in: it seeks
    ("ten.mp4", ("-c:v", "libx265", "-preset", "ultrafast"), {"pixels": "yuv420p10le"}, 0, 0.5, 0, 11),
])  # fmt: skip
def test_trim_of_other_videos(
    name: str, options: tuple[str, ...], more: dict[str, Any], start: float, end: float, first: int, last: int, tmp_path: Path
) -> None:  # fmt: skip
    trim(barcode_video(tmp_path / name, options=options, **more), start, end, tmp_path / "cut.mp4", FAST)
    assert shown(tmp_path / "cut.mp4") == list(range(first, last + 1))


def test_trim_of_an_odd_size(tmp_path: Path) -> None:
    trim(barcode_video(tmp_path / "odd.mp4", width=129, height=97, pixels="yuv444p"), 0, 1, tmp_path / "cut.mp4", FAST)
    assert (packet_index(tmp_path / "cut.mp4").width, packet_index(tmp_path / "cut.mp4").height) == (128, 96)


def test_trim_counts_on_the_players_clock_when_sound_starts_earlier(barcode: Path, tmp_path: Path) -> None:
    source = tmp_path / "late.mkv"
    run_ffmpeg("-itsoffset", "1", "-i", barcode, "-f", "lavfi", "-i", "sine=d=3", "-c:v", "copy", "-c:a", "aac", source)
    assert packet_index(source).lead_s == pytest.approx(1, abs=0.1)
    trim(source, 1.5, 2.0, tmp_path / "cut.mp4", FAST)
    assert shown(tmp_path / "cut.mp4") == list(range(12, 24))


def test_trim_of_a_variable_rate_keeps_every_frame(tmp_path: Path) -> None:
    source = barcode_video(tmp_path / "variable.mp4", before=EVERY_THIRD)
    trim(source, 0.2, 1.5, tmp_path / "cut.mp4", FAST)
    expected = [n for n in SHOWN_BY_EVERY_THIRD if 0.2 <= n / 24 < 1.5]
    assert shown(tmp_path / "cut.mp4") == expected
    times = packet_index(tmp_path / "cut.mp4").times
    assert np.allclose(times, [(n - expected[0]) / 24 for n in expected], atol=0.002)


def test_spans_that_cannot_be_cut(barcode: Path, tmp_path: Path) -> None:
    bad, beyond = [(1.0, 1.0), (-1.0, 1.0), (float("nan"), 1.0)], [(1.0, 3.0), (2.1, 2.3)]
    for start, end in (*bad, *beyond):
        with pytest.raises(MediaError) as caught:
            trim(barcode, start, end, tmp_path / "cut.mp4", FAST)
        assert caught.value.status == ("bad_range" if (start, end) in bad else "out_of_range")
        assert not (tmp_path / "cut.mp4").exists()


def test_a_full_disk_is_no_result(barcode: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.mp4"
    target.symlink_to("/dev/full")
    with pytest.raises(MachineError, match="No space left on device.*make room"):
        trim(barcode, 0, 1, target, FAST)


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two clips of unlike size, rate and pixel shape."""
    folder = tmp_path_factory.mktemp("unlike")
    squeezed = ("-vf", "setsar=64/45")
    first = barcode_video(folder / "first.mp4", 25, X264, width=96, height=64, rate="25")
    second = barcode_video(folder / "second.mp4", 30, X264, rate="30000/1001", before=squeezed)
    return first, second


def test_concatenation_of_unlike_clips(unlike: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "joined.mp4"
    concatenate(*unlike, target, FAST, Concat())
    index = packet_index(target)
    assert not index.variable_rate
    assert (index.width, index.height) == (182, 128)
    assert index.fps == pytest.approx(30000 / 1001, rel=1e-4)
    start, end = separating_span(target, 2.0, expected_start_s=1.0)
    check_black(target, start, end)
    assert start == pytest.approx(30, abs=1)
    assert end - start == 60
    assert index.frames - end == pytest.approx(30, abs=1)
    assert black_runs(target) == [(start, end)]


def test_own_fade_to_black_is_not_taken_for_the_separator(tmp_path: Path) -> None:
    fading = ("-vf", "drawbox=t=fill:color=black:enable='between(n,6,59)'")
    first, second = (barcode_video(tmp_path / name, 72, before=fading) for name in ("first.mp4", "second.mp4"))
    target = tmp_path / "joined.mp4"
    concatenate(first, second, target, FAST, Concat())
    assert separating_span(target, 2.0, expected_start_s=3.0) == (72, 120)
    assert len(black_runs(target)) == 3


def test_a_span_that_is_not_black_is_refused(barcode: Path) -> None:
    for span in (None, (10, 20), (0, 5), (40, 48)):
        with pytest.raises(MediaError) as caught:
            check_black(barcode, *span) if span else separating_span(barcode, 2.0)
        assert caught.value.status == "no_black"


def test_a_clip_of_still_images_shows_the_images_themselves(tmp_path: Path) -> None:
    """Noise of an odd size, which a lossy encode or one of half the colours would change; a larger one is scaled."""
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    Image.new("RGB", (290, 64), "white").save(tmp_path / "white.png")
    still_clip([tmp_path / "noise.png", tmp_path / "white.png"], tmp_path / "still.mp4", FAST, Images(frames=4, fps=4))
    index = packet_index(tmp_path / "still.mp4")
    assert (index.frames, index.fps, index.width, index.height) == (8, 4.0, 53, 37)
    frames = read_frames(tmp_path / "still.mp4", range(8))
    assert all(np.array_equal(frame, noise) for frame in frames[:4])
    assert (frames[4:, 18, 26] > 250).all() and not frames[4:, 0].any(), "white, between black bars"
