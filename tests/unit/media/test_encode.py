"""Test that trims start and end on the exact frame, and that concatenations report their black span."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from reprise.media.black import find_black_runs, find_separating_span
from reprise.media.decoder import read_frames
from reprise.media.encode import concatenate, encode_still_clip, trim
from reprise.media.errors import MediaError
from reprise.media.probe import read_packet_index
from reprise.media.settings import Concat, Encode, Images

from tests.unit.media.test_probe_and_reader import EVERY_THIRD, list_every_third
from tests.unit.videos import X264, barcode_frame, barcode_video, changing_video, read_barcodes, run_ffmpeg

FAST = Encode(preset="ultrafast", crf=12)
Spans = list[tuple[float, float, int, int]]


def read_frame_numbers(path: Path) -> list[int]:
    return read_barcodes(read_frames(path, range(read_packet_index(path).frame_count)))


@pytest.mark.parametrize(("name", "options", "video_options", "spans"), [
    ("a.mp4", X264, {}, [(0.0, 1.0, 0, 23), (0.51, 1.5, 13, 35), (1.0, 2.4, 24, 47), (0.25, 0.2917, 6, 6)]),
    ("a.ts", X264, {}, [(0.5, 1.5, 12, 35)]),
    ("a.avi", X264, {}, [(0.5, 1.5, 12, 35)]),  # packets without presentation times
    ("long.mp4", (*X264, "-g", "150"), {"frame_count": 240, "rate": "10"}, [(13.7, 14.2, 137, 141)]),  # a late span requires a seek
    ("ten.mp4", ("-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le"), {}, [(0, 0.5, 0, 11)]),
    ("odd.mp4", (*X264, "-pix_fmt", "yuv444p"), {"width": 129, "height": 97}, [(0, 1, 0, 23)]),
])  # fmt: skip
def test_trim_is_frame_exact(name: str, options: tuple[str, ...], video_options: dict[str, Any], spans: Spans, tmp_path: Path) -> None:  # fmt: skip
    source = barcode_video(tmp_path / name, encoding=options, **video_options)
    for start, end, first, last in spans:
        assert trim(source, start, end, tmp_path / "cut.mp4", FAST) == last - first + 1
        assert read_frame_numbers(tmp_path / "cut.mp4") == list(range(first, last + 1))
    index = read_packet_index(tmp_path / "cut.mp4")
    assert (index.width, index.height) == (128, video_options.get("height", 128) // 2 * 2)


def test_trim_counts_from_the_start_of_the_audio_if_it_starts_earlier(barcode: Path, tmp_path: Path) -> None:
    source = tmp_path / "late.mkv"
    run_ffmpeg("-itsoffset", "1", "-i", barcode, "-f", "lavfi", "-i", "sine=d=3", "-c:v", "copy", "-c:a", "aac", source)
    assert read_packet_index(source).start_offset_s == pytest.approx(1, abs=0.1)
    trim(source, 1.5, 2.0, tmp_path / "cut.mp4", FAST)
    assert read_frame_numbers(tmp_path / "cut.mp4") == list(range(12, 24))


def test_a_span_within_a_frozen_picture_is_named(tmp_path: Path) -> None:
    freeze_options = ("-vf", "setpts='if(lt(N,20),N,N+500)/24/TB'", "-fps_mode", "passthrough")
    path = barcode_video(tmp_path / "a.mp4", 40, extra_options=freeze_options)
    with pytest.raises(MediaError, match=r"no frame begins in \[5, 9\) s"):
        trim(path, 5.0, 9.0, tmp_path / "b.mp4", Encode())


def test_frames_that_share_one_timestamp_are_rejected(tmp_path: Path) -> None:
    still_options = ("-vf", "setpts=0", "-fps_mode", "passthrough", "-bf", "0")
    path = barcode_video(tmp_path / "a.mkv", 5, (*X264, *still_options))
    with pytest.raises(MediaError, match="all 5 frames have the same time") as caught:
        read_packet_index(path)
    assert caught.value.status == "corrupt"


def test_trim_of_a_variable_rate_keeps_every_frame(tmp_path: Path) -> None:
    source = barcode_video(tmp_path / "variable.mp4", extra_options=EVERY_THIRD)
    trim(source, 0.2, 1.5, tmp_path / "cut.mp4", FAST)
    expected = [number for number in list_every_third(48) if 0.2 <= number / 24 < 1.5]
    assert read_frame_numbers(tmp_path / "cut.mp4") == expected
    times = read_packet_index(tmp_path / "cut.mp4").times
    assert np.allclose(times, [(number - expected[0]) / 24 for number in expected], atol=0.002)


def test_clips_of_different_size_rate_and_pixel_shape_are_concatenated(tmp_path: Path) -> None:
    """The pixel aspect ratio is ignored, as in the decoder."""
    first = barcode_video(tmp_path / "first.mp4", 25, width=96, height=64, rate="25")
    second = barcode_video(tmp_path / "second.mp4", 30, rate="30000/1001", extra_options=("-vf", "setsar=64/45"))
    target = tmp_path / "joined.mp4"
    concatenation = concatenate(first, second, target, FAST, Concat())
    index = read_packet_index(target)
    assert not index.is_variable_rate
    assert (index.width, index.height, index.sample_aspect_ratio) == (128, 128, "1:1")
    assert read_packet_index(second).sample_aspect_ratio == "64:45"
    assert index.fps == pytest.approx(30000 / 1001, rel=1e-4)
    assert concatenation == (128, 128, Fraction(30000, 1001), 30, 60, 30)
    assert index.frame_count == concatenation.frame_count == 120
    assert (
        find_black_runs(target)
        == [concatenation.black_span]
        == [find_separating_span(target, 2.0, expected_start_s=1.0)]
    )
    assert read_frame_numbers(target)[90:] == list(range(30))


def test_the_black_span_is_exact_next_to_fades_and_black_parts(tmp_path: Path) -> None:
    """The first part fades out, the second fades in, or a part is completely black."""
    fade_out = ("-vf", "drawbox=t=fill:color=black:enable='gte(n,40)'")
    fade_in = ("-vf", "drawbox=t=fill:color=black:enable='lt(n,30)'")
    fading = barcode_video(tmp_path / "ends.mp4", 48, extra_options=fade_out)
    rising = barcode_video(tmp_path / "begins.mp4", 60, extra_options=fade_in)
    black = barcode_video(tmp_path / "black.mp4", 24, extra_options=("-vf", "drawbox=t=fill:color=black"))
    target = tmp_path / "joined.mp4"
    for first, second, spans in (
        (fading, rising, ((48, 96), [(40, 126)])),
        (black, rising, ((24, 72), [(0, 102)])),
        (fading, black, ((48, 96), [(40, 120)])),
        (black, black, ((24, 72), [(0, 96)])),
    ):
        assert concatenate(first, second, target, FAST, Concat()).black_span == spans[0]
        assert find_black_runs(target) == spans[1]
        # For a released concatenation, the lengths of its parts give the expected start.
        assert find_separating_span(target, 2.0, spans[0][0] / 24) == spans[0]


def test_black_frames_within_a_part_are_not_the_separator(tmp_path: Path) -> None:
    fading = ("-vf", "drawbox=t=fill:color=black:enable='between(n,6,59)'")
    first, second = (barcode_video(tmp_path / name, 72, extra_options=fading) for name in ("first.mp4", "second.mp4"))
    target = tmp_path / "joined.mp4"
    assert concatenate(first, second, target, FAST, Concat()).black_span == (72, 120)
    assert find_separating_span(target, 2.0, expected_start_s=3.0) == (72, 120)
    assert len(find_black_runs(target)) == 3


def test_a_change_of_frame_size_and_pixel_format_loses_no_frame(tmp_path: Path) -> None:
    part, target = changing_video(tmp_path / "part.ts"), tmp_path / "clip.mp4"
    expected_numbers = [*range(24)] * 3
    assert read_frame_numbers(part) == expected_numbers
    concatenation = concatenate(part, part, target, FAST, Concat(black_s=0.5))
    assert concatenation == (128, 64, Fraction(24), 72, 12, 72)
    frame_numbers = read_frame_numbers(target)
    assert frame_numbers[:72] == frame_numbers[84:] == expected_numbers
    for start, end in ((0.0, 3.0), (0.5, 1.5), (1.25, 1.75)):
        trim(part, start, end, target, FAST)
        assert read_frame_numbers(target) == expected_numbers[round(start * 24) : round(end * 24)]
        assert (read_packet_index(target).width, read_packet_index(target).height) == (128, 64)


def test_a_part_that_loses_frames_is_rejected(tmp_path: Path) -> None:
    """ffmpeg omits pictures that it cannot decode and still exits with status 0."""
    mjpeg_options = ("-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p", "-movflags", "+faststart")
    part, target = barcode_video(tmp_path / "part.mov", encoding=mjpeg_options), tmp_path / "joined.mp4"
    content = part.read_bytes()
    part.write_bytes(content[: len(content) * 3 // 4] + bytes(len(content) // 4))
    with pytest.raises(MediaError, match=r"wrote \d+ frames, expected 108") as caught:
        concatenate(part, part, target, FAST, Concat(black_s=0.5))
    assert caught.value.status == "encode_failed" and not target.exists()


def test_parts_of_different_colour_matrix_and_range_keep_their_colours(tmp_path: Path) -> None:
    """High definition, old footage and a phone's full range are each converted by their stated colours."""
    options_by_kind = {
        "bt709": ("-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-pix_fmt", "yuv420p"),
        "unstated": ("-pix_fmt", "yuv420p"),
        "full": ("-vf", "scale=out_range=full", "-color_range", "pc", "-pix_fmt", "yuvj420p"),
    }
    for name, options in options_by_kind.items():
        run_ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x96:r=24:d=0.5", *X264, *options, tmp_path / f"{name}.mp4")
    target = tmp_path / "joined.mp4"
    for first, second in (("bt709", "unstated"), ("unstated", "bt709"), ("full", "bt709")):
        concatenation = concatenate(
            tmp_path / f"{first}.mp4", tmp_path / f"{second}.mp4", target, FAST, Concat(black_s=0.5)
        )
        for name, start in ((first, 0), (second, concatenation.black_span[1])):
            part, joined = read_frames(tmp_path / f"{name}.mp4", [5]), read_frames(target, [start + 5])
            assert np.abs(part.astype(int) - joined).mean() < 3, (first, second, name)


