"""Test the stages on local files: manifests, clip metadata, plans and contact sheets; a rerun writes the same bytes."""

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
from reprise.core.settings_text import format_settings_line
from reprise.media.decoder import read_frames
from reprise.media.encode import concatenate
from reprise.media.probe import read_packet_index
from reprise.media.settings import Concat, Encode
from reprise.stages.command import run

from bench.video import ORIENTATIONS, set_display_matrix
from tests.unit.videos import X264, barcode_video, read_barcode, read_barcodes, run_ffmpeg

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
EXPECTED_STATUS = {row["clip_id"]: status for row, status in CASES}
MANIFESTS = [f"c{shard}.parquet" for shard in range(SHARDS)]
STAGE_OPTIONS: dict[str, dict[str, Any]] = {
    "sources": {"settings": "sources", "release": "files.json", "clips": "clips.parquet"},
    "clips": {"settings": "clips", "clips": "clips.parquet"},
    "clip_metadata": {"settings": "clip_metadata", "threads": 1, "manifests": MANIFESTS},
    "frames": {"settings": "frames", "clip_metadata": "clip_metadata.parquet", "manifests": MANIFESTS},
    "preview": {"settings": "frames", "version": format_settings_line("preview", {}), "frames": "plan.parquet", "manifests": MANIFESTS, "clip": "pair.first"},
}  # fmt: skip


def build_arguments(name: str, out: object, **options: Any) -> list[str]:
    """Return the command-line arguments of a stage, as its rule passes them."""
    options_with_defaults = {**STAGE_OPTIONS[name], "out": out, **options}
    options_with_defaults["settings"] = Path(f"{options_with_defaults['settings']}.json").read_text()
    values_by_option = {
        option: value if isinstance(value, list) else [value] for option, value in options_with_defaults.items()
    }
    return [
        "--store",
        "store",
        name,
        *(
            str(value)
            for option, values in values_by_option.items()
            for value in (f"--{option.replace('_', '-')}", *values)
        ),
    ]


