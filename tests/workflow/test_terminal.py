"""Test that commands that run a model, or write its files, fit terminals of 80 and 120 columns."""

import sys
from pathlib import Path

import pytest

from tests.unit.commands.terminal import check_process_widths, check_widths
from tests.workflow.conftest import Project

RUN = "velociti/entail/fps1/oracle"


@pytest.mark.parametrize(
    ("command_line", "text"),
    [
        ("check toy-llava-ov --questions 8", "main memory:"),
        ("eval toy-llava-ov --dry-run", "1 job would run"),
        ("temporal toy-llava-ov --dry-run", "Models that would be queried"),
        ("eval nowhere/to/find/a/model", "Error: eval: no folder 'nowhere/to/find/a/model'"),
        ("publish velociti/entail/fps1/no-such-model", "Error: no run 'velociti/entail/fps1/no-such-model'"),
    ],
)
def test_commands_that_run_a_model_fit_a_terminal(toy: Project, command_line: str, text: str) -> None:
    command = [sys.executable, "-m", "reprise", *command_line.split()]
    assert text in check_process_widths(command, toy.root, toy.environment)


def test_commands_that_write_files_fit_a_terminal(
    toy: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.root)
    check_widths(f"publish {RUN}", monkeypatch)
    check_widths(f"publish {RUN} --to {tmp_path}/a-folder-with-a-long-name/and-another-one-inside", monkeypatch)
    check_widths(f"export {RUN} --to {tmp_path}/exported", monkeypatch)