def test_identical_parts_and_pictures_can_be_joined(tmp_path: Path, barcode: Path) -> None:
    concatenate(barcode, barcode, tmp_path / "joined.mp4", FAST, Concat())
    frame_numbers = read_frame_numbers(tmp_path / "joined.mp4")
    assert frame_numbers[:48] == frame_numbers[96:] == list(range(48))
    picture = tmp_path / "picture.png"
    Image.fromarray(barcode_frame(5)).save(picture)
    encode_still_clip([picture] * 3, tmp_path / "still.mp4", FAST, Images(frames=5, fps=7))
    assert read_frame_numbers(tmp_path / "still.mp4") == [5] * 15


@pytest.mark.parametrize(("frame_count", "fps"), [(5, 7), (1, 30), (3, 24), (100, 3)])
def test_each_still_image_is_shown_as_often_as_configured(frame_count: int, fps: int, tmp_path: Path) -> None:
    for number in (1, 2):
        Image.fromarray(barcode_frame(number)).save(tmp_path / f"{number}.png")
    encode_still_clip(
        [tmp_path / "1.png", tmp_path / "2.png"], tmp_path / "still.mp4", FAST, Images(frames=frame_count, fps=fps)
    )
    assert read_frame_numbers(tmp_path / "still.mp4") == [1] * frame_count + [2] * frame_count


