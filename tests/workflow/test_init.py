"""Test the installed package: a wheel from a source distribution, and a working directory that `reprise init` creates."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, Project

TABLE = "results/tables/table3.md"
BUILD_SDIST = "from setuptools import build_meta; build_meta.build_sdist('dist')"


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose `workflow/` is the installed wheel of a copy of the project."""
    folder = tmp_path_factory.mktemp("installation")
    source = folder / "source"
    files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=ROOT).splitlines()
    for file in filter(lambda name: (ROOT / name).is_file(), files):
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_bytes((ROOT / file).read_bytes())
    for name in ("resources/store/video.mp4", "resources/imports/__pycache__/a.pyc"):  # Not part of the package.
        Project(source).write(name, "")
    run(sys.executable, "-c", BUILD_SDIST, folder=source)
    pip = sys.executable, "-m", "pip", "--no-cache-dir"
    (sdist,) = (source / "dist").iterdir()
    run(*pip, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", "wheels", str(sdist), folder=folder)
    (wheel,) = (folder / "wheels").iterdir()
    assert wheel.stat().st_size < 20e6
    options = "--no-index", "--no-deps", "--no-compile", "--target", "workflow"
    run(*pip, "install", *options, str(wheel), folder=folder)
    return folder


@pytest.fixture(scope="module")
def working(installation: Path) -> Project:
    """Return a working directory of the installed package."""
    output = Project(installation, library=installation).reprise_output("init", "my folder")
    assert f"in {installation}/my folder. Next:\n\n  cd 'my folder'\n  snakemake all report" in output
    assert f"documentation: {installation}/workflow/reprise/project\n" in output
    return Project(installation / "my folder", library=installation)


def run(*command: str, folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_package_has_the_files_of_the_workflow_and_no_others(installation: Path) -> None:
    packaged = installation / "workflow/reprise/project"
    names = {str(path.relative_to(packaged)) for path in packaged.rglob("*") if path.is_file()}
    folders = "config", "profiles", "envs", "resources", "workflow/rules", "workflow/report"
    source_files = run("git", "ls-files", *folders, folder=ROOT).splitlines()
    expected = {name for name in source_files if not name.startswith("resources/demo/training/")}
    assert expected <= names
    remainder = {name for name in names - expected if not name.startswith("docs/")}
    assert remainder == {"Snakefile", "workflow/construction/rules.smk", "workflow/human_evaluation/rules.smk"}
    assert not (installation / "workflow/construction/rules.smk").exists(), "there is one copy"


def test_the_workflow_runs_in_a_new_working_directory(working: Project) -> None:
    planned = working.snakemake("--dry-run")
    assert planned.returncode == 0 and "collected_table" in planned.stdout and "default" not in planned.stdout
    assert "construction_source" in working.snakemake("--list-rules", "--config", "suite=construction").stdout
    working.run_rules(TABLE, "--config", "suite=paper")
    assert "83.0" in working.reprise_output("show", "velociti/table3", "--config", "suite=paper")
    assert sorted(path.name for path in (working.root / "resources").iterdir()) == ["store"]
