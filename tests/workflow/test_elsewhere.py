"""The workflow runs from any working directory, as a module of another workflow, and as snakedeploy deploys it."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, SUITE, TABLES, Project, own_copy

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


class Elsewhere(Project):
    """A working directory of the workflow that is not its own place."""

    @property
    def place(self) -> Path:
        return self.library or self.root

    def said(self, *arguments: str) -> str:
        """What a run that fails says."""
        done = self.snakemake(*arguments)
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow's own place, with the small suite."""
    return own_copy(prepared_small, tmp_path_factory.mktemp("place")).root


@pytest.fixture
def elsewhere(tmp_path: Path, place: Path) -> Elsewhere:
    (tmp_path / "elsewhere").mkdir()
    return Elsewhere(tmp_path / "elsewhere", library=place)


def test_results_lie_in_the_working_directory(elsewhere: Elsewhere, tmp_path: Path) -> None:
    place = elsewhere.place
    target = "results/small/metrics/velociti/entail/fps1/oracle.parquet"
    done = Elsewhere(place).snakemake("-d", str(elsewhere.root), target, COUNTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (elsewhere.root / target).is_file() and (elsewhere.root / "resources/store").is_dir()
    assert not (place / "results").exists() and not (place / "resources/store").exists()

    shown = elsewhere.reprise("reprise", "show", "velociti/table11")
    assert shown.returncode == 0 and "Samples" in shown.stdout, shown.stdout + shown.stderr


def test_what_snakedeploy_deploys_runs(elsewhere: Elsewhere) -> None:
    place, root = elsewhere.place, elsewhere.root
    for name in ("config", "profiles"):
        shutil.copytree(place / name, root / name)
    elsewhere.write("workflow/Snakefile", DEPLOYED.format(snakefile=place / "Snakefile"))
    # A suite and tables of one's own, named in the copies that snakedeploy made.
    elsewhere.write("config/suites/mine.yaml", SUITE.replace("config/tables/small.yaml", "config/tables/mine.yaml"))
    elsewhere.write("config/tables/mine.yaml", TABLES.replace("title: Samples", "title: Mine"))
    elsewhere.edit("config/config.yaml", "suite: small", "suite: mine")
    assert elsewhere.made(COUNTS) == ["annotations", "release", "statistics", "table"]
    assert "Mine" in (root / COUNTS).read_text() and (root / "results/mine/statistics").is_dir()
    assert elsewhere.planned(COUNTS) == []


def test_a_module_has_settings_over_the_shipped_ones(elsewhere: Elsewhere) -> None:
    settings = {"store": "kept", "samplings": {"two": {"rule": "linspace", "frames": 2}}}
    text = MODULE.format(name="vl", snakefile=elsewhere.place / "Snakefile", config=settings)
    own = f'\nrule mine:\n    input: "{COUNTS}"\n    output: "results/mine.txt"\n    shell: "wc -l {{input}} > {{output}}"\n'
    elsewhere.write("Snakefile", text + own)
    tables = TABLES.replace("sampling: fps1", "sampling: two")
    elsewhere.write("config/tables/small.yaml", tables)  # in place of the one that is beside the workflow
    assert elsewhere.made("results/mine.txt") == ["mine", "vl_annotations", "vl_release", "vl_statistics", "vl_table"]
    assert (elsewhere.root / "kept").is_dir() and not (elsewhere.root / "resources").exists()
    assert (elsewhere.root / "results/small/keys/velociti/entail/two/oracle.json").is_file()


def test_an_unknown_key_of_a_module_and_two_suites_in_one_folder_are_refused(elsewhere: Elsewhere) -> None:
    elsewhere.write("config/suites/other.yaml", SUITE)
    made = [
        MODULE.format(name=name, snakefile=elsewhere.place / "Snakefile", config={"suite": suite})
        for name, suite in (("one", "small"), ("two", "other"))
    ]
    elsewhere.write("Snakefile", made[0])
    assert elsewhere.made(COUNTS)
    kept = {path: path.read_bytes() for path in (elsewhere.root / "results").rglob("*") if path.is_file()}
    unknown = MODULE.format(name="vl", snakefile=elsewhere.place / "Snakefile", config={"suit": "small"})
    elsewhere.write("Snakefile", unknown)
    assert "`config:` of module 'vl': suit: unknown key. Did you mean 'suite'?" in elsewhere.said(COUNTS)
    elsewhere.write("Snakefile", "".join(made))
    said = elsewhere.said(COUNTS)
    assert "modules 'one' and 'two' are both Reprise" in said and "snakemake -d" in said
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_folder_that_cannot_be_written_is_named(elsewhere: Elsewhere) -> None:
    elsewhere.root.chmod(0o555)
    as_somebody = WITHOUT_OVERRIDE if os.geteuid() == 0 else []
    snakefile = str(elsewhere.place / "Snakefile")
    done = elsewhere.run([*as_somebody, sys.executable, "-m", "snakemake", "-n", "-s", snakefile, COUNTS])
    assert done.returncode != 0
    assert f"{elsewhere.root}: this working directory cannot be written" in done.stdout + done.stderr
    assert list(elsewhere.root.iterdir()) == []


def test_lint_says_nothing_but_what_the_documents_explain(elsewhere: Elsewhere) -> None:
    said = elsewhere.said("--lint", "-s", str(elsewhere.place / "Snakefile"))
    remarks = set(re.findall(r"^ +\* (.+?):?$", said, re.MULTILINE))
    assert remarks == {"Specify a conda environment or container for each rule."}
    page = (ROOT / "docs/howto/elsewhere.md").read_text()
    assert remarks.pop().rstrip(".") in page
