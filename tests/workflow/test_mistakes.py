"""Mistakes that Snakemake would wrap, or that are met before it has a plan; the tables of messages stand in tests/unit/config."""

import re
import sys
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.plan.suite import load_suite

from tests.workflow.conftest import Project, both, own_copy

SCREEN_LINES, SCREEN_SIGNS = 24, 1500


@pytest.fixture(scope="module")
def project(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return own_copy(prepared_small, tmp_path_factory.mktemp("mistakes"))


def assert_helps(message: str, said: list[str]) -> None:
    assert all(words in message for words in said), message
    assert len(message.splitlines()) <= SCREEN_LINES and len(message) <= SCREEN_SIGNS, message
    assert not re.search(r"Traceback|^  File |Exception", message, re.MULTILINE), message


def test_a_profile_that_is_not_there(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    with pytest.raises(UserError, match="no profile 'profiles/slrum'.*'profiles/slurm'?"):
        load_suite({}, ["snakemake", "-n", "--workflow-profile=profiles/slrum"])


def test_a_library_without_its_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reprise.core.paths.WORKFLOW", tmp_path / "site-packages")
    with pytest.raises(UserError) as error:
        load_suite({}, ["snakemake"])
    said = [f"config/config.yaml: no such file in {tmp_path}", "Set the environment up in a clone"]
    assert_helps(str(error.value), said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "suite=small", "results/tables/table2.html"],
         ["'results/tables/table2.html' is no setting", "snakemake results/tables/table2.html --config suite=small"]),
        (["--config", "suite=smal"], ["Error: --config: suite: unknown suite 'smal'. Did you mean 'small'?"]),
        (["results/small/nothing.txt"], ["Error: results/small/nothing.txt: no rule makes it."]),
    ],
    ids=["swallowed target", "suite", "no rule"],
)  # fmt: skip
def test_snakemake_adds_nothing_to_a_mistake(project: Project, arguments: list[str], said: list[str]) -> None:
    done = project.snakemake("-n", *arguments)
    profile, *_ = done.stderr.splitlines()
    assert done.returncode == 1 and profile.startswith("Using workflow specific profile")
    assert_helps(done.stdout, said)
    assert "WorkflowError" not in done.stdout and "\nError: " not in done.stdout


def test_a_snakemake_of_another_environment(project: Project) -> None:
    """The library is nowhere on its path, nor is what shows a run: the workflow itself says so."""
    code = (
        "import sys; from pathlib import Path; "
        "sys.path[:] = [p for p in sys.path if not (Path(p) / 'reprise').is_dir()]; "
        "from snakemake.cli import main; main(['-n', '--cores', '1'])"
    )
    done = project.run([sys.executable, "-P", "-c", code])
    said = both(done)
    assert (
        done.returncode == 1
        and "This Snakemake is not of the project's environment" in said
        and "run .venv/bin/snakemake" in said
    )
    assert len(said.splitlines()) <= 5
