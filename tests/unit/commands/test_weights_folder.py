"""Test messages about folders of weights: without weights, damaged, or with a wrong name."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.__main__ import app
from reprise.core.errors import UserError

from tests.unit.config.conftest import ROOT, Project

CHECKPOINT = ROOT / "resources/demo/checkpoints/llava-ov-late"
CONTENT = "Expected: *.safetensors, config.json and the files of the processor. Found: config.json, last/."


@pytest.fixture(autouse=True)
def folders(project: Project) -> None:
    """Make a folder of a training, whose weights are in an inner folder."""
    project.write("training/config.json", "{}")
    shutil.copytree(CHECKPOINT, "training/last")


def fail(*words: str) -> str:
    with pytest.raises(UserError) as caught:
        app(words, standalone_mode=False)
    return str(caught.value)


@pytest.mark.parametrize(("words", "message"), [
    (("plan", "training"), f"plan: 'training' has no weights. {CONTENT} Did you mean 'training/last'?"),
    (("eval", "training", "--dry-run"), f"eval: 'training' has no weights. {CONTENT} Did you mean 'training/last'?"),
    (("plan", "training/lost"), "plan: no folder 'training/lost'. Did you mean 'training/last'?"),
    (("plan", "training/other"), "plan: no folder 'training/other'."),
    (("plan", "./trainin/last"), "plan: no folder './trainin/last': 'trainin' does not exist. Did you mean 'training'?"),
    (("eval", "trainin/last/x", "--dry-run"), "eval: no folder 'trainin/last/x': 'trainin' does not exist. Did you mean 'training'?"),
    (("check", "./training/lost"), "check: no folder './training/lost'. Did you mean 'training/last'?"),
    (("plan", "veloziti/table2"), "no table or run 'veloziti/table2' in suite 'demo'. Did you mean 'velociti/table2'?"),
])  # fmt: skip
def test_a_wrong_folder_is_explained(words: tuple[str, ...], message: str) -> None:
    assert fail(*words).startswith(message)


def truncate(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 5000)


def remove_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize(("damage", "message"), [
    (truncate, "training/last/model.safetensors: damaged or truncated: "),
    (remove_weights, "eval: 'training/last' has no weights."),
])  # fmt: skip
@pytest.mark.parametrize("has_file", [False, True])
def test_a_damaged_checkpoint_is_found_before_the_plan(
    project: Project, damage: Callable[[Path], None], message: str, has_file: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    if has_file:
        project.write(
            "config/models/last.yaml", "label: L\nadapter: transformers\ncheckpoint: training/last\nmemory_mb: 2000\n"
        )
    damage(Path("training/last"))
    assert fail("eval", "training/last", "--benchmarks", "velociti", "--yes").startswith(message)
    assert "Runs:" not in capfd.readouterr().out
