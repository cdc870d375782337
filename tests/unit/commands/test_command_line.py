"""Test the command line of `reprise`: each command calls its function, and mistakes end with one message."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from reprise.__main__ import app
from reprise.commands.evaluation_options import EvaluationOptions
from reprise.core.version import VERSION
from typer.testing import CliRunner

from tests.unit.core.programs import write

RUN, OTHER_RUN = "vinoground/paper/linspace8/oracle", "vinoground/paper/linspace8/random"


@pytest.mark.parametrize(
    ("command_line", "target", "arguments"),
    [
        (["compare", RUN, OTHER_RUN], "compare:compare_runs", (RUN, OTHER_RUN, None)),
        (["show", "table3", "--config", "suite=paper"], "show:show_tables", ("table3", "paper")),
        (["trace", "a/table1", "--row", "R", "--column", "C"], "show:trace_cell", ("a/table1", "R", "C", None)),
        (["item", RUN, "an/item#pos", "--config", "suite=paper"], "item:show_item", (RUN, "an/item#pos", "paper")),
        (["runs"], "runs:list_runs", (None,)),
        (["plan", "a/table1", RUN, "--all", "--config", "suite=paper", "--benchmarks", "a,b"], "plan:show_plan", (["a/table1", RUN], True, "paper", "a,b")),
        (["why", RUN, "--config", "suite=paper"], "runs:explain_run", (RUN, "paper")),
        (["missing", "--all"], "runs:list_missing", (None, True)),
        (["incomplete", "--config", "suite=paper", "a/table1", "b/table2"], "runs:list_incomplete", (["a/table1", "b/table2"], "paper")),
        (["export", RUN, "--to", "out"], "answers:export_run", (RUN, Path("out"), None)),
        (["pin", "paper", "--unchecked"], "pin:pin_files", (Path(), ["paper"], True)),
        (["check", "a-model", "--questions", "9", "--config", "suite=paper", "--benchmarks", "a"], "check:check_model", ("a-model", 9, "paper", "a")),
        (
            ["eval", "a/model", "--benchmarks", "velociti,vinoground", "--frames", "8", "--gpus", "2", "--name", "m", "--cores", "4", "-n", "-y", "--config", "suite=paper", "--json", "n.json", "--limit", "20"],
            "evaluate:evaluate_model", (EvaluationOptions("a/model", "velociti,vinoground", "8", "m", 2, 20, "4", True, True, Path("n.json"), "paper"),),
        ),
        (["temporal", "a/model", "--limit", "5", "--no-check"], "evaluate:evaluate_model", (EvaluationOptions("a/model", limit=5, no_check=True, command="temporal"),)),
        (["static", RUN, OTHER_RUN, "--judge", "j", "--least", "2"], "answers:list_static", ([RUN, OTHER_RUN], "j", 2.0, None)),
        (["retry", "private", "removed", RUN], "runs:retry_failures", (["private", "removed", RUN], None)),
        (["subtitles", "mmbench_video"], "videos:copy_subtitles", ("mmbench_video", None)),
        (["store", "--prune", "--used-by", "a", "--used-by", "b"], "videos:manage_store", (True, False, [Path("a"), Path("b")], False)),
    ],
)  # fmt: skip
def test_each_command_calls_its_function(
    command_line: list[str], target: str, arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function = target.split(":")
    calls: list[tuple[Any, ...]] = []
    command_module = import_module(f"reprise.commands.{module}")
    monkeypatch.setattr(
        command_module, function, lambda *positional, **options: calls.append((*positional, *options.values()))
    )
    app(command_line, standalone_mode=False)
    assert calls == [arguments]


def test_a_folder_instead_of_a_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="is a directory"):
        app(["eval", "a/model", "--json", str(tmp_path)], standalone_mode=False)


def test_help_lists_every_command_and_imports_no_command(tmp_path: Path) -> None:
    program = (
        "import atexit, sys; from reprise.__main__ import main;"
        "atexit.register(lambda: print('heavy:', {'polars', 'pydantic', 'torch'} & sys.modules.keys()));"
        "sys.argv = ['reprise', '--help']; main()"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0 and "heavy: set()" in process.stdout
    assert all(
        f" {command.name or command.callback.__name__} " in process.stdout for command in app.registered_commands
    )
    assert len(process.stdout.splitlines()) <= 55, "the help is short"


@pytest.mark.parametrize(
    ("command_line", "completions"),
    [
        ("reprise runs --config suite=d", {"suite=demo"}),
        ("reprise runs -C suite=p", {"suite=paper"}),
        ("reprise why ", {"velociti/mc/fps1/oracle"}),  # a run of the configured suite
        ("reprise why --config suite=paper v", {"velociti/mc/fps8/gpt-4o"}),
        ("reprise show velo", {"velociti/table2"}),
        ("reprise pin my-own", {"my-own-4o"}),
    ],
)
def test_the_shell_completes_suites_runs_tables_and_models(
    command_line: str,
    completions: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = (
        "demo/responses/velociti/mc/fps1/oracle.parquet",
        "demo/responses/velociti/mc/fps1/oracle.timings.parquet",
        "tables/velociti/table2.csv",
        "paper/responses/velociti/mc/fps8/gpt-4o.parquet",
    )
    files = [f"config/{name}.yaml" for name in ("suites/demo", "suites/paper", "models/oracle", "models/my-own-4o")]
    for name in [*files, *(f"results/{name}" for name in results)]:
        write(tmp_path / name)
    write(tmp_path / "config/config.yaml", b"# which\nsuite: demo  # one of config/suites\n")
    monkeypatch.chdir(tmp_path)
    word_index = str(len(command_line.split(" ")) - 1)
    for name, value in (
        ("_REPRISE_COMPLETE", "complete_bash"),
        ("COMP_WORDS", command_line),
        ("COMP_CWORD", word_index),
    ):
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        app(prog_name="reprise")
    assert set(capsys.readouterr().out.split()) == completions


@pytest.mark.parametrize("setting", ["paper", "suite=", "store=elsewhere"])
def test_a_setting_that_is_no_suite_is_refused(setting: str) -> None:
    with pytest.raises(
        typer.BadParameter, match=f"^'{setting}' should be suite=<name>. Change other settings in config/"
    ):
        app(["runs", "-C", setting], standalone_mode=False)


def test_the_version_is_shown() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"reprise {VERSION}\n")
