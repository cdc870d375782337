"""The workflow runs from any working directory, as a module of another workflow, and as snakedeploy deploys it."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, SUITE, TABLES, Project, both, own_copy

COUNTS = "results/tables/velociti/table11.csv"
# What `snakedeploy deploy-workflow` writes to workflow/Snakefile, beside its copies of config/, profiles/ and LICENSE.
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
WITHOUT_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""for root, who may write anywhere otherwise"""


@pytest.fixture(scope="module")
def place(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow's own place, with the small suite."""
    return own_copy(prepared_small, tmp_path_factory.mktemp("place")).root


@pytest.fixture
def elsewhere(tmp_path: Path, place: Path) -> Project:
    """A working directory of the workflow that is not its own place."""
    (tmp_path / "elsewhere").mkdir()
    return Project(tmp_path / "elsewhere", library=place)


def test_results_lie_in_the_working_directory_and_work_in_progress_where_the_site_says(
    elsewhere: Project, place: Path, finished_small: Path, tmp_path: Path
) -> None:
    run, disk = "small/responses/velociti/entail/fps1/oracle", tmp_path / "disk"
    target = f"results/{run}.parquet"
    site = ("--config", f"scratch={disk}")
    Project(place).made("-d", str(elsewhere.root), target, COUNTS, *site)
    assert elsewhere.parquet(run).equals(Project(finished_small).parquet(run))
    store = elsewhere.root / "resources/store"
    assert any((store / "locks").iterdir())
    assert list((disk / f"reprise-{os.getuid()}").iterdir()) == [], "what was finished was moved to the store"
    assert not (store / "tmp").exists(), "nothing was written there meanwhile"
    assert not (place / "results").exists() and not (place / "resources/store").exists()
    assert "Samples" in elsewhere.called("show", "velociti/table11")


def test_what_snakedeploy_deploys_runs(elsewhere: Project, place: Path) -> None:
    for name in ("config", "profiles"):
        shutil.copytree(place / name, elsewhere.root / name)
    elsewhere.write("workflow/Snakefile", DEPLOYED.format(snakefile=place / "Snakefile"))
    # A suite and tables of one's own, named in the copies that snakedeploy made.
    elsewhere.write("config/suites/mine.yaml", SUITE.replace("config/tables/small.yaml", "config/tables/mine.yaml"))
    elsewhere.write("config/tables/mine.yaml", TABLES.replace("title: Samples", "title: Mine"))
    elsewhere.edit("config/config.yaml", "suite: small", "suite: mine")
    assert elsewhere.made(COUNTS) == ["annotations", "release", "statistics", "table"]
    assert "Mine" in elsewhere.text(COUNTS) and (elsewhere.root / "results/mine/statistics").is_dir()
    assert elsewhere.planned(COUNTS) == []


def test_an_unknown_key_of_a_module_and_two_suites_in_one_folder_are_refused(elsewhere: Project, place: Path) -> None:
    elsewhere.write("config/suites/other.yaml", SUITE)
    one, two, unknown = (
        MODULE.format(name=name, snakefile=place / "Snakefile", config=config)
        for name, config in (
            ("one", {"suite": "small", "store": "kept"}),
            ("two", {"suite": "other"}),
            ("vl", {"suit": "small"}),
        )
    )
    elsewhere.write("Snakefile", one)
    assert elsewhere.made(COUNTS) == ["one_annotations", "one_release", "one_statistics", "one_table"]
    assert (elsewhere.root / "kept").is_dir() and not (elsewhere.root / "resources").exists()
    kept = {path: path.read_bytes() for path in (elsewhere.root / "results").rglob("*") if path.is_file()}
    elsewhere.write("Snakefile", unknown)
    assert "`config:` of module 'vl': suit: unknown key. Did you mean 'suite'?" in elsewhere.refused(COUNTS)
    elsewhere.write("Snakefile", one + two)
    said = elsewhere.refused(COUNTS)
    assert "modules 'one' and 'two' are both Reprise" in said and "snakemake -d" in said
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_folder_that_cannot_be_written_is_named(elsewhere: Project, place: Path) -> None:
    elsewhere.root.chmod(0o555)
    as_somebody = WITHOUT_OVERRIDE if os.geteuid() == 0 else []
    command = [sys.executable, "-m", "snakemake", "-n", "-s", str(place / "Snakefile"), COUNTS]
    done = elsewhere.run([*as_somebody, *command])
    assert done.returncode and f"{elsewhere.root}: no permission to write to this working directory" in both(done)
    assert list(elsewhere.root.iterdir()) == []


def test_lint_says_nothing_but_what_the_documents_explain(elsewhere: Project, place: Path) -> None:
    said = elsewhere.refused("--lint", "-s", str(place / "Snakefile"))
    remarks = set(re.findall(r"^ +\* (.+?)(?: in line \d+)?:?$", said, re.MULTILINE))
    assert remarks == {"Path composition with '+'", "Specify a conda environment or container for each rule."}
    page = (ROOT / "docs/howto/elsewhere.md").read_text()
    assert all(remark.rstrip(".") in page for remark in remarks)
