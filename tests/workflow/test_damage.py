"""Changed files, another clone and another snakemake: noticed, or an error that names the file.

Kills, full disks, damage and clocks are tried at every stage by tests/faults.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest

from tests.workflow.conftest import Project, both, make_video

TABLE = "results/tables/velociti/table5.csv"


def objects(project: Project, kind: str) -> list[Path]:
    return sorted((project.root / "resources/store" / kind).rglob("*.mp4"))


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
    assert "rows.csv: changed since " in small.refused(TABLE, "--forcerun", "annotations")


def test_pruning_waits_for_snakemake_and_keeps_what_a_named_working_directory_uses(
    small: Project, tmp_path: Path
) -> None:
    small.planned()
    other = Project(tmp_path / "other")
    shutil.copytree(small.root, other.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    other.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    before = objects(small, "clips")
    with pytest.raises(UserError, match="other working directories may use it. Nothing was changed"):
        other.called("store", "--prune", "--yes")
    other.called("store", "--prune", "--yes", "--used-by", str(small.root))
    assert objects(small, "clips") == before, "this one has no results, the other one names them"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    with pytest.raises(UserError, match=f"snakemake is running in {small.root}"):
        other.called("store", "--prune", "--yes", "--used-by", str(small.root))


def test_parsing_and_dry_runs_change_nothing_in_the_working_directory(fresh: Project) -> None:
    def state() -> dict[Path, tuple[int, bytes]]:
        files = (path for path in fresh.root.rglob("*") if path.is_file() and ".snakemake" not in path.parts)
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files if "__pycache__" not in path.parts}

    before = state()
    assert "infer" in fresh.planned()
    assert state() == before, "in a fresh clone"
    fresh.made(TABLE)
    before = state()
    fresh.edit("config/models/always-first.yaml", "label:", "label: Other #")
    after_edit = state()
    assert fresh.planned() and state() == after_edit


def test_moved_and_renamed_code_reruns_nothing(small: Project) -> None:
    """Versions decide what is made again, so that a refactoring is free."""
    for name, old, new in (
        ("core/files.py", "def canonical_json(value: Any) -> str:", "def _unused() -> None:\n    pass\n\n\ndef canonical_json(value: Any) -> str:"),
        ("stages/metrics.py", "names", "labels"),
        ("media/sampling.py", "from", "# moved\nfrom"),
    ):  # fmt: skip
        small.edit(f"workflow/reprise/{name}", old, new)
    assert small.planned() == []


def test_lost_records_of_snakemake_neither_mix_results_nor_hide_a_change(small: Project) -> None:
    shutil.rmtree(small.root / ".snakemake")
    assert small.planned() == [], "results made with today's settings are kept"
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    said = small.refused("--dry-run")
    assert "outdated results that Snakemake would keep" in said
    assert "results/small/responses/velociti/" in said and "no answer is lost: rm " in said


def test_what_is_to_be_deleted_makes_all_that_depends_on_a_change_anew(small: Project) -> None:
    shutil.rmtree(small.root / ".snakemake")
    small.edit("config/tables/small.yaml", "caption: Choice.", "caption: Another.")
    collected = small.root / "results/tables/table5.md"
    for _ in range(2):  # a few files are named, many by their folders
        _, _, command = small.refused(str(collected.relative_to(small.root))).partition("no answer is lost: ")
        subprocess.run(["bash", "-c", command], cwd=small.root, check=True)
        assert not collected.is_file()
        done = small.snakemake(str(collected.relative_to(small.root)))
        assert done.returncode == 0, both(done)
        assert "Another." in collected.read_text()
        shutil.rmtree(small.root / ".snakemake")
        small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")


def test_touched_and_copied_results_are_refused_by_name(small: Project) -> None:
    requests = small.root / "results/small/requests/velociti/mc.parquet"
    responses = small.root / "results/small/responses/velociti/mc/fps1/random.parquet"
    other = small.root / "results/small/requests/velociti/entail.parquet"
    content = requests.read_bytes()
    requests.write_bytes(other.read_bytes())
    os.utime(requests, (1, 1))
    assert f"({requests.relative_to(small.root)} changed)" in small.refused("--dry-run")
    requests.write_bytes(content)
    os.utime(responses, (2**32, 2**32))
    said = small.refused("--dry-run")
    assert "dated in the future" in said and str(responses.relative_to(small.root)) in said


def test_a_result_under_the_name_of_another_one_is_refused(small: Project) -> None:
    tables = small.root / "results/tables/velociti"
    for kind in ("tex", "csv", "md", "html"):
        shutil.copy(tables / f"table2.{kind}", tables / f"table5.{kind}")
        shutil.copy(tables / f".table2.{kind}.sum", tables / f".table5.{kind}.sum")
    said = small.refused("--dry-run")
    assert "table5.md (made as results/tables/velociti/table2.md)" in said
    shutil.rmtree(tables)
    metrics = small.root / "results/small/metrics/velociti/mc/fps1"
    shutil.copy2(metrics / "always-first.parquet", metrics / "random.parquet")
    assert "random.parquet (made as results/small/metrics/velociti/mc/fps1/always-first.parquet)" in small.refused("-n")


def test_what_snakemake_is_told_not_to_look_at_is_compared(small: Project) -> None:
    small.edit("config/tables/small.yaml", "caption: Choice.", "caption: Another.")
    assert "table" in small.planned()
    assert "table5.csv (settings of tables/velociti/table5 changed)" in small.refused("-n", "--rerun-triggers", "mtime")


def test_edited_tables_and_tables_without_a_record_are_refused(small: Project) -> None:
    table = small.root / "results/tables/velociti/table5.md"
    content = table.read_text()
    table.write_text(content.replace("Choice", "Edited"))
    assert "table5.md (edited)" in small.refused("--dry-run")
    table.write_text(content)
    shutil.rmtree(small.root / ".snakemake")
    assert set(small.planned()) <= {"all", "collected_table"}, "the table is what was written, and has a new date"
    table.with_name(".table5.md.sum").unlink()
    assert "table5.md (without a record of its settings)" in small.refused("--dry-run")


def test_what_is_to_be_repeated_is_not_forgotten_with_the_records_of_snakemake(small: Project) -> None:
    objects(small, "clips").pop().unlink()
    assert small.planned().count("clips") == 1
    shutil.rmtree(small.root / ".snakemake")
    assert "parquet (sources or clips lost)" in small.refused("--dry-run")
