"""Changed files, another clone and another snakemake: noticed, or an error that names the file.

Kills, full disks, damage and clocks are tried at every stage by tests/faults.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest

from tests.workflow.conftest import Project, make_video

TABLE = "results/tables/velociti/table5.csv"


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


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
    small: Project, tmp_path: Path
) -> None:
    small.write("config/suites/other.yaml", small.text("config/suites/small.yaml"))
    small.planned()
    clone = Project(tmp_path / "clone")
    shutil.copytree(small.root, clone.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    clone.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    clone.planned()
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    before = objects(small, "clips")
    clone.called("store", "--prune", "--yes")
    assert objects(small, "clips") == before, "the clone names nothing, the other one does"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    with pytest.raises(UserError, match=f"snakemake works in {small.root}"):
        clone.called("store", "--prune", "--yes")
    child = "from reprise.plan.suite import load_suite; load_suite({}, ['--target-jobs', 'all:'])"
    assert small.run([sys.executable, "-c", child]).returncode == 0, "a job of the snakemake that works"
    assert "another snakemake works in this folder" in small.refused("--dry-run", "--config", "suite=other")