@pytest.mark.parametrize("name", ["two.mp4", "two.mkv"])
def test_the_first_video_stream_is_used_although_another_is_the_default(name: str, tmp_path: Path) -> None:
    first, second = barcode_video(tmp_path / "a.mp4", 48), barcode_video(tmp_path / "b.mp4", 30, width=192)
    flags = ("-disposition:v:0", "0", "-disposition:v:1", "default")
    run_ffmpeg("-i", first, "-i", second, "-map", "0:v", "-map", "1:v", "-c", "copy", *flags, tmp_path / name)
    index = read_packet_index(tmp_path / name)
    assert (index.stream_number, index.video_stream_count, index.frame_count, index.width) == (0, 2, 48, 128)
    assert read_frame_numbers(tmp_path / name) == list(range(48))
    trim(tmp_path / name, 0.5, 1.0, tmp_path / "cut.mp4", FAST)
    assert read_frame_numbers(tmp_path / "cut.mp4") == list(range(12, 24))


def test_a_cover_picture_is_not_the_video(tmp_path: Path, barcode: Path) -> None:
    """A cover is the first stream of the file, but clips are cut from the video stream."""
    Image.new("RGB", (300, 300), "red").save(tmp_path / "cover.jpg")
    run_ffmpeg(
        "-i", tmp_path / "cover.jpg", "-i", barcode, "-map", "0", "-map", "1", "-c", "copy",
        "-disposition:v:0", "attached_pic", tmp_path / "covered.mp4",
    )  # fmt: skip
    index = read_packet_index(tmp_path / "covered.mp4")
    assert (index.video_stream_count, index.frame_count) == (1, 48)
    concatenate(tmp_path / "covered.mp4", barcode, tmp_path / "joined.mp4", FAST, Concat(black_s=1))
    assert read_frame_numbers(tmp_path / "joined.mp4")[:48] == list(range(48))
    trim(tmp_path / "covered.mp4", 0.5, 1.0, tmp_path / "cut.mp4", FAST)
    assert read_frame_numbers(tmp_path / "cut.mp4") == list(range(12, 24))


def test_a_clip_of_still_images_is_lossless(tmp_path: Path) -> None:
    """Noise of an odd size would change with lossy encoding or chroma subsampling; a larger image is scaled."""
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    Image.new("RGB", (290, 64), "white").save(tmp_path / "white.png")
    encode_still_clip(
        [tmp_path / "noise.png", tmp_path / "white.png"], tmp_path / "still.mp4", FAST, Images(frames=4, fps=4)
    )
    index = read_packet_index(tmp_path / "still.mp4")
    assert (index.frame_count, index.fps, index.width, index.height) == (8, 4.0, 53, 37)
    frames = read_frames(tmp_path / "still.mp4", range(8))
    assert all(np.array_equal(frame, noise) for frame in frames[:4])
    assert (frames[4:, 18, 26] > 250).all() and not frames[4:, 0].any(), "a white picture between black bars"
