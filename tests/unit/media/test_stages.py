"""The stages as commands over local files: ledgers, facts, plans, contact sheets; the same bytes when run again."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
from reprise.core.files import file_digest
from reprise.core.schemas import CLIP_LEDGER, CLIPS, FACTS, FRAME_PLAN, SOURCES, read_table, write_table
from reprise.core.shards import shard_of
from reprise.media.decoder import read_frames
from reprise.media.probe import packet_index

from tests.unit.videos import X264, barcode_video, numbers, read_barcode, run_ffmpeg, truncated

SHARDS = 2


def clip(
    clip_id: str, kind: str, source: str = "", span: tuple[float, float] | None = None, parts: tuple[str, ...] = ()
) -> dict[str, Any]:
    start, end = span or (None, None)
    unit = clip_id.split(".")[0]
    return {
        "clip_id": clip_id,
        "unit": unit,
        "kind": kind,
        "source_id": source,
        "start_s": start,
        "end_s": end,
        "parts": list(parts),
    }


ROWS = [
    clip("pair.first", "trim", "good", (0.5, 1.5)),
    clip("pair.second", "trim", "good", (1.0, 2.0)),
    clip("pair.joined", "concat", parts=("pair.first", "pair.second")),
    clip("ready.joined", "concat", "ready", parts=("ready.first", "ready.second")),
    clip("whole.all", "whole", "good"),
    clip("long.a", "trim", "good", (0.25, 0.5)),
    clip("long.b", "trim", "good", (1.0, 1.25)),
    clip("long.segment", "segment", "good", parts=("long.a", "long.b")),
    clip("still.pictures", "images", parts=("one.png", "two.png")),
    clip("gone.all", "whole", "nothing"),
    clip("gone.joined", "concat", parts=("gone.all", "gone.all")),
    clip("cut_off.all", "whole", "cut_off"),
    clip("empty.all", "trim", "empty", (0, 1)),
    clip("text.all", "trim", "text", (0, 1)),
    clip("sound.all", "trim", "sound", (0, 1)),
    clip("outside.all", "trim", "../secret", (0, 1)),
    clip("backwards.all", "trim", "good", (1.5, 0.5)),
    clip("beyond.all", "trim", "good", (1.0, 9.0)),
    clip("bright.joined", "concat", "good", parts=("x", "y")),
]
EXPECTED = {
    "pair.first": "ok", "pair.second": "ok", "pair.joined": "ok", "ready.joined": "ok", "whole.all": "ok",
    "long.a": "ok", "long.b": "ok", "long.segment": "ok", "still.pictures": "ok",
    "gone.all": "missing", "gone.joined": "missing", "cut_off.all": "truncated", "empty.all": "empty",
    "text.all": "not_media", "sound.all": "no_video", "outside.all": "unsafe_path", "backwards.all": "bad_range",
    "beyond.all": "out_of_range", "bright.joined": "no_black",
}  # fmt: skip


def run_stage(name: str, folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """A stage's command, as a rule would call it."""
    command = [sys.executable, "-m", f"reprise.stages.{name}", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def run_all(folder: Path, route: dict[str, Any], threads: int = 1) -> None:
    """From clips.parquet to a plan."""
    keys = {
        "sources": {"shards": SHARDS, "route": route},
        "clips": {"shards": SHARDS, "encode": {"preset": "ultrafast"}, "images": {"frames": 4, "fps": 4}},
        "facts": {"code": "anything"},
        "frames": {"rule": {"rule": "black_aware", "frames": 7}},
    }
    for name, key in keys.items():
        (folder / f"{name}.json").write_text(json.dumps(key))
    (folder / "files.json").write_text("[]")
    stages = []
    for shard in range(SHARDS):
        common = ("--clips", "clips.parquet", "--shard", shard, "--store", "store", "--out")
        stages.append(("sources", "--key", "sources.json", "--release", "files.json", *common, f"s{shard}.parquet"))
        stages.append(("clips", "--key", "clips.json", "--sources", f"s{shard}.parquet", *common, f"c{shard}.parquet"))
    ledgers = ("--ledgers", *(f"c{shard}.parquet" for shard in range(SHARDS)), "--store", "store", "--out")
    stages.append(("facts", "--key", "facts.json", "--threads", threads, *ledgers, "facts.parquet"))
    stages.append(("frames", "--key", "frames.json", "--facts", "facts.parquet", *ledgers, "plan.parquet"))
    for name, *options in stages:
        done = run_stage(str(name), folder, *options)
        assert done.returncode == 0, done.stderr


def table(folder: Path, prefix: str, schema: pl.Schema) -> dict[str, dict[str, Any]]:
    """All shards of a ledger, by id."""
    frames = [read_table(folder / f"{prefix}{shard}.parquet", schema) for shard in range(SHARDS)]
    name = next(iter(schema))
    return {row[name]: row for row in pl.concat(frames).iter_rows(named=True)}


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of good and bad files."""
    folder = tmp_path_factory.mktemp("videos")
    good = barcode_video(folder / "good.mp4", before=("-movflags", "+faststart"))
    (folder.parent / "secret.mp4").write_bytes(good.read_bytes())
    truncated(good, folder / "cut_off.mp4")
    (folder / "empty.mp4").touch()
    (folder / "text.mp4").write_text("no video")
    run_ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", folder / "sound.mp4")
    black = "drawbox=t=fill:color=black:enable='between(n,24,71)'"
    run_ffmpeg(
        "-f",
        "lavfi",
        "-i",
        "testsrc=s=128x128:r=24:d=4",
        "-vf",
        black,
        *X264,
        "-pix_fmt",
        "yuv420p",
        folder / "ready.mp4",
    )
    for number, name in enumerate(("one.png", "two.png")):
        run_ffmpeg(
            "-f",
            "lavfi",
            "-i",
            f"color=c=0x{90 * number + 60:02x}8040:s=128x96",
            "-frames:v",
            "1",
            folder / f"{name}.mp4.png",
        )
        shutil.move(folder / f"{name}.mp4.png", folder / name)
    return folder


@pytest.fixture(scope="module")
def made(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything made once from the folder."""
    folder = tmp_path_factory.mktemp("made")
    for path in videos.iterdir():
        if path.suffix == ".png":
            shutil.copy(path, videos / f"{path.name}.mp4")
    write_table(pl.DataFrame(ROWS, schema=CLIPS), folder / "clips.parquet", CLIPS)
    run_all(folder, {"kind": "folder", "path": str(videos), "pattern": "{source_id}.mp4"})
    return folder


def test_every_clip_is_there_or_has_a_reason(made: Path) -> None:
    ledger = table(made, "c", CLIP_LEDGER)
    found = {clip_id: row["status"] for clip_id, row in ledger.items()}
    # A still image under a video's name is no still image for this route; the next test has one that is.
    assert found | {"still.pictures": "ok"} == EXPECTED
    assert all(row["message"] for row in ledger.values() if row["status"] != "ok")
    assert all((made / "store" / row["object"]).is_file() for row in ledger.values() if row["status"] == "ok")


def test_still_images_become_a_clip(videos: Path, tmp_path: Path) -> None:
    write_table(pl.DataFrame([ROWS[8]], schema=CLIPS), tmp_path / "clips.parquet", CLIPS)
    run_all(tmp_path, {"kind": "folder", "path": str(videos), "pattern": "{source_id}"})
    row = table(tmp_path, "c", CLIP_LEDGER)["still.pictures"]
    assert row["status"] == "ok", row
    assert packet_index(tmp_path / "store" / row["object"]).frames == 8


def test_frames_of_the_clips(made: Path) -> None:
    ledger = table(made, "c", CLIP_LEDGER)

    def shown(clip_id: str) -> list[int]:
        path = made / "store" / ledger[clip_id]["object"]
        return numbers(read_frames(path, range(packet_index(path).frames)))

    assert shown("pair.first") == list(range(12, 36))
    assert shown("long.segment") == list(range(6, 30))
    joined = shown("pair.joined")
    assert (ledger["pair.joined"]["black_start"], ledger["pair.joined"]["black_end"]) == (24, 72)
    assert joined[:24] == list(range(12, 36)) and joined[72:] == list(range(24, 48))
    assert (ledger["ready.joined"]["black_start"], ledger["ready.joined"]["black_end"]) == (24, 72)


def test_whole_file_is_copied_untouched(made: Path, videos: Path) -> None:
    """Not linked: who replaces it in place would change what is stored under the old one's digest."""
    row = table(made, "c", CLIP_LEDGER)["whole.all"]
    kept = made / "store" / row["object"]
    assert row["sha256"] == file_digest(videos / "good.mp4") == file_digest(kept)
    assert row["bytes"] == kept.stat().st_size
    assert not kept.samefile(videos / "good.mp4") and not kept.is_symlink()


def test_facts_and_plan(made: Path) -> None:
    facts = {row["clip_id"]: row for row in read_table(made / "facts.parquet", FACTS).iter_rows(named=True)}
    assert sorted(facts) == sorted(name for name, row in table(made, "c", CLIP_LEDGER).items() if row["status"] == "ok")
    joined = facts["pair.joined"]
    assert (joined["frames"], joined["shots"], joined["codec"], joined["width"]) == (96, 3, "h264", 128)
    assert joined["black_share"] == pytest.approx(0.5)
    assert joined["duration_s"] == pytest.approx(4)
    assert "scenedetect=0." in joined["shot_detector"]
    plans = {row["clip_id"]: row for row in read_table(made / "plan.parquet", FRAME_PLAN).iter_rows(named=True)}
    assert plans["pair.joined"]["indices"] == [4, 12, 20, 48, 76, 84, 92]
    assert plans["whole.all"]["indices"] == [0, 7, 15, 23, 31, 39, 47]
    assert plans["whole.all"]["times_s"] == pytest.approx([n / 24 for n in plans["whole.all"]["indices"]])


def test_running_again_gives_the_same_bytes_and_makes_nothing_new(made: Path, videos: Path) -> None:
    digests = {path: file_digest(path) for path in made.glob("*.parquet")}
    objects = {path: path.stat().st_mtime_ns for path in (made / "store").glob("*/*/*")}
    run_all(made, {"kind": "folder", "path": str(videos), "pattern": "{source_id}.mp4"}, threads=2)
    assert {path: file_digest(path) for path in made.glob("*.parquet")} == digests
    assert {path: path.stat().st_mtime_ns for path in (made / "store").glob("*/*/*")} == objects


def test_a_fresh_store_gives_the_same_bytes(made: Path, videos: Path, tmp_path: Path) -> None:
    shutil.copy(made / "clips.parquet", tmp_path)
    run_all(tmp_path, {"kind": "folder", "path": str(videos), "pattern": "{source_id}.mp4"})
    for path in made.glob("*.parquet"):
        assert file_digest(tmp_path / path.name) == file_digest(path), path.name


def test_shards_share_the_units(made: Path) -> None:
    for shard in range(SHARDS):
        for unit in read_table(made / f"c{shard}.parquet", CLIP_LEDGER)["unit"]:
            assert shard_of(unit, SHARDS) == shard
        sources = read_table(made / f"s{shard}.parquet", SOURCES)
        assert sources["source_id"].to_list() == sorted(sources["source_id"])


def test_contact_sheet(made: Path) -> None:
    options = [
        "--key",
        "frames.json",
        "--frames",
        "plan.parquet",
        "--ledgers",
        "c0.parquet",
        "c1.parquet",
        "--store",
        "store",
    ]
    done = run_stage("preview", made, *options, "--clip", "pair.joined", "--out", "sheet.png")
    assert done.returncode == 0, done.stderr
    picture = cv2.imread(str(made / "sheet.png"))
    assert picture is not None and picture.shape[1] > 3 * 240
    assert np.ptp(picture) > 200
    wrong = run_stage("preview", made, *options, "--clip", "pair.joind", "--out", "sheet.png")
    assert wrong.returncode == 1
    assert "Did you mean 'pair.joined'" in wrong.stderr and "Traceback" not in wrong.stderr


def test_a_grid_is_planned_and_previewed_as_the_one_picture_that_a_model_sees(made: Path) -> None:
    view = {"show": "grid", "rows": 2, "columns": 3}
    (made / "grid.json").write_text(json.dumps({"rule": {"rule": "interior", "frames": 6, "view": view}}))
    ledgers = ("--ledgers", "c0.parquet", "c1.parquet", "--store", "store")
    done = run_stage(
        "frames", made, "--key", "grid.json", "--facts", "facts.parquet", *ledgers, "--out", "grid.parquet"
    )
    assert done.returncode == 0, done.stderr
    plans = {row["clip_id"]: row for row in read_table(made / "grid.parquet", FRAME_PLAN).iter_rows(named=True)}
    assert plans["pair.first"]["grid"] == [2, 3] and "one picture, 2 x 3" in plans["pair.first"]["note"]
    options = ("--key", "grid.json", "--frames", "grid.parquet", *ledgers, "--clip", "pair.first", "--out", "grid.png")
    assert run_stage("preview", made, *options).returncode == 0
    sheet = cv2.imread(str(made / "grid.png"))
    assert sheet is not None and sheet.shape[0] >= 2 * 240 and sheet.shape[1] == 3 * 240 + 12
    picture = sheet[44 : 44 + 480, 6 : 6 + 720]
    cells = [picture[row : row + 240, column : column + 240] for row in (0, 240) for column in (0, 240, 480)]
    first = plans["pair.first"]["indices"]
    shown = [read_barcode(cell) for cell in cells]
    assert [number - shown[0] for number in shown] == [index - first[0] for index in first]


def test_list_of_what_is_missing(made: Path) -> None:
    key = {"benchmarks": {"toy": {
        "title": "Toy", "tables": ["table3", "table4"],
        "sources": [str(made / f"s{n}.parquet") for n in range(SHARDS)],
        "clips": [str(made / f"c{n}.parquet") for n in range(SHARDS)],
    }}}  # fmt: skip
    (made / "missing.json").write_text(json.dumps(key))
    assert run_stage("missing", made, "--key", "missing.json", "--out", "missing.md").returncode == 0
    text = (made / "missing.md").read_text()
    assert "Affected: table3, table4." in text
    assert "| nothing | missing |" in text
    assert "cut&#95;off" in text


STAGES = {
    "frames": ("--key", "frames.json", "--facts", "facts.parquet"),
    "facts": ("--key", "facts.json"),
    "preview": ("--key", "frames.json", "--frames", "plan.parquet", "--clip", "pair.first"),
}


def flip(path: Path) -> None:
    """One bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:500])])
@pytest.mark.parametrize("stage", STAGES)
def test_a_clip_that_was_spoilt_later_is_never_looked_at(
    stage: str, damage: Callable[[Path], object], made: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    shutil.rmtree(copy / "store/facts")
    path = copy / "store" / table(copy, "c", CLIP_LEDGER)["pair.first"]["object"]
    damage(path)
    common = ("--ledgers", "c0.parquet", "c1.parquet", "--store", "store", "--out", "again.parquet")
    done = run_stage(stage, copy, *STAGES[stage], *common)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the file of clip pair.first" in done.stderr and "run the same command again" in done.stderr
    assert not path.exists() and not (copy / "again.parquet").exists()


@pytest.mark.parametrize("clip_id", ["pair.first", "pair.joined", "whole.all"])
def test_a_source_that_was_spoilt_is_cut_by_nobody(clip_id: str, made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    shutil.rmtree(copy / "store/clips")
    source = copy / "store" / table(copy, "s", SOURCES)["good"]["object"]
    flip(source)
    write_table(pl.DataFrame([row for row in ROWS if row["clip_id"].split(".")[0] == clip_id.split(".")[0]], schema=CLIPS),
                copy / "clips.parquet", CLIPS)  # fmt: skip
    shard = shard_of(clip_id.split(".")[0], SHARDS)
    done = run_stage("clips", copy, "--key", "clips.json", "--clips", "clips.parquet", "--sources", f"s{shard}.parquet",
                     "--shard", shard, "--store", "store", "--out", "again.parquet")  # fmt: skip
    assert done.returncode == 1 and "the file of source good was damaged" in done.stderr
    assert not source.exists() and not (copy / "again.parquet").exists()


def test_a_spoilt_clip_in_the_store_is_encoded_again_with_the_same_bytes(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    before = table(copy, "c", CLIP_LEDGER)
    flip(copy / "store" / before["pair.first"]["object"])
    (copy / "store" / before["pair.joined"]["object"]).with_suffix(".json").write_text("damaged")
    shard = shard_of("pair", SHARDS)
    done = run_stage("clips", copy, "--key", "clips.json", "--clips", "clips.parquet", "--sources", f"s{shard}.parquet",
                     "--shard", shard, "--store", "store", "--out", f"c{shard}.parquet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert table(copy, "c", CLIP_LEDGER) == before
    for name in ("pair.first", "pair.joined"):
        assert file_digest(copy / "store" / before[name]["object"]) == before[name]["sha256"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({"shards": 2, "route": {"kind": "folder", "pth": "x"}}, "route.pth"),
        ({"shards": 2, "route": {"kind": "ftp"}}, "ftp"),
        ({"shards": 2, "route": {"kind": "folder", "path": "nowhere"}}, "no folder 'nowhere'"),
        ({"shards": 2, "route": {"kind": "archive", "path": "no.zip"}}, "no file fits"),
        ({"shards": 1, "route": {"kind": "toyworld"}}, "shards 0 to 0"),
    ],
)
def test_mistakes_in_a_key(key: dict[str, Any], message: str, made: Path, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text(json.dumps(key))
    shard = shard_of("pair", 2) if key["shards"] == 2 else 1
    done = run_stage("sources", made, "--key", tmp_path / "key.json", "--release", "files.json", "--clips", "clips.parquet",
                     "--shard", shard, "--store", tmp_path / "store", "--out", tmp_path / "out.parquet")  # fmt: skip
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr
