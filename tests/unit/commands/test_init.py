"""Test `reprise init`, and commands in a folder that is no working directory."""

from pathlib import Path

import pytest
from reprise.__main__ import app
from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.model_file import choose_slug, prepare_model
from reprise.config.model import Model
from reprise.config.problems import read_config_file
from reprise.core.errors import MachineError, UserError, convert_machine_errors
from reprise.core.paths import WORKFLOW

from tests.unit.commands.terminal import WIDTHS, check_output, run_command


def run(*command: str) -> None:
    with convert_machine_errors():
        app(command, standalone_mode=False)


@pytest.mark.parametrize("command", ["show overview", "runs", "plan", "store", "pin", "eval toy-llava-ov --yes"])
def test_commands_in_another_folder_name_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("config", "results"):  # of another project
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.ini").touch()
    with pytest.raises(UserError, match=f"^{tmp_path}: not a working directory of Reprise.*: reprise init <folder>$"):
        run(*command.split())
    assert len(list(tmp_path.rglob("*"))) == 4, "nothing was created"


def test_a_new_folder_has_the_configured_suite_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    with pytest.raises(
        UserError, match=f"^init: {tmp_path} already has profiles. Nothing was changed. .*init <folder>$"
    ):
        run("init")
    assert [path.name for path in tmp_path.iterdir()] == ["profiles"]
    Path("profiles").rmdir()
    run("init")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Snakefile", "config", "profiles"]
    output = capsys.readouterr().out
    assert f"in {tmp_path}. Next:\n\n  snakemake all" in output
    run("runs")
    assert "velociti/mc/fps1/oracle" in capsys.readouterr().out
    with pytest.raises(UserError, match="already has Snakefile, config, profiles"):
        run("init")


def test_the_next_commands_fit_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    piped = run_command("init new", monkeypatch, None)
    for width in WIDTHS:
        Path("new").rename(f"before-{width}")
        check_output(piped, run_command("init new", monkeypatch, width), width)


def test_a_name_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match=r"file/folder cannot be written \(Not a directory\)\. Nothing was changed"):
        run("init", str(tmp_path / "file/folder"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_checkpoint_of_the_package_is_found_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = EvaluationOptions("resources/demo/checkpoints/llava-ov-late")
    slug = choose_slug(options, {})
    prepare_model(options, slug, {})
    model = read_config_file(Model, Path(f"config/models/{slug}.yaml"))
    assert slug == "llava-ov-late" and model.label == slug
    assert model.checkpoint == str(WORKFLOW / options.model)
    prepare_model(options, slug, {slug: model})
