"""Changed files, another clone and another snakemake: noticed, or an error that names the file.

Kills, full disks, damage and clocks are tried at every stage by tests/faults.
"""

import os
import shutil
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest

from tests.workflow.conftest import Project, make_video

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
    assert "rows.csv: not the file that " in small.refused(TABLE, "--forcerun", "annotations")


def test_a_snakemake_that_works_is_waited_for_and_pruning_spares_what_another_clone_names(
    small: Project, tmp_path: Path
) -> None:
    small.planned()
    clone = Project(tmp_path / "clone")
    shutil.copytree(small.root, clone.root, symlinks=True, ignore=shutil.ignore_patterns("store", "results"))
    clone.edit("config/config.yaml", "suite: small", f"suite: small\nstore: {small.root}/resources/store")
    clone.made("results/small/annotations/velociti/clips.parquet")  # a job tells the store of the clone
    shutil.rmtree(small.root / ".snakemake/locks", ignore_errors=True)
    before = objects(small, "clips")
    clone.called("store", "--prune", "--yes")
    assert objects(small, "clips") == before, "the clone names nothing, the other one does"
    lock = small.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x\n")
    with pytest.raises(UserError, match=f"snakemake works in {small.root}"):
        clone.called("store", "--prune", "--yes")


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
    assert "made with other settings or inputs than there are now" in said
    assert "results/small/responses/velociti/" in said and "no answer is lost: rm " in said


def test_touched_and_copied_results_are_refused_by_name(small: Project) -> None:
    requests = small.root / "results/small/requests/velociti/mc.parquet"
    responses = small.root / "results/small/responses/velociti/mc/fps1/random.parquet"
    other = small.root / "results/small/requests/velociti/entail.parquet"
    content = requests.read_bytes()
    requests.write_bytes(other.read_bytes())
    os.utime(requests, (1, 1))
    assert f"(another {requests.relative_to(small.root)})" in small.refused("--dry-run")
    requests.write_bytes(content)
    os.utime(responses, (2**32, 2**32))
    said = small.refused("--dry-run")
    assert "dated in the future" in said and str(responses.relative_to(small.root)) in said
