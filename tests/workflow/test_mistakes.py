"""What `snakemake` shows of a mistake, of a dry run and of a run that fails.

The tables of messages stand in tests/unit/config, all else that a run shows in tests/unit/logger_plugin.
"""

import re
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import Done, Project, both, own_copy

SCREEN_LINES, SCREEN_SIGNS = 24, 1500
TABLE = "results/tables/velociti/table2.md"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
# How far it is, on a machine that takes longer than the ten seconds after which that is said.
STATUS = re.compile(r"^\d+ (?:s|min|h)\b[^:]*: ")


@pytest.fixture(scope="module")
def project(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return own_copy(prepared_small, tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "suite=small", "results/tables/table2.html"],
         ["'results/tables/table2.html' is not a setting", "snakemake results/tables/table2.html --config suite=small"]),
        (["--config", "suite=smal"], ["Error: --config: suite: unknown suite 'smal'. Did you mean 'small'?"]),
        (["results/small/nothing.txt"], ["Error: no rule creates results/small/nothing.txt."]),
        ([TABLE, "--set-resources", "infer:runtime=2hours3"], ["could not be parsed as minutes"]),
    ],
    ids=["swallowed target", "suite", "no rule", "resource"],
)  # fmt: skip
def test_snakemake_adds_nothing_to_a_mistake(project: Project, arguments: list[str], said: list[str]) -> None:
    done = project.snakemake("-n", *arguments)
    profile, *_ = done.stderr.splitlines()
    assert done.returncode == 1 and profile.startswith("Using workflow specific profile")
    assert all(words in done.stdout for words in said), done.stdout
    assert len(done.stdout.splitlines()) <= SCREEN_LINES and len(done.stdout) <= SCREEN_SIGNS, done.stdout
    assert not re.search(r"Traceback|^  File |Exception", done.stdout, re.MULTILINE), done.stdout
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
    assert done.returncode == 1 and len(said.splitlines()) <= 5
    assert "This Snakemake does not run in the project's environment" in said and "run .venv/bin/snakemake" in said


def shown(done: Done) -> list[str]:
    """All lines but Snakemake's own about its profile, and those that say how far it is."""
    text = both(done)
    assert not CONTROL.search(text)
    lines = [line for line in text.splitlines() if not line.startswith("Using workflow specific profile")]
    return [line for line in lines if not STATUS.match(line)]


def test_a_dry_run_says_what_changed_from_what_to_what(small: Project) -> None:
    small.edit("config/models/oracle.yaml", "adapter: oracle", "adapter: random")
    done = small.snakemake("-n", TABLE)
    lines = shown(done)
    assert done.returncode == 0 and lines[0] == "4 jobs would run:" and len(lines) < 24
    assert re.fullmatch(r" +1  infer +changed settings; velociti", lines[1])
    assert re.fullmatch(r" +1  verdicts +depends on another job; velociti", lines[2])
    assert "  adapter: oracle -> random" in lines and "    affects: infer velociti/entail/fps1/oracle" in lines


def test_a_failure_is_one_line_and_the_exit_code_says_it(small: Project) -> None:
    small.edit("release/rows.csv", "test_name", "test")
    done = small.snakemake(TABLE)
    lines, log = shown(done), "results/small/logs/annotations/velociti.log"
    (failed,) = [line for line in lines if line.startswith("FAILED ")]
    assert done.returncode == 1 and "column 'test_name' is missing. Found: test, video_id" in failed
    assert failed.startswith("FAILED annotations velociti: ") and failed.endswith(f" (log: {log})")
    assert failed[len("FAILED annotations velociti: ") :].partition(" (log")[0] in small.text(log)
    assert any(line.startswith("Not finished after ") for line in lines) and "Traceback" not in "".join(lines)
    assert any("--logger-reprise-full" in line for line in lines) and len(lines) < 12
    assert not list((small.root / "results/small/annotations").rglob("*.parquet"))
