"""Test `eval` before inference: the model's file, the entries of the suite, and messages about unsupported models."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from reprise.__main__ import app
from reprise.commands.check import check_model
from reprise.commands.evaluate import evaluate_model
from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.model_file import choose_slug, prepare_model
from reprise.commands.needs import find_named_model
from reprise.commands.shared import load_plan
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml

from tests.unit.commands.test_pin import serve_repository
from tests.unit.config.conftest import ROOT, Project
from tests.unit.fetch.server import REVISION, silent_server
from tests.unit.fetch.test_hub import use_local_hub
from tests.unit.models.adapters import tiny_video
from tests.unit.models.fake_driver import FakeDriver, gpu

SUITE = "config/suites/demo.yaml"


@pytest.fixture
def cpu_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project on a machine without GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    project.write("envs/serve.txt", (ROOT / "envs/serve.txt").read_text())
    return project


def fail_evaluation(options: EvaluationOptions) -> str:
    """Return the message of a call that fails without a change of the configuration."""
    files_before = {path: path.read_text() for path in Path("config").rglob("*.yaml")}
    with pytest.raises(UserError) as caught:
        evaluate_model(options._replace(cores="1", dry_run=True))
    assert {path: path.read_text() for path in Path("config").rglob("*.yaml")} == files_before
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EvaluationOptions("empty"), "eval: 'empty' has no weights. Expected: *.safetensors, config.json and the files of the processor. Found: config.json."),
        (EvaluationOptions("empty/config.json"), "eval: 'empty/config.json' is a file. Name the folder of the checkpoint: empty"),
        (EvaluationOptions("oracle", "velociti", json_file=Path("/proc/x/y.json")), "--json: /proc/x/y.json cannot be written (/proc: No such file or directory). Nothing was changed."),
        (EvaluationOptions("oracle", "velociti", json_file=Path("empty/config.json/y.json")), "empty/config.json: Not a directory). Nothing was changed. Choose another file."),
        (EvaluationOptions("config/models/oracle.yaml"), "eval: 'config/models/oracle.yaml' is a file. Name the folder of a checkpoint, a repository of the hub (<owner>/<name>), "),
        (EvaluationOptions("nowhere/to/find"), "eval: no folder 'nowhere/to/find': 'nowhere' does not exist."),
        (EvaluationOptions("oracle", "vinogrund"), "--benchmarks: unknown benchmark 'vinogrund'. Did you mean 'vinoground'? Allowed: mmbench_video, temporalbench, velociti, vinoground."),
        (EvaluationOptions("oracle", "velociti", "linspace9"), "--frames: unknown sampling 'linspace9'. Did you mean 'linspace"),
        (EvaluationOptions("oracle", "velociti", "9"), "--frames: no sampling selects 9 frames by rule linspace, which velociti uses. Add one to `samplings:` in config/config.yaml: linspace9: {rule: linspace, frames: 9}"),
        (EvaluationOptions("oracle", "velociti", "0"), "--frames: 0 frames show no video. `--frames none` evaluates text-only answers"),
        (EvaluationOptions("oracle", ""), "--benchmarks: unknown benchmark ''"),
        (EvaluationOptions("empty", name="local"), "eval: 'local' has a meaning in `run:` of suites"),
        (EvaluationOptions("empty", name="No Name"), "eval: 'No Name' is not a valid name. Allowed: lower-case letters,"),
        (EvaluationOptions("empty", name="oracle"), "config/models/oracle.yaml: belongs to another model (no weights). Choose another name with --name."),
        (EvaluationOptions("toy-lava-ov"), "Did you mean 'toy-llava-ov'?"),
        (EvaluationOptions("nowhere"), "eval: 'nowhere' is neither a folder nor a repository of the hub"),
        (EvaluationOptions("resources/demo/checkpoints/llava-ov-lat"), "Did you mean 'resources/demo/checkpoints/llava-ov-late'?"),
        (EvaluationOptions("broken"), "eval: config/models/broken.yaml: line 2: not valid YAML"),
        (EvaluationOptions("resources/demo/checkpoints/llava-ov-late", name="broken"), "eval: config/models/broken.yaml: line 2: not valid YAML"),
        (EvaluationOptions("oracle", gpus=2), "config/models/oracle.yaml: gpus: is 0. Change it in the file, or leave --gpus out."),
        (EvaluationOptions("oracle", suite="rehearsal"), "eval: suite 'rehearsal' evaluates a baseline instead of models"),
        (EvaluationOptions("oracle", "vinoground", suite="construction"), "eval: no tables of suite 'construction' have an `overview:`, which defines the runs. Add one to a file that config/suites/construction.yaml names under `tables:`"),
    ],
    ids=lambda value: None if isinstance(value, EvaluationOptions) else value[:30],
)  # fmt: skip
def test_a_mistake_is_reported_and_changes_nothing(
    cpu_project: Project, options: EvaluationOptions, message: str
) -> None:
    cpu_project.write("empty/config.json", "{}")
    cpu_project.write("config/models/broken.yaml", "label: [Broken\n")
    assert message in fail_evaluation(options)


def test_a_benchmark_without_a_judge_is_reported(cpu_project: Project) -> None:
    cpu_project.edit(SUITE, "judges: [wordmatch, wordmatch-recall]\n", "")
    cpu_project.edit(SUITE, "overview:\n", "overview:\n  - cannot-tell\n")
    assert "interior8/cannot-tell cannot run: no judge of mmbench_video runs here" in fail_evaluation(
        EvaluationOptions("cannot-tell", "mmbench_video")
    )


def test_the_check_of_a_server_by_its_address_says_what_to_do(cpu_project: Project) -> None:
    with pytest.raises(
        UserError, match=r"address of a server\. Name .*; `reprise eval http://127\.0\.0\.1:9/v1` writes"
    ):
        check_model("http://127.0.0.1:9/v1", 4, None)


def test_plan_and_runs_create_no_store(cpu_project: Project) -> None:
    """A digest of these models is part of their runs."""
    app(["plan"], standalone_mode=False)
    app(["runs"], standalone_mode=False)
    assert not Path("resources/store").exists()


def test_an_unreachable_repository_is_reported(cpu_project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    use_local_hub("http://127.0.0.1:9", monkeypatch)
    message = fail_evaluation(EvaluationOptions("some/model", "velociti"))
    assert "the hub did not resolve model 'some/model'" in message and "Check the name and the network" in message


def test_plan_check_and_eval_find_the_file_of_a_folder(cpu_project: Project) -> None:
    checkpoint = "resources/demo/checkpoints/llava-ov-late"
    for source in (checkpoint, f"./{checkpoint}/", str(Path(checkpoint).absolute())):
        named = find_named_model(load_plan(None), source)
        assert named is not None and named.name == "toy-llava-ov"
        with pytest.raises(UserError, match="no requests with frames yet that 'toy-llava-ov' supports"):
            check_model(source, 4, None)
        models = load(Path()).models
        prepare_model(EvaluationOptions(source, name="toy-llava-ov"), "toy-llava-ov", models)
    tiny_video.qwen2_vl(Path("new"))
    with pytest.raises(
        UserError, match=r"^check: 'new' has no file in config/models/ yet\. `reprise eval new` writes it"
    ):
        check_model("new", 4, None)


@pytest.mark.parametrize(("damage", "message", "has_advice"), [
    (lambda folder: (folder / "config.json").write_text('{"a":'), "new/config.json: damaged or truncated: not JSON", False),
    (lambda folder: (folder / "config.json").write_text('{"model_type": "none"}'), "AutoConfig cannot load this checkpoint", True),
])  # fmt: skip
def test_a_checkpoint_that_cannot_be_loaded_gives_one_line(
    cpu_project: Project, damage: Callable[[Path], object], message: str, has_advice: bool
) -> None:
    tiny_video.qwen2_vl(Path("new"))
    damage(Path("new"))
    line = fail_evaluation(EvaluationOptions("new", "velociti"))
    assert line.startswith("eval: new cannot be loaded: ") and message in line and "\n" not in line
    assert "--no-check" not in line and ("docs/howto/servers.md" in line) == has_advice


@pytest.mark.parametrize("command", ["eval", "temporal"])
def test_a_silent_hub_is_reported(
    cpu_project: Project, monkeypatch: pytest.MonkeyPatch, command: Literal["eval", "temporal"]
) -> None:
    monkeypatch.setattr("reprise.fetch.hub.TIMEOUT_S", 0.5)
    with silent_server() as url:
        use_local_hub(url, monkeypatch)
        start = time.monotonic()
        message = fail_evaluation(EvaluationOptions(f"some/{command}", "velociti", command=command))
    assert time.monotonic() - start < 20
    assert f"the hub did not resolve model 'some/{command}' (timed out)" in message and "\n" not in message


def test_a_repository_gets_a_file_with_its_commit(
    cpu_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "repository"
    tiny_video.qwen2_vl(source)
    with serve_repository("model", "some/Model_1", source, monkeypatch, weights=10**10):
        models = load(Path()).models
        options = EvaluationOptions("some/Model_1", gpus=1)
        prepare_model(options, choose_slug(options, models), models)
    assert load_yaml(Path("config/models/model_1.yaml")) == {
        "label": "Model_1", "adapter": "transformers", "repo": "some/Model_1", "revision": REVISION, "gpus": 1,
        "memory_mb": 15000, "dtype": "checkpoint", "weights_bytes": 10**10,
    }  # fmt: skip
    assert load(Path()).models["model_1"].gpus == 1, "the project loads the file"


@pytest.mark.parametrize(
    ("make_checkpoint", "frames"), [(tiny_video.qwen2_vl, "video"), (tiny_video.idefics2, "images")]
)
def test_the_frames_setting_for_vllm_follows_from_the_checkpoint(
    cpu_project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_checkpoint: Callable[[Path], Path],
    frames: str,
) -> None:
    """A video model that receives images does not receive their times."""
    source = tmp_path / "repository"
    make_checkpoint(source)
    with serve_repository("model", "some/Model_1", source, monkeypatch, weights=10**10):
        models = load(Path()).models
        options = EvaluationOptions("some/Model_1", gpus=2, engine="vllm")
        prepare_model(options, choose_slug(options, models), models)
    assert load_yaml(Path("config/models/model_1-vllm.yaml")) == {
        "label": "Model_1", "adapter": "openai", "served_by": "vllm", "repo": "some/Model_1", "revision": REVISION,
        "gpus": 2, "memory_mb": 15000, "dtype": "checkpoint", "weights_bytes": 10**10,
        "settings": {"frames": frames, "concurrency": 32},
    }  # fmt: skip
    models = load(Path()).models
    assert models["model_1-vllm"].settings["frames"] == frames, "the project loads the file"
    assert choose_slug(options, models) == "model_1-vllm", "the same command again uses this file"
    assert choose_slug(options._replace(engine="transformers"), models) == "model_1", "each engine has its own file"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EvaluationOptions("toy", engine="vllm"), "eval: --engine vllm needs a GPU, and this machine has none."),
        (EvaluationOptions("toy-llava-ov", engine="vllm"), "toy-llava-ov.yaml: its engine is not vllm. Leave --engine out, or name the model's repository or folder (resources/"),
    ],
)  # fmt: skip
def test_an_impossible_engine_is_reported(cpu_project: Project, options: EvaluationOptions, message: str) -> None:
    tiny_video.qwen2_vl(Path("toy"))
    assert message in fail_evaluation(options)


def test_an_old_driver_is_reported_before_a_request_to_the_hub(
    cpu_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_local_hub("http://127.0.0.1:9", monkeypatch)
    FakeDriver(tmp_path, monkeypatch).report(gpu(0, driver_version="535.183.01"))
    message = fail_evaluation(EvaluationOptions("some/model", "velociti", engine="vllm"))
    assert "of envs/serve.txt is built for CUDA 13.0, which needs driver 580 or newer" in message


def test_a_failing_driver_is_reported_before_a_model_runs_on_the_cpu(
    cpu_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tiny_video.qwen2_vl(Path("toy"))
    driver = FakeDriver(tmp_path, monkeypatch)
    driver.report(before=("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",), code=9)
    assert "this machine has none (NVIDIA-SMI has failed" in fail_evaluation(
        EvaluationOptions("toy", "velociti", engine="vllm")
    )
    prepare_model(EvaluationOptions("toy", "velociti"), "toy", {})
    assert "config/models/toy.yaml: gpus: 0, since nvidia-smi lists no GPU: NVIDIA-SMI has failed" in caplog.text
    driver.report(gpu(0))
    assert "eval: --gpus 4: this machine shows 1 GPU." in fail_evaluation(
        EvaluationOptions("toy", "velociti", gpus=4, engine="vllm")
    )
