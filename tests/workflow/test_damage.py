"""Damage, clocks, another suite meanwhile, another clone: the same numbers in the end, or an error that names the file."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from reprise.core.files import file_digest

from tests.workflow.conftest import Project, make_video

TABLE = "results/tables/velociti/table5.csv"
RANDOM = "results/small/responses/velociti/mc/fps1/random.parquet"


def numbers(project: Project) -> bytes:
    return (project.root / TABLE).read_bytes()


def flip(path: Path) -> None:
    """One bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def output(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout + done.stderr


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


def ask_again(project: Project) -> None:
    """Leave nothing of any answer, nor of what was measured."""
    for name in ("tables", "small/metrics", "small/verdicts", "small/responses", "small/facts", "small/frames"):
        shutil.rmtree(project.root / "results" / name)
    for name in ("journal", "facts"):
        shutil.rmtree(project.root / "resources/store" / name)


# --- the store -----------------------------------------------------------------------------------------------------


def test_files_of_the_store_that_are_gone_are_made_again_before_anything_is_asked(small: Project) -> None:
    stored = [*objects(small, "clips"), objects(small, "sources")[0]]
    before, kept = numbers(small), {path: file_digest(path) for path in stored}
    for path in stored:
        path.unlink()
    assert small.made(TABLE) == [], "what was made of them is right"
    ask_again(small)
    assert {"sources", "clips", "infer"} <= set(small.made(TABLE)) and numbers(small) == before
    assert {path: file_digest(path) for path in stored} == kept


def test_a_damaged_clip_stops_its_run_and_the_same_command_makes_it_again(small: Project) -> None:
    before = numbers(small)
    for path in objects(small, "clips"):
        flip(path)
    ask_again(small)
    for _ in objects(small, "clips"):
        done = small.snakemake(TABLE)
        if done.returncode == 0:
            break
        assert "the file of clip" in output(done) and "run the same command again" in output(done)
        assert "Traceback" not in output(done)
    assert small.snakemake(TABLE).returncode == 0 and numbers(small) == before


def test_a_damaged_journal_names_its_line_and_is_repaired(small: Project) -> None:
    before = numbers(small)
    journals = sorted((small.root / "resources/store/journal").rglob("*.jsonl"))
    for path in journals:
        flip(path)
    shutil.rmtree(small.root / "results/tables")
    shutil.rmtree(small.root / "results/small/metrics")
    shutil.rmtree(small.root / "results/small/verdicts")
    shutil.rmtree(small.root / "results/small/responses")
    done = small.snakemake(TABLE)
    assert done.returncode != 0 and "is damaged" in output(done) and "store --repair" in output(done)
    repaired = small.reprise("reprise", "store", "--repair")
    assert repaired.stdout.count("dropped line") == len(journals)
    assert small.snakemake(TABLE).returncode == 0 and numbers(small) == before


# --- results and keys ----------------------------------------------------------------------------------------------


def test_a_damaged_result_names_its_file(small: Project) -> None:
    flip(small.root / RANDOM)
    shutil.rmtree(small.root / "results/small/metrics")
    done = small.snakemake(TABLE)
    assert done.returncode != 0 and f"{RANDOM}: damaged" in output(done) and "Traceback" not in output(done)


def test_damaged_keys_and_ledgers_are_written_anew_by_a_dry_run_too(small: Project) -> None:
    before = numbers(small)
    for path in (small.root / "results/small/keys").rglob("*.json"):
        path.write_bytes(b"\xff\xfe" + path.read_bytes()[2:])
    for path in (small.root / "results/small/clips").rglob("*.parquet"):
        flip(path)
    (small.root / "results/suite.json").write_bytes(b"\xff")
    small.planned()
    assert not list((small.root / "results/small/clips").rglob("*.parquet"))
    ask_again(small)
    assert small.snakemake(TABLE).returncode == 0 and numbers(small) == before


def test_no_clock_hides_a_change(small: Project) -> None:
    """Results look newer than their key, as a job leaves them that went on after it had changed; or all is dated ahead."""
    before = file_digest(small.root / RANDOM)
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 7}")
    small.planned()  # writes the new key
    key = small.root / "results/small/keys/velociti/mc/fps1/random.json"
    os.utime(key, (time.time() - 100, time.time() - 100))
    for path in (small.root / "results").rglob("*"):
        if path.suffix in {".parquet", ".csv", ".md"} and "keys" not in path.parts:
            os.utime(path, (time.time() - 1, time.time() - 1))
    assert "infer" in small.made(TABLE) and file_digest(small.root / RANDOM) != before
    for path in (small.root / "results").rglob("*"):
        os.utime(path, (time.time() + 10_000, time.time() + 10_000))
    small.edit("config/models/random.yaml", "seed: 7", "seed: 8")
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


