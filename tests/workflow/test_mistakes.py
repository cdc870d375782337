"""Test what `snakemake` shows for errors, dry runs and failing runs.

tests/unit/config tests the messages, and tests/unit/logger_plugin all other output of a run.
"""

import re
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import CompletedRun, Project, copy_of, printed_text

SCREEN_LINES, SCREEN_CHARACTERS = 24, 1500
TABLE = "results/tables/velociti/table2.md"
CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
# Progress, which a run prints after ten seconds.
STATUS = re.compile(r"^\d+ (?:s|min|h)\b[^:]*: ")


@pytest.fixture(scope="module")
def project(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_of(prepared_small, tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--config", "suite=small", "results/tables/table2.html"],
         ["'results/tables/table2.html' is not a setting", "snakemake results/tables/table2.html --config suite=small"]),
        (["--config", "suite=smal"], ["Error: --config: suite: unknown suite 'smal'. Did you mean 'small'?"]),
        (["results/small/nothing.txt"], ["Error: no rule creates results/small/nothing.txt."]),
        ([TABLE, "--set-resources", "infer:runtime=2hours3"], ["could not be parsed as minutes"]),
    ],
    ids=["swallowed target", "suite", "no rule", "resource"],
)  # fmt: skip
def test_snakemake_adds_nothing_to_an_error_message(
    project: Project, arguments: list[str], messages: list[str]
) -> None:
    process = project.snakemake("-n", *arguments)
    profile, *_ = process.stderr.splitlines()
    assert process.returncode == 1 and profile.startswith("Using workflow specific profile")
    assert all(message in process.stdout for message in messages), process.stdout
    assert len(process.stdout.splitlines()) <= SCREEN_LINES and len(process.stdout) <= SCREEN_CHARACTERS, process.stdout
    assert not re.search(r"Traceback|^  File |Exception", process.stdout, re.MULTILINE), process.stdout
    # The message comes first, and there is no second one.
    assert "WorkflowError" not in process.stdout and "\nError: " not in process.stdout


def test_a_snakemake_of_another_environment(project: Project) -> None:
    """Neither the library nor the logger plugin can be imported, so the Snakefile prints the error."""
    code = (
        "import sys; from pathlib import Path; "
        "sys.path[:] = [p for p in sys.path if not (Path(p) / 'reprise').is_dir()]; "
        "from snakemake.cli import main; main(['-n', '--cores', '1'])"
    )
    process = project.run([sys.executable, "-P", "-c", code])
    output = printed_text(process)
    assert process.returncode == 1 and len(output.splitlines()) <= 5
    assert "This Snakemake does not run in the project's environment" in output and "run .venv/bin/snakemake" in output


def screen_lines(process: CompletedRun) -> list[str]:
    """Return all lines except Snakemake's line about its profile, and progress."""
    text = printed_text(process)
    assert not CONTROL_CHARACTERS.search(text)
    lines = [line for line in text.splitlines() if not line.startswith("Using workflow specific profile")]
    return [line for line in lines if not STATUS.match(line)]


def test_a_dry_run_shows_old_and_new_settings(small: Project) -> None:
    small.edit("config/models/oracle.yaml", "adapter: oracle", "adapter: random")
    process = small.snakemake("-n", TABLE)
    lines = screen_lines(process)
    assert process.returncode == 0 and lines[0] == "4 jobs would run:" and len(lines) < 24
    assert re.fullmatch(r" +1  infer +changed settings; velociti", lines[1])
    assert re.fullmatch(r" +1  verdicts +depends on another job; velociti", lines[2])
    assert "  adapter: oracle -> random" in lines and "    affects: infer velociti/entail/fps1/oracle" in lines


def test_a_failure_is_one_line_with_exit_status_1(small: Project) -> None:
    small.edit("release/rows.csv", "test_name", "test")
    process = small.snakemake(TABLE)
    lines, log = screen_lines(process), "results/small/logs/annotations/velociti.log"
    (failure_line,) = [line for line in lines if line.startswith("FAILED ")]
    assert process.returncode == 1 and "column 'test_name' is missing. Found: test, video_id" in failure_line
    assert failure_line.startswith("FAILED annotations velociti: ") and failure_line.endswith(f" (log: {log})")
    assert failure_line[len("FAILED annotations velociti: ") :].partition(" (log")[0] in small.text(log)
    assert any(line.startswith("Not finished after ") for line in lines) and "Traceback" not in "".join(lines)
    assert any("--logger-reprise-full" in line for line in lines) and len(lines) < 12
    assert not list((small.root / "results/small/annotations").rglob("*.parquet"))
