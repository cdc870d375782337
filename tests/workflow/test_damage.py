"""Test that changed files, another clone and another snakemake are noticed, or cause an error that names the file.

tests/faults tests kills, full disks, damaged files and clocks at each stage.
"""

import os
import shutil
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest

from tests.workflow.conftest import Project, make_video, printed_text

TABLE = "results/tables/velociti/table5.csv"


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


def test_an_edited_release_and_a_replaced_video_are_noticed(small: Project) -> None:
    rows = small.root / "release/rows.csv"
    rows.write_text(rows.read_text().replace("control 0 holds", "control 0 still holds"))
    digest_by_object = {path: file_digest(path) for path in objects(small, "sources")}
    make_video(small.root / "videos/aaaaaaaaaaa.mp4", 22, "testsrc")
    assert {"release", "annotations", "sources", "clips", "infer"} <= set(small.run_rules(TABLE))
    assert {path: file_digest(path) for path in digest_by_object} == digest_by_object, "the store keeps its copies"
    # Planning notices a change by size, date and inode, which stay the same here.
    status, content = rows.stat(), rows.read_bytes()
    with rows.open("r+b") as stream:
        stream.write(content.replace(b"control 1 holds", b"control 1 hokds"))
    os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "rows.csv: changed since " in small.run_failing(TABLE, "--forcerun", "annotations")


def test_pruning_waits_for_snakemake_and_keeps_files_that_others_use(small: Project, tmp_path: Path) -> None:
    small.plan_rules()
    other_project = Project(tmp_path / "other")
    shutil.copytree(small.root, other_project.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    other_project.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    clips_before = objects(small, "clips")
    with pytest.raises(UserError, match="other working directories may use it. Nothing was changed"):
        other_project.call_reprise("store", "--prune", "--yes")
    other_project.call_reprise("store", "--prune", "--yes", "--used-by", str(small.root))
    assert objects(small, "clips") == clips_before, "the results of the named directory use these clips"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    with pytest.raises(UserError, match=f"snakemake is running in {small.root}"):
        other_project.call_reprise("store", "--prune", "--yes", "--used-by", str(small.root))


def test_dry_runs_change_nothing_in_the_working_directory(fresh: Project) -> None:
    def state() -> dict[Path, tuple[int, bytes]]:
        files = (path for path in fresh.root.rglob("*") if path.is_file() and ".snakemake" not in path.parts)
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files if "__pycache__" not in path.parts}

    state_before = state()
    assert "infer" in fresh.plan_rules()
    assert state() == state_before, "in a fresh clone"
    fresh.run_rules(TABLE)
    state_before = state()
    fresh.edit("config/models/always-first.yaml", "label:", "label: Other #")
    after_edit = state()
    assert fresh.plan_rules() and state() == after_edit


def test_moved_and_renamed_code_reruns_nothing(small: Project) -> None:
    """Only the versions of stages cause reruns."""
    for name, old, new in (
        ("core/files.py", "def canonical_json(value: Any) -> str:", "def _unused() -> None:\n    pass\n\n\ndef canonical_json(value: Any) -> str:"),
        ("stages/metrics.py", "names", "labels"),
        ("media/sampling.py", "from", "# moved\nfrom"),
    ):  # fmt: skip
        small.edit(f"workflow/reprise/{name}", old, new)
    assert small.plan_rules() == []


def test_lost_snakemake_metadata_does_not_hide_a_change(small: Project) -> None:
    shutil.rmtree(small.root / ".snakemake")
    assert small.plan_rules() == [], "results with the current settings are kept"
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    output = small.run_failing("--dry-run")
    assert "outdated results that Snakemake would keep" in output
    assert "results/small/responses/velociti/" in output and "no answer is lost: rm " in output


