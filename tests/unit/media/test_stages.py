"""The stages over local files: manifests, clip metadata, plans and contact sheets; a rerun writes the same bytes."""

import shutil
import struct
from pathlib import Path
from typing import Any

import cv2
import polars as pl
import pytest
from reprise.core.files import file_digest
from reprise.core.names import compute_shard
from reprise.core.schemas import CLIP_MANIFEST, CLIP_METADATA, CLIPS, FRAME_PLAN, SOURCES, read_table, write_table
from reprise.core.settings_text import settings_text
from reprise.media.decoder import read_frames
from reprise.media.encode import concatenate
from reprise.media.probe import read_packet_index
from reprise.media.settings import Concat, Encode
from reprise.stages.command import run

from bench.video import ORIENTATIONS, set_display_matrix
from tests.unit.videos import X264, barcode_video, numbers, read_barcode, run_ffmpeg

SHARDS = 2
Clip = dict[str, Any]


def clip(clip_id: str, kind: str, source: str = "", span: tuple[float, float] | None = None, *parts: str) -> Clip:
    start, end = span or (None, None)
    cluster = clip_id.split(".")[0]
    row = {"clip_id": clip_id, "cluster": cluster, "kind": kind, "source_id": source, "start_s": start, "end_s": end}
    return row | {"parts": list(parts)}


CASES = [
    (clip("pair.first", "trim", "good.mp4", (0.5, 1.5)), "ok"),
    (clip("pair.second", "trim", "good.mp4", (1.0, 2.0)), "ok"),
    (clip("pair.joined", "concat", "", None, "pair.first", "pair.second"), "ok"),
    (clip("twins.part", "trim", "good.mp4", (0.5, 1.5)), "ok"),
    (clip("twins.joined", "concat", "", None, "twins.part", "twins.part"), "ok"),
    (clip("dark.part", "whole", "dark.mp4"), "ok"),
    (clip("dark.joined", "concat", "", None, "dark.part", "dark.part"), "ok"),
    (clip("faded.first", "whole", "fading.mp4"), "ok"),
    (clip("faded.joined", "concat", "faded.mp4", None, "faded.first", "faded.second"), "ok"),
    (clip("raised.second", "whole", "fading.mp4"), "ok"),
    (clip("raised.joined", "concat", "raised.mp4", None, "raised.first", "raised.second"), "ok"),
    (clip("selfie.all", "whole", "selfie.mp4"), "ok"),
    (clip("ready.joined", "concat", "ready.mp4", None, "ready.first", "ready.second"), "ok"),
    (clip("whole.all", "whole", "good.mp4"), "ok"),
    (clip("long.segment", "segment", "good.mp4", (0.25, 1.25)), "ok"),
    (clip("still.pictures", "images", "", None, "one.png", "two.png"), "ok"),
    (clip("gone.all", "whole", "nothing.mp4"), "missing"),
    (clip("gone.joined", "concat", "", None, "gone.all", "gone.all"), "missing"),
    *((clip(f"{name}.all", "whole", f"{name}.{kind}"), status) for name, kind, status in (
        ("cut_off", "mp4", "truncated"), ("without_index", "mp4", "truncated"), ("cut", "mkv", "truncated"),
        ("lying", "mkv", "truncated"), ("damaged", "mp4", "corrupt"), ("empty", "mp4", "empty"), ("text", "mp4", "not_media"),
        ("zip", "mp4", "not_media"), ("sound", "mp4", "no_video"),
    )),
    (clip("outside.all", "trim", "../secret.mp4", (0, 1)), "unsafe_path"),
    *((clip(f"span.{number}", "trim", "good.mp4", span), status) for number, (span, status) in enumerate((
        ((1.5, 0.5), "bad_range"), ((1.0, 1.0), "bad_range"), ((-1.0, 1.0), "bad_range"), ((1.0, 9.0), "out_of_range"),
        ((1.0, 3.0), "out_of_range"), ((2.1, 2.3), "out_of_range"),
    ))),
    (clip("bright.joined", "concat", "good.mp4", None, "x", "y"), "no_black"),
]  # fmt: skip
EXPECTED = {row["clip_id"]: status for row, status in CASES}
MANIFESTS = [f"c{shard}.parquet" for shard in range(SHARDS)]
GIVEN: dict[str, dict[str, Any]] = {
    "sources": {"settings": "sources", "release": "files.json", "clips": "clips.parquet"},
    "clips": {"settings": "clips", "clips": "clips.parquet"},
    "clip_metadata": {"settings": "clip_metadata", "threads": 1, "manifests": MANIFESTS},
    "frames": {"settings": "frames", "clip_metadata": "clip_metadata.parquet", "manifests": MANIFESTS},
    "preview": {"settings": "frames", "version": settings_text("preview", {}), "frames": "plan.parquet", "manifests": MANIFESTS, "clip": "pair.first"},
}  # fmt: skip


