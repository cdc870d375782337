"""Test the workflow in another working directory, as a module of another workflow, and as deployed by snakedeploy."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.unit.permissions import OBEY_PERMISSIONS
from tests.workflow.conftest import ROOT, SUITE, TABLES, Project, copy_of, printed_text

COUNTS = "results/tables/velociti/table11.csv"
# `snakedeploy deploy-workflow` writes this to workflow/Snakefile, and copies config/, profiles/ and LICENSE.
DEPLOYED = """\
from snakemake.utils import min_version


min_version("6.10.0")


configfile: "config/config.yaml"


# declare https://github.com/owner/reprise as a module
module reprise:
    snakefile:
        "{snakefile}"
    config:
        config


# use all rules from https://github.com/owner/reprise
use rule * from reprise
"""
MODULE = """
module {name}:
    snakefile: "{snakefile}"
    config: {config}

use rule * from {name} as {name}_*
"""


@pytest.fixture(scope="module")
def workflow_root(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the workflow, with the small suite."""
    return copy_of(prepared_small, tmp_path_factory.mktemp("place")).root


@pytest.fixture
def elsewhere(tmp_path: Path, workflow_root: Path) -> Project:
    """Return a working directory outside the workflow's folder."""
    (tmp_path / "elsewhere").mkdir()
    return Project(tmp_path / "elsewhere", library=workflow_root)


def test_results_are_in_the_working_directory_and_temporary_files_in_scratch(
    elsewhere: Project, workflow_root: Path, finished_small: Path, tmp_path: Path
) -> None:
    run, disk = "small/responses/velociti/entail/fps1/oracle", tmp_path / "disk"
    target = f"results/{run}.parquet"
    site_config = ("--config", f"scratch={disk}")
    Project(workflow_root).run_rules("-d", str(elsewhere.root), target, COUNTS, *site_config)
    assert elsewhere.parquet(run).equals(Project(finished_small).parquet(run))
    store = elsewhere.root / "resources/store"
    assert any((store / "locks").iterdir())
    assert list((disk / f"reprise-{os.getuid()}").iterdir()) == [], "finished files were moved to the store"
    assert not (store / "tmp").exists(), "temporary files were only in scratch"
    assert not (workflow_root / "results").exists() and not (workflow_root / "resources/store").exists()
    assert "Samples" in elsewhere.call_reprise("show", "velociti/table11")


def test_a_report_has_no_paths_of_this_machine(elsewhere: Project, workflow_root: Path) -> None:
    """Users send the folder of a report, with its hidden files, to colleagues."""
    target = "results/report/index.html"
    elsewhere.write("config/suites/small.yaml", SUITE.replace("show_published: false", "show_published: true"))
    Project(workflow_root).run_rules("-d", str(elsewhere.root), target)
    files = [path for path in (elsewhere.root / "results/report").rglob("*") if path.is_file()]
    assert any("resources/published/" in path.read_text() for path in files if path.suffix == ".sum")
    for folder in (workflow_root, elsewhere.root):
        assert [path.name for path in files if str(folder).encode() in path.read_bytes()] == []
    assert Project(workflow_root).plan_rules("-d", str(elsewhere.root), target) == []


def test_what_snakedeploy_deploys_runs(elsewhere: Project, workflow_root: Path) -> None:
    for name in ("config", "profiles"):
        shutil.copytree(workflow_root / name, elsewhere.root / name)
    elsewhere.write("workflow/Snakefile", DEPLOYED.format(snakefile=workflow_root / "Snakefile"))
    # Add a suite and tables to the copies that snakedeploy made.
    elsewhere.write("config/suites/mine.yaml", SUITE.replace("config/tables/small.yaml", "config/tables/mine.yaml"))
    elsewhere.write("config/tables/mine.yaml", TABLES.replace("title: Samples", "title: Mine"))
    elsewhere.edit("config/config.yaml", "suite: small", "suite: mine")
    assert elsewhere.run_rules(COUNTS) == ["annotations", "release", "statistics", "table"]
    assert "Mine" in elsewhere.text(COUNTS) and (elsewhere.root / "results/mine/statistics").is_dir()
    assert elsewhere.plan_rules(COUNTS) == []


def test_an_unknown_key_of_a_module_and_two_suites_in_one_folder_are_refused(
    elsewhere: Project, workflow_root: Path
) -> None:
    elsewhere.write("config/suites/other.yaml", SUITE)
    first_module, second_module, invalid_module = (
        MODULE.format(name=name, snakefile=workflow_root / "Snakefile", config=config)
        for name, config in (
            ("one", {"suite": "small", "store": "kept"}),
            ("two", {"suite": "other"}),
            ("vl", {"suit": "small"}),
        )
    )
    elsewhere.write("Snakefile", first_module)
    assert elsewhere.run_rules(COUNTS) == ["one_annotations", "one_release", "one_statistics", "one_table"]
    assert (elsewhere.root / "kept").is_dir() and not (elsewhere.root / "resources").exists()
    files_before = {path: path.read_bytes() for path in (elsewhere.root / "results").rglob("*") if path.is_file()}
    elsewhere.write("Snakefile", invalid_module)
    assert "`config:` of module 'vl': suit: unknown key. Did you mean 'suite'?" in elsewhere.run_failing(COUNTS)
    elsewhere.write("Snakefile", first_module + second_module)
    output = elsewhere.run_failing(COUNTS)
    assert "modules 'one' and 'two' are both Reprise" in output and "snakemake -d" in output
    assert {path: path.read_bytes() for path in files_before} == files_before


def test_a_folder_that_cannot_be_written_is_named(elsewhere: Project, workflow_root: Path) -> None:
    elsewhere.root.chmod(0o555)
    command = [sys.executable, "-m", "snakemake", "-n", "-s", str(workflow_root / "Snakefile"), COUNTS]
    process = elsewhere.run([*OBEY_PERMISSIONS, *command])
    assert process.returncode and f"{elsewhere.root}: no permission to write to this working directory" in printed_text(
        process
    )
    assert list(elsewhere.root.iterdir()) == []


def test_the_documentation_explains_all_lint_remarks(elsewhere: Project, workflow_root: Path) -> None:
    output = elsewhere.run_failing("--lint", "-s", str(workflow_root / "Snakefile"))
    remarks = set(re.findall(r"^ +\* (.+?)(?: in line \d+)?:?$", output, re.MULTILINE))
    assert remarks == {"Path composition with '+'", "Specify a conda environment or container for each rule."}
    page = (ROOT / "docs/howto/elsewhere.md").read_text()
    assert all(remark.rstrip(".") in page for remark in remarks)
