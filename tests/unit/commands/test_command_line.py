"""`reprise` and its commands: what can be typed reaches the right function, mistakes end with one message."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from reprise.__main__ import app

RUN, OTHER = "vinoground/paper/linspace8/oracle", "vinoground/paper/linspace8/random"


@pytest.mark.parametrize(
    ("typed", "target", "arguments"),
    [
        (["adopt", RUN, "--why", "x"], "adopt:adopt_run", (RUN, "x", 20, None)),
        (["adopt", RUN, "--why", "x", "--judge", "j", "--sample", "3"], "adopt:adopt_run", (RUN, "x", 3, "j")),
        (["compare", RUN, OTHER], "compare:compare_runs", (RUN, OTHER)),
        (["incomplete"], "incomplete:list_incomplete", ([], None)),
        (["incomplete", "a/table1", "b/table2", "--suite", "paper"], "incomplete:list_incomplete", (["a/table1", "b/table2"], "paper")),
        (["incomplete", "--suite", "paper", "a/table1"], "incomplete:list_incomplete", (["a/table1"], "paper")),
        (["export", RUN, "--to", "out"], "export:export_run", (RUN, Path("out"))),
        (["pin"], "pin:pin_files", (Path(), [], False)),
        (["pin", "a-model", "paper"], "pin:pin_files", (Path(), ["a-model", "paper"], False)),
        (["pin", "paper", "--unchecked"], "pin:pin_files", (Path(), ["paper"], True)),
        (["check", "a-model"], "check:check_model", ("a-model", 36)),
        (["check", "a-model", "--questions", "9"], "check:check_model", ("a-model", 9)),
        (["static", RUN, OTHER], "static_questions:list_static", ([RUN, OTHER], None, 2.5)),
        (["static", RUN, "--judge", "j", "--least", "2"], "static_questions:list_static", ([RUN], "j", 2.0)),
        (["retry"], "retry:retry_failures", ([],)),
        (["retry", "private", "removed", RUN], "retry:retry_failures", (["private", "removed", RUN],)),
        (["status"], "status:show_status", (None,)),
        (["status", "--suite", "paper"], "status:show_status", ("paper",)),
        (["subtitles", "mmbench_video"], "subtitles:copy_subtitles", ("mmbench_video",)),
        (["store"], "store:show_store", ()),
        (["store", "--prune"], "store:prune_store", ()),
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


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_imports_no_command(tmp_path: Path) -> None:
    program = (
        "import atexit, sys; from reprise.__main__ import main;"
        "atexit.register(lambda: print('heavy:', {'polars', 'pydantic', 'torch'} & sys.modules.keys()));"
        "sys.argv = ['reprise', '--help']; main()"
    )
    done = run(sys.executable, "-c", program, folder=tmp_path)
    assert done.returncode == 0 and "heavy: set()" in done.stdout
    modules = Path(import_module("reprise.commands").__path__[0]).glob("[a-z]*.py")
    assert all(f" {path.stem.removesuffix('_questions')} " in done.stdout for path in modules)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("retry", "privat"), 1, "Error: retry: unknown reason 'privat'. Did you mean 'private'?"),
        (("store",), 1, "Error: config/config.yaml: no such file."),
        (("adopt", RUN), 2, "Missing option '--why'"),
        (("stor",), 2, "No such command 'stor'"),
    ],
)
def test_a_mistake_ends_with_one_message(words: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "reprise", *words, folder=tmp_path)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    program = (
        "import sys; from reprise.__main__ import main; from reprise.commands import store;"
        "store.show_store = lambda: 1 / 0; sys.argv = ['reprise', 'store']; main()"
    )
    done = run(sys.executable, "-c", program, folder=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
