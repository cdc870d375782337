"""`eval` before anything runs: the model's file, the lines of the suite, and what is said where a model cannot be asked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.commands.evaluate import Order, evaluate_model, prepare_model, slug_for
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml

from tests.unit.commands.test_pin import hub
from tests.unit.config.conftest import ROOT, Project
from tests.unit.fetch.server import REVISION
from tests.unit.fetch.test_hub import ask_here
from tests.unit.models.adapters import tiny_video
from tests.unit.models.fake_driver import FakeDriver, gpu

SUITE = "config/suites/demo.yaml"


@pytest.fixture
def inside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """On a machine without GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    project.write("envs/serve.txt", (ROOT / "envs/serve.txt").read_text())
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


@pytest.mark.parametrize(("make", "frames"), [(tiny_video.qwen2_vl, "video"), (tiny_video.idefics2, "images")])
def test_vllm_is_told_to_show_frames_as_the_checkpoint_takes_them(
    inside: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Path], frames: str
) -> None:
    """A video model that is shown images is not told when each of them is."""
    source = tmp_path / "repository"
    make(source)
    with hub("model", "some/Model_1", source, monkeypatch, weights=10**10):
        models = load(Path()).models
        order = Order("some/Model_1", gpus=2, engine="vllm")
        prepare_model(order, slug_for(order, models), models)
    assert load_yaml(Path("config/models/model_1-vllm.yaml")) == {
        "label": "Model_1", "adapter": "openai", "served_by": "vllm", "repo": "some/Model_1", "revision": REVISION,
        "gpus": 2, "memory_mb": 15000, "dtype": "checkpoint", "weights_bytes": 10**10,
        "settings": {"frames": frames, "concurrency": 32},
    }  # fmt: skip
    models = load(Path()).models
    assert models["model_1-vllm"].settings["frames"] == frames, "the project reads it"
    assert slug_for(order, models) == "model_1-vllm", "the same command again means this file"
    assert slug_for(order._replace(engine="transformers"), models) == "model_1", "and not the other engine's"


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (Order("toy", engine="vllm"), "eval: --engine vllm needs a GPU, and this machine has none."),
        (Order("toy-llava-ov", engine="vllm"), "toy-llava-ov.yaml: is not asked by vllm. Leave --engine out, or name the model's repository or folder (resources/"),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_be_is_one_message(inside: Project, order: Order, message: str) -> None:
    tiny_video.qwen2_vl(Path("toy"))
    assert message in said(order)


def test_a_driver_that_is_too_old_is_named_before_the_hub_is_asked(
    inside: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_here("http://127.0.0.1:9", monkeypatch)
    FakeDriver(tmp_path, monkeypatch).says(gpu(0, driver_version="535.183.01"))
    message = said(Order("some/model", "velociti", engine="vllm"))
    assert "of envs/serve.txt is built for CUDA 13.0, which needs driver 580 or newer" in message


def test_a_driver_that_fails_is_named_before_a_model_is_put_on_processors(
    inside: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tiny_video.qwen2_vl(Path("toy"))
    driver = FakeDriver(tmp_path, monkeypatch)
    driver.says(before=("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",), code=9)
    assert "this machine has none (NVIDIA-SMI has failed" in said(Order("toy", "velociti", engine="vllm"))
    prepare_model(Order("toy", "velociti"), "toy", {})
    assert "config/models/toy.yaml: gpus: 0, since nvidia-smi lists no GPU: NVIDIA-SMI has failed" in caplog.text
    driver.says(gpu(0))
    assert "eval: --gpus 4: this machine shows 1 GPU." in said(Order("toy", "velociti", gpus=4, engine="vllm"))