def words_of(name: str, out: object, **options: Any) -> list[str]:
    """A stage and its options, as a rule would give them."""
    given = {**GIVEN[name], "out": out, **options}
    given["settings"] = Path(f"{given['settings']}.json").read_text()
    lists = {option: value if isinstance(value, list) else [value] for option, value in given.items()}
    return [
        "--store",
        "store",
        name,
        *(str(word) for option, values in lists.items() for word in (f"--{option.replace('_', '-')}", *values)),
    ]


def run_stage(name: str, folder: Path, out: object, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(words_of(name, out, **options))


def run_all(folder: Path, videos: Path, threads: int = 1) -> None:
    keys = {
        "sources": {"shards": SHARDS, "route": {"kind": "folder", "path": str(videos), "pattern": "{source_id}"}},
        "clips": {"shards": SHARDS, "encode": {"preset": "ultrafast"}, "images": {"frames": 4, "fps": 4}},
        "clip_metadata": {},
        "frames": {"rule": {"rule": "black_aware", "frames": 7}},
    }
    for name, key in keys.items():
        (folder / f"{name}.json").write_text(settings_text(name, key))
    (folder / "files.json").write_text("[]")
    write_table(pl.DataFrame([row for row, _ in CASES], schema=CLIPS), folder / "clips.parquet", CLIPS)
    for shard in range(SHARDS):
        run_stage("sources", folder, f"s{shard}.parquet", shard=shard)
        run_stage("clips", folder, f"c{shard}.parquet", shard=shard, sources=f"s{shard}.parquet")
    run_stage("clip_metadata", folder, "clip_metadata.parquet", threads=threads)
    run_stage("frames", folder, "plan.parquet")


def table(folder: Path, prefix: str, schema: pl.Schema) -> dict[str, dict[str, Any]]:
    frames = [read_table(folder / f"{prefix}{shard}.parquet", schema) for shard in range(SHARDS)]
    name = next(iter(schema))
    return {row[name]: row for row in pl.concat(frames).iter_rows(named=True)}


@pytest.fixture(scope="module")
def videos(barcode: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for path in (folder / "good.mp4", folder.parent / "secret.mp4"):
        shutil.copy(barcode, path)
    run_ffmpeg("-i", barcode, "-c", "copy", folder.parent / "late.mp4")  # its index comes last
    long = barcode_video(folder.parent / "long.mkv", 120)
    whole, late, matroska = (path.read_bytes() for path in (barcode, folder.parent / "late.mp4", long))
    middle, length = whole.index(b"mdat") + len(whole) // 3, matroska.index(b"\x44\x89\x88") + 3
    contents = {
        "cut_off.mp4": whole[: len(whole) * 3 // 5],
        "without_index.mp4": late[: len(late) * 3 // 5],
        "cut.mkv": matroska[: len(matroska) * 2 // 5],
        "lying.mkv": matroska[:length] + struct.pack(">d", 100_000.0) + matroska[length + 8 :],
        "damaged.mp4": whole[:middle] + bytes(600) + whole[middle + 600 :],
        "empty.mp4": b"",
        "text.mp4": b"<html>This video is not available</html>",
        "zip.mp4": b"PK\3\4" + whole,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    run_ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", folder / "sound.mp4")
    black = ("-vf", "drawbox=t=fill:color=black:enable='between(n,24,71)'", *X264, "-pix_fmt", "yuv420p")
    run_ffmpeg("-f", "lavfi", "-i", "testsrc=s=128x128:r=24:d=4", *black, folder / "ready.mp4")
    run_ffmpeg("-f", "lavfi", "-i", "color=black:s=128x128:r=24:d=1", *X264, folder / "dark.mp4")
    fading = barcode_video(folder / "fading.mp4", 48, before=("-vf", "drawbox=t=fill:color=black:enable='gte(n,30)'"))
    concatenate(fading, barcode, folder / "faded.mp4", Encode(preset="ultrafast"), Concat())
    concatenate(barcode, fading, folder / "raised.mp4", Encode(preset="ultrafast"), Concat())
    hdr = ("-vf", "setsar=64/45", "-color_trc", "smpte2084", *X264, "-x264-params", "transfer=smpte2084")
    selfie = ("-i", barcode, "-i", barcode, "-map", "0:v", "-map", "1:v", *hdr, "-frames:v", "12")
    run_ffmpeg(*selfie, folder / "selfie.mp4")
    set_display_matrix(folder / "selfie.mp4", ORIENTATIONS["transposed"])
    for name, colour in (("one.png", "3c"), ("two.png", "96")):
        run_ffmpeg("-f", "lavfi", "-i", f"color=c=0x{colour}8040:s=128x96", "-frames:v", "1", folder / name)
    return folder


@pytest.fixture(scope="module")
def made(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run_all(folder, videos)
    return folder


def test_every_clip_exists_or_has_a_reason(made: Path, videos: Path) -> None:
    manifest = table(made, "c", CLIP_MANIFEST)
    assert {clip_id: row["status"] for clip_id, row in manifest.items()} == EXPECTED
    for row in manifest.values():
        assert (made / "store" / row["object"]).is_file() if row["status"] == "ok" else row["message"]
        assert str(videos) not in row["message"]
    whole = manifest["whole.all"]
    kept = made / "store" / whole["object"]
    assert whole["sha256"] == file_digest(videos / "good.mp4") == file_digest(kept)
    # No link: who replaces a file in place would change what is stored under the old one's digest.
    assert not kept.samefile(videos / "good.mp4") and not kept.is_symlink()
    for shard in range(SHARDS):
        units = read_table(made / f"c{shard}.parquet", CLIP_MANIFEST)["cluster"]
        assert {compute_shard(unit, SHARDS) for unit in units} == {shard}
        sources = read_table(made / f"s{shard}.parquet", SOURCES)["source_id"].to_list()
        assert sources == sorted(sources)


def test_frames_of_the_clips(made: Path) -> None:
    manifest = table(made, "c", CLIP_MANIFEST)

    def shown(clip_id: str) -> list[int]:
        path = made / "store" / manifest[clip_id]["object"]
        return numbers(read_frames(path, range(read_packet_index(path).frames)))

    assert shown("pair.first") == list(range(12, 36))
    assert shown("long.segment") == list(range(6, 30))
    joined = shown("pair.joined")
    assert joined[:24] == list(range(12, 36)) and joined[72:] == list(range(24, 48))
    assert shown("twins.joined")[:24] == shown("twins.joined")[72:] == list(range(12, 36))
    spans = {name: (row["black_start"], row["black_end"]) for name, row in manifest.items() if name.endswith("joined")}
    assert {name: span for name, span in spans.items() if manifest[name]["status"] == "ok"} == {
        **dict.fromkeys(("pair.joined", "twins.joined", "dark.joined", "ready.joined"), (24, 72)),
        **dict.fromkeys(("faded.joined", "raised.joined"), (48, 96)),
    }
    assert len(shown("still.pictures")) == 8


def test_clip_metadata_and_plan(made: Path) -> None:
    metadata = {
        row["clip_id"]: row for row in read_table(made / "clip_metadata.parquet", CLIP_METADATA).iter_rows(named=True)
    }
    assert sorted(metadata) == sorted(name for name, status in EXPECTED.items() if status == "ok")
    joined = metadata["pair.joined"]
    assert (joined["frames"], joined["shots"], joined["codec"], joined["width"]) == (96, 3, "h264", 128)
    assert (joined["black_share"], joined["duration_s"]) == (pytest.approx(0.5), pytest.approx(4))
    assert "scenedetect=0." in joined["shot_detector"]
    shape = ("width", "height", "rotation", "mirrored", "sample_aspect_ratio", "video_streams", "color_transfer")
    selfie = metadata["selfie.all"]
    assert [selfie[name] for name in shape] == [128, 128, 270, True, "64:45", 2, "smpte2084"]
    assert [joined[name] for name in shape] == [128, 128, 0, False, "1:1", 1, ""]
    plans = plans_in(made / "plan.parquet")
    assert plans["dark.joined"]["indices"] == plans["pair.joined"]["indices"]
    assert plans["pair.joined"]["indices"] == [4, 12, 20, 48, 76, 84, 92]
    assert plans["whole.all"]["indices"] == [0, 7, 15, 23, 31, 39, 47]
    assert plans["whole.all"]["times_s"] == pytest.approx([n / 24 for n in plans["whole.all"]["indices"]])


def test_a_rerun_gives_the_same_bytes_and_makes_no_new_objects(made: Path, videos: Path, tmp_path: Path) -> None:
    digests = {path.name: file_digest(path) for path in made.glob("*.parquet")}
    objects = {path: path.stat().st_mtime_ns for path in (made / "store").glob("*/*/*")}
    run_all(tmp_path, videos, threads=2)  # with a fresh store
    for shard in range(SHARDS):
        run_stage("clips", made, f"c{shard}.parquet", shard=shard, sources=f"s{shard}.parquet")
    for folder in (made, tmp_path):
        assert {path.name: file_digest(path) for path in folder.glob("*.parquet")} == digests
    assert {path: path.stat().st_mtime_ns for path in (made / "store").glob("*/*/*")} == objects


def plans_in(path: Path) -> dict[str, dict[str, Any]]:
    return {row["clip_id"]: row for row in read_table(path, FRAME_PLAN).iter_rows(named=True)}


def test_a_grid_is_planned_and_previewed_as_one_picture(made: Path, tmp_path: Path) -> None:
    key, table = tmp_path / "grid", tmp_path / "grid.parquet"
    transform = {"show": "grid", "rows": 2, "columns": 3}
    Path(f"{key}.json").write_text(
        settings_text("frames", {"rule": {"rule": "interior", "frames": 6, "transform": transform}})
    )
    run_stage("frames", made, table, settings=key)
    plan = plans_in(table)["pair.first"]
    assert plan["grid"] == [2, 3] and "one picture, 2 x 3" in plan["note"]
    run_stage("preview", made, tmp_path / "grid.png", settings=key, frames=table)
    sheet = cv2.imread(str(tmp_path / "grid.png"))
    assert sheet is not None
    assert sheet.shape[0] >= 2 * 240 and sheet.shape[1] == 3 * 240 + 12
    picture = sheet[44 : 44 + 480, 6 : 6 + 720]
    shown = [read_barcode(picture[y : y + 240, x : x + 240]) for y in (0, 240) for x in (0, 240, 480)]
    assert [number - shown[0] for number in shown] == [index - plan["indices"][0] for index in plan["indices"]]