def test_a_result_of_an_unfinished_job_is_made_again(small: Project) -> None:
    """A kill while a job writes its results may leave one that does not match its provenance."""
    table = "results/tables/table5.md"
    (small.root / table).write_text("half of a table")
    assert f"{table} (edited)" in small.run_failing("--dry-run")
    mark = small.root / ".snakemake/incomplete" / urlsafe_b64encode(table.encode()).decode()
    mark.write_text("{}")
    assert "collected_table" in small.plan_rules()
    small.run_rules(table)
    assert not mark.exists() and "half of a table" not in small.text(table)


def test_the_deletion_command_reruns_all_that_depends_on_a_change(small: Project) -> None:
    shutil.rmtree(small.root / ".snakemake")
    small.edit("config/tables/small.yaml", "caption: Choice.", "caption: Another.")
    collected = small.root / "results/tables/table5.md"
    for _ in range(2):  # The command names a few files, or the folders of many files.
        _, _, command = small.run_failing(str(collected.relative_to(small.root))).partition("no answer is lost: ")
        subprocess.run(["bash", "-c", command], cwd=small.root, check=True)
        assert not collected.is_file()
        process = small.snakemake(str(collected.relative_to(small.root)))
        assert process.returncode == 0, printed_text(process)
        assert "Another." in collected.read_text()
        shutil.rmtree(small.root / ".snakemake")
        small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")


def test_touched_and_copied_results_are_refused_by_name(small: Project) -> None:
    requests = small.root / "results/small/requests/velociti/mc.parquet"
    responses = small.root / "results/small/responses/velociti/mc/fps1/random.parquet"
    other_requests = small.root / "results/small/requests/velociti/entail.parquet"
    content = requests.read_bytes()
    requests.write_bytes(other_requests.read_bytes())
    os.utime(requests, (1, 1))
    assert f"({requests.relative_to(small.root)} changed)" in small.run_failing("--dry-run")
    requests.write_bytes(content)
    os.utime(responses, (2**32, 2**32))
    output = small.run_failing("--dry-run")
    assert "dated in the future" in output and str(responses.relative_to(small.root)) in output


def test_a_result_at_the_path_of_another_is_refused(small: Project) -> None:
    tables = small.root / "results/tables/velociti"
    for kind in ("tex", "csv", "md", "html"):
        shutil.copy(tables / f"table2.{kind}", tables / f"table5.{kind}")
        shutil.copy(tables / f".table2.{kind}.sum", tables / f".table5.{kind}.sum")
    output = small.run_failing("--dry-run")
    assert "table5.md (made as results/tables/velociti/table2.md)" in output
    shutil.rmtree(tables)
    metrics = small.root / "results/small/metrics/velociti/mc/fps1"
    shutil.copy2(metrics / "always-first.parquet", metrics / "random.parquet")
    assert "random.parquet (made as results/small/metrics/velociti/mc/fps1/always-first.parquet)" in small.run_failing(
        "-n"
    )


def test_settings_are_compared_despite_disabled_rerun_triggers(small: Project) -> None:
    small.edit("config/tables/small.yaml", "caption: Choice.", "caption: Another.")
    assert "table" in small.plan_rules()
    assert "table5.csv (settings of tables/velociti/table5 changed)" in small.run_failing(
        "-n", "--rerun-triggers", "mtime"
    )


def test_edited_tables_and_tables_without_a_record_are_refused(small: Project) -> None:
    table = small.root / "results/tables/velociti/table5.md"
    content = table.read_text()
    table.write_text(content.replace("Choice", "Edited"))
    assert "table5.md (edited)" in small.run_failing("--dry-run")
    table.write_text(content)
    shutil.rmtree(small.root / ".snakemake")
    assert set(small.plan_rules()) <= {"all", "collected_table"}, "the table has its original content and a new date"
    table.with_name(".table5.md.sum").unlink()
    assert "table5.md (without a record of its settings)" in small.run_failing("--dry-run")


def test_lost_snakemake_metadata_does_not_hide_a_lost_clip(small: Project) -> None:
    objects(small, "clips").pop().unlink()
    assert small.plan_rules().count("clips") == 1
    shutil.rmtree(small.root / ".snakemake")
    assert "parquet (sources or clips lost)" in small.run_failing("--dry-run")
