"""Subtitles that came with videos are copied to where their release is read from."""

import shutil
from pathlib import Path

import pytest
from reprise.commands.videos import copy_subtitles
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.schemas import SOURCES, write_table
from reprise.core.store import Store
from reprise.fetch.local import folder
from reprise.fetch.settings import Folder
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.stages.sources import Wanted, fetch_shard

from tests.unit.core.programs import write
from tests.unit.videos import barcode_video

ROOT = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the configuration, set to the paper suite with its own store and folder of extra files."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "resources").symlink_to(ROOT / "resources")
    for file, old, new in (
        ("config.yaml", "suite: demo", "suite: paper"),
        ("config.yaml", "samplings:", "store: store\nsamplings:"),
        ("suites/paper.yaml", "extras: resources/extras/mmbench_video", "extras: extras"),
    ):
        path = tmp_path / "config" / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_subtitles_reach_the_release(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, frames in (("spoken", 12), ("silent", 13)):
        write(root / f"videos/{name}.mp4")
        barcode_video(root / f"videos/{name}.mp4", frames)
    write(root / "videos/spoken.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n")
    store = Store(Path("store"))
    route = folder(Folder(kind="folder", path=str(root / "videos")), store)
    ledger = fetch_shard([Wanted(name, name) for name in ("silent", "spoken", "gone")], route, store)
    write_table(ledger, Path("results/paper/sources/mmbench_video/0.parquet"), SOURCES)
    copy_subtitles("mmbench_video")
    assert "1 files in extras/subtitles" in capsys.readouterr().out
    assert [path.name for path in Path("extras/subtitles").iterdir()] == ["spoken.vtt"]
    plan = Plan(load(Path()))
    key = collect_keys(plan)[plan.results.key("release", "mmbench_video")].model_dump()
    assert list(key["extras"]["files"]) == ["subtitles/spoken.vtt"], "a release with other files has another key"
    for benchmark, message in {
        "velociti": r"config/suites/paper.yaml: benchmarks.velociti.extras: missing",
        "mmbench-video": "Did you mean 'mmbench_video'",
    }.items():
        with pytest.raises(UserError, match=message):
            copy_subtitles(benchmark)