# --- what a user has on this machine --------------------------------------------------------------------------------


def test_an_edited_release_and_a_replaced_video_are_noticed(small: Project) -> None:
    rows = small.root / "release/rows.csv"
    rows.write_text(rows.read_text().replace("control 0 holds", "control 0 still holds"))
    assert {"release", "annotations"} <= set(small.made(TABLE))
    old = {path: file_digest(path) for path in objects(small, "sources")}
    make_video(small.root / "videos/aaaaaaaaaaa.mp4", 22, "testsrc")
    assert {path: file_digest(path) for path in objects(small, "sources")} == old, "the store has its own copy"
    assert {"sources", "clips", "infer"} <= set(small.made(TABLE))
    assert small.made(TABLE) == []


def test_a_release_that_its_disk_damaged_is_named(small: Project) -> None:
    """Size, date and inode stay as they were, by which a change is noticed before jobs are planned."""
    rows = small.root / "release/rows.csv"
    small.planned()  # the store then knows this copy's files
    status, content = rows.stat(), rows.read_bytes()
    with rows.open("r+b") as stream:
        stream.write(content.replace(b"control 0 holds", b"control 0 hokds"))
    os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
    for told in ("not the file that the release had", "not the file that this job was planned for"):
        done = small.snakemake(TABLE, "--forcerun", "annotations")
        assert done.returncode != 0 and f"rows.csv: {told}" in output(done) and "Traceback" not in output(done)
    rows.touch()
    assert {"release", "annotations"} <= set(small.made(TABLE))


# --- several people ------------------------------------------------------------------------------------------------


def test_nothing_changes_under_a_snakemake_that_works(small: Project) -> None:
    """Its locks stand for it; a dry run of another suite, and of a changed configuration, is told to wait."""
    small.write("config/suites/other.yaml", (small.root / "config/suites/small.yaml").read_text())
    locks = small.root / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/tables/table5.md\n")
    before = {path: file_digest(path) for path in (small.root / "results").rglob("*") if path.is_file()}
    assert small.planned() == [], "the same call may look"
    other = small.snakemake("--dry-run", "--config", "suite=other")
    small.edit("config/suites/small.yaml", "shards: 2", "shards: 3")
    changed = small.snakemake("--dry-run")
    child = "from reprise.plan.suite import load_suite; load_suite({}, ['--target-jobs', 'all:'])"
    assert small.run([sys.executable, "-c", child]).returncode == 0, "a job of the snakemake that works"
    for done in (other, changed):
        assert done.returncode != 0 and "another snakemake works in this folder" in output(done)
        assert "Traceback" not in output(done)
    assert {path: file_digest(path) for path in (small.root / "results").rglob("*") if path.is_file()} == before
    assert small.snakemake("--unlock").returncode == 0
    assert "sources" in small.planned()


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


# --- full disks ----------------------------------------------------------------------------------------------------


def test_a_key_file_that_cannot_be_written_is_one_message(small: Project) -> None:
    small.planned()  # the store then knows this copy's files
    small.edit("config/suites/small.yaml", "shards: 2", "shards: 3")
    code = "import resource; from reprise.core.errors import run_command;"
    code += "from reprise.plan.suite import load_suite; resource.setrlimit(resource.RLIMIT_FSIZE, (250, 250));"
    code += "run_command(lambda: load_suite({}))"
    done = small.run([sys.executable, "-c", code])
    assert done.returncode != 0 and "results/small/keys" in output(done)
    assert "File too large. Nothing was recorded" in output(done) and "Traceback" not in output(done)
