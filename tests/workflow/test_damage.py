"""Kills, damage, clocks, changed files, another clone: the same numbers in the end, or an error that names the file.

Here is one of each; tests/faults tries every stage at random moments.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from reprise.core.files import file_digest

from tests.workflow.conftest import Project, make_video

TABLE = "results/tables/velociti/table5.csv"
RANDOM = "results/small/responses/velociti/mc/fps1/random.parquet"


def output(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout + done.stderr


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


def flip(path: Path) -> None:
    """One bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_damage_is_named_and_made_good(small: Project) -> None:
    before = (small.root / TABLE).read_bytes()
    damaged = [*objects(small, "clips"), *(small.root / "resources/store/journal").rglob("*.jsonl")]
    for path in damaged:
        flip(path)
    for name in ("tables", "small/metrics", "small/verdicts", "small/responses", "small/facts", "small/frames"):
        shutil.rmtree(small.root / "results" / name)
    shutil.rmtree(small.root / "resources/store/facts")
    said = ""
    for _ in damaged:
        done = small.snakemake(TABLE)
        said += output(done)
        if done.returncode == 0:
            break
        if "store --repair" in output(done):
            assert "dropped line" in small.reprise("reprise", "store", "--repair").stdout
    assert "the file of clip" in said and "run the same command again" in said and "Traceback" not in said
    assert "is damaged" in said and (small.root / TABLE).read_bytes() == before
    flip(small.root / RANDOM)
    shutil.rmtree(small.root / "results/small/metrics")
    done = small.snakemake(TABLE)
    assert done.returncode != 0 and f"{RANDOM}: damaged" in output(done) and "Traceback" not in output(done)


def test_a_killed_workflow_resumes_and_equals_an_unbroken_one(fresh: Project, finished_small: Path) -> None:
    """SIGKILL to the whole process group as soon as there is a first answer, then the plain command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", TABLE], cwd=fresh.root, env=fresh.environment,
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not list((fresh.root / "resources/store").glob("journal/*/*.jsonl")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(fresh.root / ".snakemake/locks")
    fresh.made(TABLE)
    ours, theirs = (
        {str(p.relative_to(root)): file_digest(p) for p in (root / "results").rglob("*.parquet") if "timings" not in p.name}
        for root in (fresh.root, finished_small)
    )  # fmt: skip
    assert ours.items() <= theirs.items() and RANDOM in ours


def test_no_clock_hides_a_change(small: Project) -> None:
    """Results look newer than their key, as a job leaves them that went on after it had changed; or all is dated ahead."""
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 7}")
    small.planned()  # writes the new key
    for path in (small.root / "results").rglob("*"):
        os.utime(path, (time.time() - 1, time.time() - 1 - 100 * ("keys" in path.parts)))
    assert "infer" in small.planned(TABLE)
    for path in (small.root / "results").rglob("*"):
        os.utime(path, (time.time() + 10_000, time.time() + 10_000))
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
    done = small.snakemake(TABLE, "--forcerun", "annotations")
    assert done.returncode != 0 and "rows.csv: not the file that " in output(done) and "Traceback" not in output(done)


def test_nothing_changes_under_a_snakemake_that_works(small: Project) -> None:
    """Its locks stand for it; a dry run of another suite is told to wait."""
    small.write("config/suites/other.yaml", (small.root / "config/suites/small.yaml").read_text())
    locks = small.root / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/tables/table5.md\n")
    before = {path: file_digest(path) for path in (small.root / "results").rglob("*") if path.is_file()}
    child = "from reprise.plan.suite import load_suite; load_suite({}, ['--target-jobs', 'all:'])"
    assert small.run([sys.executable, "-c", child]).returncode == 0, "a job of the snakemake that works"
    done = small.snakemake("--dry-run", "--config", "suite=other")
    assert done.returncode != 0 and "another snakemake works in this folder" in output(done)
    assert "Traceback" not in output(done)
    assert {path: file_digest(path) for path in (small.root / "results").rglob("*") if path.is_file()} == before


def test_pruning_spares_what_another_clone_names_and_waits_for_it(
    small: Project, finished_small: Path, tmp_path: Path
) -> None:
    """The store was copied with that of the fixture, which is a clone that it knows too."""
    small.planned()
    clone = Project(tmp_path / "clone")
    shutil.copytree(small.root, clone.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    clone.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    clone.planned()
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    before = objects(small, "clips")
    assert clone.reprise("reprise", "store", "--prune").returncode == 0
    assert objects(small, "clips") == before, "the clone names nothing, the other one does"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    busy = clone.reprise("reprise", "store", "--prune")
    assert busy.returncode == 1 and f"snakemake works in {small.root}" in busy.stderr
    lock.unlink()
    (small.root / "results").rename(small.root / "elsewhere")
    unread = clone.reprise("reprise", "store", "--prune")
    assert unread.returncode == 1 and f"store --forget {small.root}" in unread.stderr
    assert objects(small, "clips") == before
    for gone in (small.root, finished_small):
        assert clone.reprise("reprise", "store", "--forget", str(gone), "--prune").returncode == 0
    assert objects(small, "clips") == []
