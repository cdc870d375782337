"""`reprise check` in a finished copy: a checkpoint that sees its clips, and the same one with its pictures wiped out."""

import shutil

from safetensors.torch import load_file, save_file

from tests.workflow.conftest import ROOT, Project

CHECK = ("reprise", "check", "toy-llava-ov", "--questions", "8")


def test_a_model_that_sees_and_one_that_is_blind(toy: Project) -> None:
    done = toy.reprise(*CHECK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "toy-llava-ov sees its clips." in done.stdout and "frames that reached it" in done.stdout

    blind = toy.root / "blind"
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", blind)
    weights = load_file(blind / "model.safetensors")
    for name, value in weights.items():
        if "multi_modal_projector.linear_2" in name:
            value.zero_()
    save_file(weights, blind / "model.safetensors", {"format": "pt"})
    file = toy.root / "config/models/toy-llava-ov.yaml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("checkpoint:")]
    file.write_text("\n".join([*lines, "checkpoint: blind"]) + "\n")
    done = toy.reprise(*CHECK)
    assert done.returncode == 1 and "the model is blind" in done.stderr, done.stdout + done.stderr
