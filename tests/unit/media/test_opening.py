"""Test that only listed formats are opened whatever a file's name, and that oversized sources are rejected with a reason."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reprise.media.decoder import count_decodable
from reprise.media.encode import encode_still_clip, trim
from reprise.media.errors import MediaError
from reprise.media.opening import check_picture
from reprise.media.probe import read_packet_index
from reprise.media.settings import Encode, Images, Limits
from reprise.stages.sources import check_decodes

from tests.unit.videos import run_ffmpeg

FAST = Encode(preset="ultrafast")
PLAYLISTS = {
    "ffconcat": "ffconcat version 1.0\nfile secret.mp4\n",
    "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nsecret.mp4\n#EXT-X-ENDLIST\n",
    "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet '
    'mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>secret.mp4</BaseURL></Representation>'
    "</AdaptationSet></Period></MPD>",
    "svg": '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><image href="secret.png"/></svg>',
}


@pytest.mark.parametrize("kind", PLAYLISTS)
def test_a_text_file_is_not_media_whatever_its_name(tmp_path: Path, barcode: Path, kind: str) -> None:
    shutil.copy(barcode, tmp_path / "secret.mp4")
    out = tmp_path / "out.mp4"
    for suffix in ("mp4", "m3u8", "png", "ts"):
        path = tmp_path / f"video.{suffix}"
        path.write_text(PLAYLISTS[kind])
        assert read_rejection(path, Limits())[0] == "not_media"
        for open_file in (
            lambda path: trim(path, 0, 1, out, FAST),
            lambda path: encode_still_clip([path], out, FAST, Images()),
        ):
            with pytest.raises(MediaError) as caught:
                open_file(path)
            assert caught.value.status == "not_media"
    assert not out.exists()


def test_special_characters_in_a_file_name_have_no_meaning(
    tmp_path: Path, barcode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("concat:a|b.mp4", "-i.mp4", "frame%03d.mp4"):
        shutil.copy(barcode, tmp_path / name)
        assert trim(Path(name), 0, 1, Path(f"{name}.out.mp4"), FAST) == 24


@pytest.mark.parametrize("suffix", ["mov", "mkv", "avi", "ts", "flv", "mpg", "wmv", "gif", "m2ts"])
def test_ordinary_videos_are_opened_under_any_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"video.{suffix}"
    run_ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1:r=25", path)
    renamed = path.rename(tmp_path / "video.txt")
    assert read_packet_index(renamed).frame_count == 25
    assert count_decodable(renamed) == 25


def read_rejection(path: Path, limits: Limits) -> tuple[str, str]:
    with pytest.raises(MediaError) as caught:
        check_decodes(path, limits)
    return caught.value.status, caught.value.message


@pytest.mark.parametrize(("limits", "status"), [
    (Limits(pixels=128 * 128 - 1), "too_many_pixels"),
    (Limits(frames=47), "too_long"),
    (Limits(duration_s=1.9), "too_long"),
    (Limits(fps=23.9), "too_long"),
])  # fmt: skip
def test_the_message_names_the_exceeded_limit(barcode: Path, limits: Limits, status: str) -> None:
    check_decodes(barcode, Limits(pixels=128 * 128, frames=48, duration_s=2, fps=24))
    rejection_status, message = read_rejection(barcode, limits)
    assert rejection_status == status and "limits." in message


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp"])
def test_pictures_are_checked_and_limited_under_any_name(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "frames%d"
    folder.mkdir()
    picture = folder / f"%03d.{suffix}"  # a file name, not a pattern
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (192, 128, 3), np.uint8)).save(picture)
    check_decodes(picture, Limits(pixels=192 * 128))
    encode_still_clip([picture], tmp_path / "clip.mp4", FAST, Images(frames=5, fps=8))
    assert read_packet_index(tmp_path / "clip.mp4").frame_count == 5
    for path in (picture, Path(shutil.copy(picture, tmp_path / "x.mp4"))):
        status, message = read_rejection(path, Limits(pixels=192 * 128 - 1))
        assert (status, "128x192" in message) == ("too_many_pixels", True)
    truncated = tmp_path / f"half.{suffix}"
    truncated.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert read_rejection(truncated, Limits())[0] in ("corrupt", "truncated", "not_media", "no_frames")


@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_an_animated_picture_is_rejected(suffix: str, tmp_path: Path) -> None:
    pictures = [Image.new("RGB", (64, 48), colour) for colour in ("red", "green", "blue")]
    path = tmp_path / f"a.{suffix}"
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=100)
    status, message = read_rejection(path, Limits())
    assert status == "not_media" and "animated" in message


def test_a_file_name_with_a_nul_byte_is_unreadable(tmp_path: Path) -> None:
    for open_file in (read_packet_index, check_picture, lambda path: trim(path, 0, 1, tmp_path / "out.mp4", FAST)):
        with pytest.raises(MediaError) as caught:
            open_file(tmp_path / "a\0b.mp4")
        assert caught.value.status == "unreadable" and "\0" not in caught.value.message
