"""`eval` before anything runs: the model's file, the lines of the suite, and what is said where a model cannot be asked."""

from pathlib import Path

import pytest
from reprise.commands.evaluate import Order, evaluate_model, prepare_model, slug_for
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml

from tests.unit.commands.test_pin import hub
from tests.unit.config.conftest import Project
from tests.unit.fetch.server import REVISION
from tests.unit.fetch.test_hub import ask_here
from tests.unit.models.adapters import tiny_video

SUITE = "config/suites/demo.yaml"


@pytest.fixture
def inside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """On a machine without GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return project


def said(order: Order) -> str:
    before = {path: path.read_text() for path in Path("config").rglob("*.yaml")}
    with pytest.raises(UserError) as error:
        evaluate_model(order._replace(cores="1", dry_run=True))
    assert {path: path.read_text() for path in Path("config").rglob("*.yaml")} == before
    return str(error.value)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (Order("empty"), "eval: 'empty' holds no weights (*.safetensors). Found: config.json."),
        (Order("nowhere/at/all"), "eval: 'nowhere/at/all' is no folder, and no repository of the hub"),
        (Order("oracle", "vinogrund"), "--benchmarks: unknown benchmark 'vinogrund'. Did you mean 'vinoground'? Allowed: mmbench_video, temporalbench, velociti, vinoground."),
        (Order("oracle", "velociti", "linspace9"), "--frames: unknown sampling 'linspace9'. Did you mean 'linspace"),
        (Order("oracle", "velociti", "9"), "--frames: no sampling shows 9 frames by rule linspace, which velociti has. Add one to `samplings:` in config/config.yaml: linspace9: {rule: linspace, frames: 9}"),
        (Order("empty", name="No Name"), "eval: 'No Name' cannot be a name. Allowed: lower-case letters,"),
        (Order("empty", name="oracle"), "config/models/oracle.yaml: is there, and is of another model (no weights). Say another name by --name."),
        (Order("oracle", gpus=2), "config/models/oracle.yaml: gpus: is 0. Change it there, or leave --gpus out."),
        (Order("oracle", suite="rehearsal"), "eval: suite 'rehearsal' asks a stand-in and no model"),
    ],
    ids=lambda one: None if isinstance(one, Order) else one[:30],
)  # fmt: skip
def test_a_mistake_is_met_in_words_and_leaves_nothing(inside: Project, order: Order, message: str) -> None:
    inside.write("empty/config.json", "{}")
    assert message in said(order)


def test_a_benchmark_that_needs_a_judge_says_so(inside: Project) -> None:
    inside.edit(SUITE, "judges: [wordmatch, wordmatch-recall]\n", "")
    inside.edit(SUITE, "overview:\n", "overview:\n  - cannot-tell\n")
    assert "interior8/cannot-tell cannot be made: no judge of mmbench_video runs here" in said(
        Order("cannot-tell", "mmbench_video")
    )


def test_a_repository_that_cannot_be_reached(inside: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_here("http://127.0.0.1:9", monkeypatch)
    message = said(Order("some/model", "velociti"))
    assert "the hub did not resolve model 'some/model'" in message and "Check the name and the network" in message


def test_a_repository_gets_a_file_with_its_commit(
    inside: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "repository"
    tiny_video.qwen2_vl(source)
    with hub("model", "some/Model_1", source, monkeypatch, weights=10**10):
        models = load(Path()).models
        order = Order("some/Model_1", gpus=1)
        prepare_model(order, slug_for(order, models), models)
    assert load_yaml(Path("config/models/model_1.yaml")) == {
        "label": "Model_1", "adapter": "transformers", "repo": "some/Model_1", "revision": REVISION, "gpus": 1,
        "memory_mb": 15000, "dtype": "checkpoint", "weights_bytes": 10**10,
    }  # fmt: skip
    assert load(Path()).models["model_1"].gpus == 1, "the project reads it"