def run_stage(name: str, folder: Path, out: object, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        run(build_arguments(name, out, **options))


def run_all(folder: Path, videos: Path, threads: int = 1) -> None:
    keys = {
        "sources": {"shards": SHARDS, "route": {"kind": "folder", "path": str(videos), "pattern": "{source_id}"}},
        "clips": {"shards": SHARDS, "encode": {"preset": "ultrafast"}, "images": {"frames": 4, "fps": 4}},
        "clip_metadata": {},
        "frames": {"rule": {"rule": "black_aware", "frames": 7}},
    }
    for name, key in keys.items():
        (folder / f"{name}.json").write_text(format_settings_line(name, key))
    (folder / "files.json").write_text("[]")
    write_table(pl.DataFrame([row for row, _ in CASES], schema=CLIPS), folder / "clips.parquet", CLIPS)
    for shard in range(SHARDS):
        run_stage("sources", folder, f"s{shard}.parquet", shard=shard)
        run_stage("clips", folder, f"c{shard}.parquet", shard=shard, sources=f"s{shard}.parquet")
    run_stage("clip_metadata", folder, "clip_metadata.parquet", threads=threads)
    run_stage("frames", folder, "plan.parquet")


def read_by_id(folder: Path, prefix: str, schema: pl.Schema) -> dict[str, dict[str, Any]]:
    frames = [read_table(folder / f"{prefix}{shard}.parquet", schema) for shard in range(SHARDS)]
    name = next(iter(schema))
    return {row[name]: row for row in pl.concat(frames).iter_rows(named=True)}


@pytest.fixture(scope="module")
def videos(barcode: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for path in (folder / "good.mp4", folder.parent / "secret.mp4"):
        shutil.copy(barcode, path)
    run_ffmpeg("-i", barcode, "-c", "copy", folder.parent / "late.mp4")  # with the index at the end
    long = barcode_video(folder.parent / "long.mkv", 120)
    good, late_index, matroska = (path.read_bytes() for path in (barcode, folder.parent / "late.mp4", long))
    damage_start, duration_offset = good.index(b"mdat") + len(good) // 3, matroska.index(b"\x44\x89\x88") + 3
    contents = {
        "cut_off.mp4": good[: len(good) * 3 // 5],
        "without_index.mp4": late_index[: len(late_index) * 3 // 5],
        "cut.mkv": matroska[: len(matroska) * 2 // 5],
        "lying.mkv": matroska[:duration_offset] + struct.pack(">d", 100_000.0) + matroska[duration_offset + 8 :],
        "damaged.mp4": good[:damage_start] + bytes(600) + good[damage_start + 600 :],
        "empty.mp4": b"",
        "text.mp4": b"<html>This video is not available</html>",
        "zip.mp4": b"PK\3\4" + good,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    run_ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", folder / "sound.mp4")
    black = ("-vf", "drawbox=t=fill:color=black:enable='between(n,24,71)'", *X264, "-pix_fmt", "yuv420p")
    run_ffmpeg("-f", "lavfi", "-i", "testsrc=s=128x128:r=24:d=4", *black, folder / "ready.mp4")
    run_ffmpeg("-f", "lavfi", "-i", "color=black:s=128x128:r=24:d=1", *X264, folder / "dark.mp4")
    fading = barcode_video(
        folder / "fading.mp4", 48, extra_options=("-vf", "drawbox=t=fill:color=black:enable='gte(n,30)'")
    )
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
def stage_results(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run_all(folder, videos)
    return folder


def test_every_clip_exists_or_has_a_reason(stage_results: Path, videos: Path) -> None:
    manifest = read_by_id(stage_results, "c", CLIP_MANIFEST)
    assert {clip_id: row["status"] for clip_id, row in manifest.items()} == EXPECTED_STATUS
    for row in manifest.values():
        assert (stage_results / "store" / row["object"]).is_file() if row["status"] == "ok" else row["message"]
        assert str(videos) not in row["message"]
    whole_clip = manifest["whole.all"]
    stored = stage_results / "store" / whole_clip["object"]
    assert whole_clip["sha256"] == file_digest(videos / "good.mp4") == file_digest(stored)
    # The store holds a copy: with a link, a file that is replaced in place would no longer match its digest.
    assert not stored.samefile(videos / "good.mp4") and not stored.is_symlink()
    for shard in range(SHARDS):
        clusters = read_table(stage_results / f"c{shard}.parquet", CLIP_MANIFEST)["cluster"]
        assert {compute_shard(cluster, SHARDS) for cluster in clusters} == {shard}
        sources = read_table(stage_results / f"s{shard}.parquet", SOURCES)["source_id"].to_list()
        assert sources == sorted(sources)


def test_clips_have_the_planned_frames(stage_results: Path) -> None:
    manifest = read_by_id(stage_results, "c", CLIP_MANIFEST)

    def read_frame_numbers(clip_id: str) -> list[int]:
        path = stage_results / "store" / manifest[clip_id]["object"]
        return read_barcodes(read_frames(path, range(read_packet_index(path).frame_count)))

    assert read_frame_numbers("pair.first") == list(range(12, 36))
    assert read_frame_numbers("long.segment") == list(range(6, 30))
    joined = read_frame_numbers("pair.joined")
    assert joined[:24] == list(range(12, 36)) and joined[72:] == list(range(24, 48))
    assert read_frame_numbers("twins.joined")[:24] == read_frame_numbers("twins.joined")[72:] == list(range(12, 36))
    spans = {name: (row["black_start"], row["black_end"]) for name, row in manifest.items() if name.endswith("joined")}
    assert {name: span for name, span in spans.items() if manifest[name]["status"] == "ok"} == {
        **dict.fromkeys(("pair.joined", "twins.joined", "dark.joined", "ready.joined"), (24, 72)),
        **dict.fromkeys(("faded.joined", "raised.joined"), (48, 96)),
    }
    assert len(read_frame_numbers("still.pictures")) == 8


def test_clip_metadata_and_frame_plans_are_written(stage_results: Path) -> None:
    metadata = {
        row["clip_id"]: row
        for row in read_table(stage_results / "clip_metadata.parquet", CLIP_METADATA).iter_rows(named=True)
    }
    assert sorted(metadata) == sorted(name for name, status in EXPECTED_STATUS.items() if status == "ok")
    joined = metadata["pair.joined"]
    assert (joined["frames"], joined["shots"], joined["codec"], joined["width"]) == (96, 3, "h264", 128)
    assert (joined["black_share"], joined["duration_s"]) == (pytest.approx(0.5), pytest.approx(4))
    assert "scenedetect=0." in joined["shot_detector"]
    fields = ("width", "height", "rotation", "mirrored", "sample_aspect_ratio", "video_streams", "color_transfer")
    selfie = metadata["selfie.all"]
    assert [selfie[name] for name in fields] == [128, 128, 270, True, "64:45", 2, "smpte2084"]
    assert [joined[name] for name in fields] == [128, 128, 0, False, "1:1", 1, ""]
    plans = read_plans(stage_results / "plan.parquet")
    assert plans["dark.joined"]["indices"] == plans["pair.joined"]["indices"]
    assert plans["pair.joined"]["indices"] == [4, 12, 20, 48, 76, 84, 92]
    assert plans["whole.all"]["indices"] == [0, 7, 15, 23, 31, 39, 47]
    assert plans["whole.all"]["times_s"] == pytest.approx([n / 24 for n in plans["whole.all"]["indices"]])


def test_a_rerun_writes_the_same_bytes_and_no_new_objects(stage_results: Path, videos: Path, tmp_path: Path) -> None:
    digests = {path.name: file_digest(path) for path in stage_results.glob("*.parquet")}
    objects = {path: path.stat().st_mtime_ns for path in (stage_results / "store").glob("*/*/*")}
    run_all(tmp_path, videos, threads=2)  # with a fresh store
    for shard in range(SHARDS):
        run_stage("clips", stage_results, f"c{shard}.parquet", shard=shard, sources=f"s{shard}.parquet")
    for folder in (stage_results, tmp_path):
        assert {path.name: file_digest(path) for path in folder.glob("*.parquet")} == digests
    assert {path: path.stat().st_mtime_ns for path in (stage_results / "store").glob("*/*/*")} == objects


def read_plans(path: Path) -> dict[str, dict[str, Any]]:
    return {row["clip_id"]: row for row in read_table(path, FRAME_PLAN).iter_rows(named=True)}


def test_a_grid_is_planned_and_previewed_as_one_picture(stage_results: Path, tmp_path: Path) -> None:
    settings_stem, table = tmp_path / "grid", tmp_path / "grid.parquet"
    transform = {"show": "grid", "rows": 2, "columns": 3}
    Path(f"{settings_stem}.json").write_text(
        format_settings_line("frames", {"rule": {"rule": "interior", "frames": 6, "transform": transform}})
    )
    run_stage("frames", stage_results, table, settings=settings_stem)
    plan = read_plans(table)["pair.first"]
    assert plan["grid"] == [2, 3] and "one picture, 2 x 3" in plan["note"]
    run_stage("preview", stage_results, tmp_path / "grid.png", settings=settings_stem, frames=table)
    sheet = cv2.imread(str(tmp_path / "grid.png"))
    assert sheet is not None
    assert sheet.shape[0] >= 2 * 240 and sheet.shape[1] == 3 * 240 + 12
    picture = sheet[44 : 44 + 480, 6 : 6 + 720]
    frame_numbers = [read_barcode(picture[y : y + 240, x : x + 240]) for y in (0, 240) for x in (0, 240, 480)]
    assert [number - frame_numbers[0] for number in frame_numbers] == [
        index - plan["indices"][0] for index in plan["indices"]
    ]
