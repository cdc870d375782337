"""Trims start and end on the right frame, concatenations know their black span, and both are the same every time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from reprise.media.black import black_runs, check_black, separating_span
from reprise.media.decoder import read_frames
from reprise.media.encode import concatenate, still_clip, trim
from reprise.media.probe import packet_index
from reprise.media.settings import Concat, Encode, Images

from tests.unit.media.test_probe_and_reader import EVERY_THIRD, shown_by_every_third
from tests.unit.videos import X264, barcode_video, numbers, run_ffmpeg

FAST = Encode(preset="ultrafast", crf=12)
Spans = list[tuple[float, float, int, int]]


def shown(path: Path) -> list[int]:
    return numbers(read_frames(path, range(packet_index(path).frames)))


@pytest.mark.parametrize(("name", "options", "more", "spans"), [
    ("a.mp4", X264, {}, [(0.0, 1.0, 0, 23), (0.51, 1.5, 13, 35), (1.0, 2.4, 24, 47), (0.25, 0.2917, 6, 6)]),
    ("a.ts", X264, {}, [(0.5, 1.5, 12, 35)]),
    ("a.avi", X264, {}, [(0.5, 1.5, 12, 35)]),  # whose packets do not say when they are shown
    ("long.mp4", (*X264, "-g", "150"), {"frames": 240, "rate": "10"}, [(13.7, 14.2, 137, 141)]),  # far in: it seeks
    ("ten.mp4", ("-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le"), {}, [(0, 0.5, 0, 11)]),
    ("odd.mp4", (*X264, "-pix_fmt", "yuv444p"), {"width": 129, "height": 97}, [(0, 1, 0, 23)]),
])  # fmt: skip
def test_trim_is_frame_exact(name: str, options: tuple[str, ...], more: dict[str, Any], spans: Spans, tmp_path: Path) -> None:  # fmt: skip
    source = barcode_video(tmp_path / name, options=options, **more)
    for start, end, first, last in spans:
        assert trim(source, start, end, tmp_path / "cut.mp4", FAST) == last - first + 1
        assert shown(tmp_path / "cut.mp4") == list(range(first, last + 1))
    index = packet_index(tmp_path / "cut.mp4")
    assert (index.width, index.height) == (128, more.get("height", 128) // 2 * 2)


def test_trim_counts_on_the_players_clock_when_sound_starts_earlier(barcode: Path, tmp_path: Path) -> None:
    source = tmp_path / "late.mkv"
    run_ffmpeg("-itsoffset", "1", "-i", barcode, "-f", "lavfi", "-i", "sine=d=3", "-c:v", "copy", "-c:a", "aac", source)
    assert packet_index(source).lead_s == pytest.approx(1, abs=0.1)
    trim(source, 1.5, 2.0, tmp_path / "cut.mp4", FAST)
    assert shown(tmp_path / "cut.mp4") == list(range(12, 24))


def test_trim_of_a_variable_rate_keeps_every_frame(tmp_path: Path) -> None:
    source = barcode_video(tmp_path / "variable.mp4", before=EVERY_THIRD)
    trim(source, 0.2, 1.5, tmp_path / "cut.mp4", FAST)
    expected = [n for n in shown_by_every_third(48) if 0.2 <= n / 24 < 1.5]
    assert shown(tmp_path / "cut.mp4") == expected
    times = packet_index(tmp_path / "cut.mp4").times
    assert np.allclose(times, [(n - expected[0]) / 24 for n in expected], atol=0.002)


def test_concatenation_of_clips_of_unlike_size_rate_and_pixel_shape(tmp_path: Path) -> None:
    first = barcode_video(tmp_path / "first.mp4", 25, width=96, height=64, rate="25")
    second = barcode_video(tmp_path / "second.mp4", 30, rate="30000/1001", before=("-vf", "setsar=64/45"))
    target = tmp_path / "joined.mp4"
    concatenate(first, second, target, FAST, Concat())
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
