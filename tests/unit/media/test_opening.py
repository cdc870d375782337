"""Only listed formats are opened, whatever a file is called, and no file leads to another one."""

import os
import re
import shutil
import struct
from pathlib import Path

import av
import pytest
from reprise.media.decoder import count_decodable
from reprise.media.encode import still_clip, trim
from reprise.media.errors import MediaError
from reprise.media.opening import check_picture
from reprise.media.probe import packet_index
from reprise.media.settings import Encode, Images
from reprise.stages.sources import check_decodes

from tests.unit.videos import barcode_video, run_ffmpeg

LIBRARY = Path(__file__).parents[3] / "workflow/reprise"
FAST = Encode(preset="ultrafast")
PLAYLISTS = {
    "ffconcat": "ffconcat version 1.0\nfile secret.mp4\n",
    "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nsecret.mp4\n#EXT-X-ENDLIST\n",
    "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet '
    'mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>secret.mp4</BaseURL></Representation>'
    "</AdaptationSet></Period></MPD>",
    "text": "just words, one after the other\n" * 50,
    "svg": '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><image href="secret.png"/></svg>',
}


def refused(path: Path) -> str:
    """The status under which the whole way of a source refuses a file."""
    with pytest.raises(MediaError) as caught:
        check_decodes(path)
    return caught.value.status


@pytest.mark.parametrize("kind", PLAYLISTS)
def test_no_text_is_media_whatever_its_name(tmp_path: Path, barcode: Path, kind: str) -> None:
    shutil.copy(barcode, tmp_path / "secret.mp4")
    out = tmp_path / "out.mp4"
    for suffix in ("mp4", "m3u8", "png", "ts"):
        path = tmp_path / f"video.{suffix}"
        path.write_text(PLAYLISTS[kind])
        assert refused(path) == "not_media"
        for use in (
            packet_index,
            lambda path: trim(path, 0, 1, out, FAST),
            lambda path: still_clip([path], out, FAST, Images()),
        ):
            with pytest.raises(MediaError) as caught:
                use(path)
            assert caught.value.status in ("not_media", "missing")
    assert not out.exists()


def test_a_name_is_only_a_name(tmp_path: Path, barcode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("concat:a|b.mp4", "-i.mp4", "frame%03d.mp4", "a*[b]?.mp4", "http:x.mp4", "pipe:0"):
        shutil.copy(barcode, tmp_path / name)
        assert count_decodable(Path(name)) == 48
        assert trim(Path(name), 0, 1, Path(f"{name}.out.mp4"), FAST) == 24
        assert packet_index(Path(f"{name}.out.mp4")).frames == 24


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp"])
def test_a_still_picture_is_one_file_and_no_pattern(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "frames%d"
    folder.mkdir()
    run_ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48", "-frames:v", "1", "-update", "1", tmp_path / f"x.{suffix}")
    picture = (tmp_path / f"x.{suffix}").rename(folder / f"%03d.{suffix}")
    check_picture(picture)
    still_clip([picture], tmp_path / "clip.mp4", FAST, Images(frames=5, fps=8))
    assert packet_index(tmp_path / "clip.mp4").frames == 5


@pytest.mark.parametrize("suffix", ["mov", "mkv", "avi", "ts", "flv", "mpg", "wmv", "gif", "m2ts"])
def test_ordinary_videos_are_opened_under_any_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"video.{suffix}"
    run_ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1:r=25", path)
    strange = path.rename(tmp_path / "video.txt")
    assert packet_index(strange).frames == 25
    assert count_decodable(strange) == 25


def test_samples_in_another_file_are_not_read(tmp_path: Path) -> None:
    """A mov whose data reference names another file, with nothing else wrong with it."""
    secret = barcode_video(tmp_path / "secret.mov", options=("-c:v", "libx264", "-g", "24"))
    content = secret.read_bytes()
    path = tmp_path / "outer.mov"
    path.write_bytes(_with_alias(content, b"secret.mov"))
    assert refused(path) == "truncated"
    with av.open(str(path), options={"enable_drefs": "1"}) as container:  # the reference is a true one
        assert sum(1 for _ in container.decode(video=0)) == 48


def _with_alias(content: bytes, name: bytes) -> bytes:
    """The data reference of the first track as an alias record that names a file of the same folder."""
    place = content.index(b"dref") - 4
    record = bytearray(150)
    record[10:15] = b"\x04disk"
    record[50] = len(name)
    record[51 : 51 + len(name)] = name
    struct.pack_into(">hh", record, 130, 1, 1)
    place_named = b"disk:" + name
    padding = b"\0" * (len(place_named) % 2)
    tail = struct.pack(">hh", 2, len(place_named)) + place_named + padding + struct.pack(">hh", -1, 0)
    alias = bytes(4) + bytes(record) + tail
    entry = struct.pack(">I4s", 8 + len(alias), b"alis") + alias
    dref = struct.pack(">I4sII", 16 + len(entry), b"dref", 0, 1) + entry
    old = struct.unpack(">I", content[place : place + 4])[0]
    changed = bytearray(content[:place] + dref + content[place + old :])
    for box in (b"dinf", b"minf", b"mdia", b"trak", b"moov"):
        at = changed.rindex(box, 0, place + 4) - 4
        size = struct.unpack_from(">I", changed, at)[0]
        struct.pack_into(">I", changed, at, size + len(dref) - old)
    return bytes(changed)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "video.mp4")
    os.mkfifo(tmp_path / "picture.png")
    assert refused(tmp_path / "video.mp4") == refused(tmp_path / "picture.png") == "not_media"


def test_nobody_else_opens_media() -> None:
    """One module opens files; the toy world, the rehearsal and slides write files of pictures of their own."""
    opens = re.compile(
        r"av\.open\(|ffmpeg\.input\(|VideoCapture|imread|imdecode|Image\.open|decord|torchcodec|torchvision\.io|imageio\.|"
        r"(?:from|import) scenedetect.*\b(?:open_video|detect)\b|read_video\(|\"-i\"|ffprobe|ffmpeg\.probe"
    )
    writes = {"toyworld/render.py": {'"-i"'}, "rehearsal/films.py": {'"-i"'}, "media/slides.py": {"av.open("}}
    # In an environment of its own, without this library: it reads pictures that this library has written.
    writes["models/remote/serving/program_server.py"] = {"Image.open"}
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).as_posix()
        found = set(opens.findall(path.read_text(encoding="utf-8")))
        allowed = writes.get(name, set())
        assert name == "media/opening.py" or found <= allowed, (name, found)
