"""`reprise` and its commands: what can be typed reaches the right function, mistakes end with one message."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from reprise.__main__ import app
from reprise.commands.evaluate import Order

from tests.unit.core.programs import write

RUN, OTHER = "vinoground/paper/linspace8/oracle", "vinoground/paper/linspace8/random"


@pytest.mark.parametrize(
    ("typed", "target", "arguments"),
    [
        (["adopt", RUN, "--why", "x"], "check:adopt_run", (RUN, "x", 20, None, None)),
        (["adopt", RUN, "--why", "x", "--judge", "j", "--sample", "3", "--suite", "paper"], "check:adopt_run", (RUN, "x", 3, "j", "paper")),
        (["compare", RUN, OTHER], "compare:compare_runs", (RUN, OTHER, None)),
        (["show", "table3", "--suite", "paper"], "show:show_tables", ("table3", "paper")),
        (["trace", "a/table1", "--row", "R", "--column", "C"], "show:trace_cell", ("a/table1", "R", "C", None)),
        (["item", RUN], "item:show_item", (RUN, None, None)),
        (["item", RUN, "an/item#pos", "--suite", "paper"], "item:show_item", (RUN, "an/item#pos", "paper")),
        (["runs"], "runs:list_runs", (None,)),
        (["plan"], "plan:show_plan", ([], False, None)),
        (["plan", "a/table1", RUN, "--all", "--suite", "paper"], "plan:show_plan", (["a/table1", RUN], True, "paper")),
        (["why", RUN, "--suite", "paper"], "runs:explain_run", (RUN, "paper")),
        (["missing", "--all"], "runs:list_missing", (None, True)),
        (["incomplete"], "runs:list_incomplete", ([], None)),
        (["incomplete", "--suite", "paper", "a/table1", "b/table2"], "runs:list_incomplete", (["a/table1", "b/table2"], "paper")),
        (["export", RUN, "--to", "out"], "answers:export_run", (RUN, Path("out"), None)),
        (["pin"], "pin:pin_files", (Path(), [], False)),
        (["pin", "paper", "--unchecked"], "pin:pin_files", (Path(), ["paper"], True)),
        (["site"], "pin:write_site", (Path("profiles/slurm"),)),
        (["check", "a-model"], "check:check_model", ("a-model", 36, None)),
        (["check", "a-model", "--questions", "9", "--suite", "paper"], "check:check_model", ("a-model", 9, "paper")),
        (["eval", "a/model"], "evaluate:evaluate_model", (Order("a/model"),)),
        (
            ["eval", "a/model", "--benchmarks", "velociti,vinoground", "--frames", "8", "--gpus", "2", "--name", "m", "--cores", "4", "-n", "-y", "--suite", "paper", "--json", "n.json", "--limit", "20"],
            "evaluate:evaluate_model",
            (Order("a/model", ["velociti", "vinoground"], "8", "m", 2, 20, "4", True, True, Path("n.json"), "paper"),),
        ),
        (
            ["time", "a/model", "--limit", "5", "--benchmarks", "velociti"],
            "evaluate:evaluate_model",
            (Order("a/model", ["velociti"], limit=5, command="time"),),
        ),
        (["static", RUN, OTHER, "--judge", "j", "--least", "2"], "answers:list_static", ([RUN, OTHER], "j", 2.0, None)),
        (["retry", "private", "removed", RUN], "runs:retry_failures", (["private", "removed", RUN], None)),
        (["subtitles", "mmbench_video"], "videos:copy_subtitles", ("mmbench_video", None)),
        (["store"], "videos:look_at_store", (False, False, None)),
        (["store", "--prune", "--forget", "a/clone"], "videos:look_at_store", (True, False, Path("a/clone"))),
    ],
)  # fmt: skip
def test_what_is_typed_reaches_its_function(
    typed: list[str], target: str, arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function = target.split(":")
    calls = []
    monkeypatch.setattr(
        import_module(f"reprise.commands.{module}"),
        function,
        lambda *found, **options: calls.append((*found, *options.values())),
    )
    app(typed, standalone_mode=False)
    assert calls == [arguments]


def run(*words: str, folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "", **more}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_imports_no_command(tmp_path: Path) -> None:
    program = (
        "import atexit, sys; from reprise.__main__ import main;"
        "atexit.register(lambda: print('heavy:', {'polars', 'pydantic', 'torch'} & sys.modules.keys()));"
        "sys.argv = ['reprise', '--help']; main()"
    )
    done = run("-c", program, folder=tmp_path)
    assert done.returncode == 0 and "heavy: set()" in done.stdout
    assert all(f" {command.name or command.callback.__name__} " in done.stdout for command in app.registered_commands)
    assert len(done.stdout.splitlines()) < 55, "short"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("retry", "privat"), 1, "Error: retry: unknown reason 'privat'. Did you mean 'private'?"),
        (("adopt", RUN), 2, "Missing option '--why'"),
        (("stor",), 2, "No such command 'stor'"),
    ],
)
def test_a_mistake_ends_with_one_message(words: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    done = run("-m", "reprise", *words, folder=tmp_path)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    program = (
        "import sys; from reprise.__main__ import main; from reprise.commands import videos;"
        "videos.look_at_store = lambda **_: 1 / 0; sys.argv = ['reprise', 'store']; main()"
    )
    done = run("-c", program, folder=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def completed(typed: str, folder: Path) -> list[str]:
    """What bash is offered at the end of a line."""
    program = "from reprise.__main__ import app; app(prog_name='reprise')"
    place = str(len(typed.split(" ")) - 1)
    bash = {"_REPRISE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": place}
    return run("-c", program, folder=folder, **bash).stdout.split()


def test_a_shell_completes_commands_suites_runs_and_tables(tmp_path: Path) -> None:
    config = [f"config/{name}.yaml" for name in ("suites/demo", "suites/paper", "models/oracle", "models/gpt-4o")]
    keys = (
        "demo/keys/velociti/mc/fps1/oracle",
        "demo/keys/judges/velociti/mc/oracle",
        "demo/keys/tables/velociti/table2",
    )
    for name in (*config, *(f"results/{key}.json" for key in (*keys, "paper/keys/velociti/mc/fps8/gpt-4o"))):
        write(tmp_path / name)
    write(tmp_path / "config/config.yaml", b"# which\nsuite: demo  # one of config/suites\n")
    assert completed("reprise re", tmp_path) == ["retry"]
    assert {"paper", "rehearsal"} <= set(completed("reprise runs --suite ", tmp_path)), "the shipped ones too"
    assert completed("reprise why ", tmp_path) == ["velociti/mc/fps1/oracle"], "of the configured suite"
    assert completed("reprise why --suite paper v", tmp_path) == ["velociti/mc/fps8/gpt-4o"]
    assert completed("reprise show velo", tmp_path) == ["velociti/table2"]
    assert "gpt-4o" in completed("reprise pin g", tmp_path)
    assert completed("reprise show ", tmp_path / "config") == [], "in another folder there is nothing to offer"
