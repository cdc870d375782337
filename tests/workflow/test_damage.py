"""Damage, clocks, changed files, another clone: the same numbers in the end, or an error that names the file.

Kills, full disks and what else tests/faults tries at every stage and at random moments are not here.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest

from tests.workflow.conftest import Project, both, make_video

TABLE = "results/tables/velociti/table5.csv"
RANDOM = "results/small/responses/velociti/mc/fps1/random.parquet"


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


def flip(path: Path) -> None:
    """One bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_damage_is_named_and_made_good(small: Project) -> None:
    before = (small.root / TABLE).read_bytes()
    damaged = [objects(small, "clips")[0], *(small.root / "resources/store/journal").rglob("*.jsonl")]
    for path in damaged:
        flip(path)
    for name in ("tables", "small/metrics", "small/verdicts", "small/responses", "small/facts", "small/frames"):
        shutil.rmtree(small.root / "results" / name)
    shutil.rmtree(small.root / "resources/store/facts")
    said = ""
    for _ in damaged:
        said += both(done := small.snakemake(TABLE))
        if done.returncode == 0:
            break
        if "store --repair" in both(done):
            assert "dropped line" in small.called("store", "--repair")
    assert "the file of clip" in said and "run the same command again" in said and "Traceback" not in said
    assert "is damaged" in said and (small.root / TABLE).read_bytes() == before
    flip(small.root / RANDOM)
    shutil.rmtree(small.root / "results/small/metrics")
    assert f"{RANDOM}: damaged" in small.refused(TABLE)


def test_no_clock_hides_a_change(small: Project) -> None:
    """Results look newer than their key, as a job leaves them that went on after it had changed."""
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 7}")
    small.planned()  # writes the new key
    for path in (small.root / "results").rglob("*"):
        os.utime(path, (time.time() - 1, time.time() - 1 - 100 * ("keys" in path.parts)))
    assert "infer" in small.made(TABLE)
    assert small.made(TABLE) == []


def test_what_a_killed_job_left_half_written_is_deleted(small: Project) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    pid = ended.stdout.strip()
    left = [f"small/clips/velociti/.0.{pid}.tmp.parquet", f"tables/.table5.{pid}.tmp.md", f"small/.x.{pid}.tmp"]
    kept = [f"small/keys/.x.{os.getpid()}.tmp.json", "small/.mine.tmp"]
    for name in (*left, *kept):
        (small.root / "results" / name).write_bytes(b"PAR1")
    (small.root / "results/small/.#editor").symlink_to("user@host.1")
    assert small.planned() == []
    assert [name for name in (*left, *kept) if (small.root / "results" / name).exists()] == kept


def test_an_edited_release_and_a_replaced_video_are_noticed(small: Project) -> None:
    rows = small.root / "release/rows.csv"
    rows.write_text(rows.read_text().replace("control 0 holds", "control 0 still holds"))
    old = {path: file_digest(path) for path in objects(small, "sources")}
    make_video(small.root / "videos/aaaaaaaaaaa.mp4", 22, "testsrc")
    assert {"release", "annotations", "sources", "clips", "infer"} <= set(small.made(TABLE))
    assert {path: file_digest(path) for path in old} == old, "the store has its own copy"
    # Size, date and inode stay as they were, by which a change is noticed before jobs are planned.
    status, content = rows.stat(), rows.read_bytes()
    with rows.open("r+b") as stream:
        stream.write(content.replace(b"control 1 holds", b"control 1 hokds"))
    os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "rows.csv: not the file that " in small.refused(TABLE, "--forcerun", "annotations")


def test_a_snakemake_that_works_is_waited_for_and_pruning_spares_what_another_clone_names(
    small: Project, finished_small: Path, tmp_path: Path
) -> None:
    """The store was copied with that of the fixture, which is a clone that it knows too."""
    small.write("config/suites/other.yaml", small.text("config/suites/small.yaml"))
    small.planned()
    clone = Project(tmp_path / "clone")
    shutil.copytree(small.root, clone.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    clone.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    clone.planned()
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    before = objects(small, "clips")
    clone.called("store", "--prune")
    assert objects(small, "clips") == before, "the clone names nothing, the other one does"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    with pytest.raises(UserError, match=f"snakemake works in {small.root}"):
        clone.called("store", "--prune")
    child = "from reprise.plan.suite import load_suite; load_suite({}, ['--target-jobs', 'all:'])"
    assert small.run([sys.executable, "-c", child]).returncode == 0, "a job of the snakemake that works"
    assert "another snakemake works in this folder" in small.refused("--dry-run", "--config", "suite=other")
    lock.unlink()
    (small.root / "results").rename(small.root / "elsewhere")
    with pytest.raises(UserError, match=f"store --forget {small.root}"):
        clone.called("store", "--prune")
    assert objects(small, "clips") == before
    for gone in (small.root, finished_small):
        clone.called("store", "--forget", str(gone), "--prune")
    assert objects(small, "clips") == []
