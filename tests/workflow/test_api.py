"""Follow docs/howto/training.md in a copy with toy checkpoints: lists of checkpoints, functions, and the callback of a Trainer."""

import builtins
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import reprise
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, Trainer, TrainingArguments

from tests.workflow.conftest import ROOT, Project, copy_project, toy_suite
from tests.workflow.test_howto import Page

CHECKPOINTS = ROOT / "resources/demo/checkpoints"
SUITE = "config/suites/small.yaml"
BLOCKS = [block.text for block in Page("howto/training.md").blocks if block.language == "python"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Return a copy that selects no model, with two checkpoints of a training run, as the current folder."""
    project = toy_suite(copy_project(tmp_path_factory.mktemp("training") / "project"))
    project.edit(SUITE, "run: [local]", "run: [none]")
    for name, step in (("early", 100), ("late", 200)):
        shutil.copytree(CHECKPOINTS / f"llava-ov-{name}", project.root / f"out/checkpoint-{step}")
    with chdir(project.root), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", project.environment["PYTHONPATH"])
        yield project


def run_block(index: int, variables: dict[str, Any]) -> None:
    """Run a block of the page, which continues the program of the blocks before it."""
    exec(BLOCKS[index], variables)  # noqa: S102


def load_answers(run: str) -> pl.DataFrame:
    return reprise.answers(run, suite="small-limit20")


@pytest.fixture(scope="module")
def variables(project: Project) -> dict[str, Any]:
    """Return the variables of the page's program after its first two blocks."""
    variables: dict[str, Any] = {}
    run_block(0, variables)
    variables["checkpoint_numbers"] = variables["numbers"]
    run_block(1, variables)
    return variables


def test_importing_reprise_imports_no_library_of_the_evaluation() -> None:
    program = "import reprise, sys; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "reprise" in modules and not {"torch", "snakemake", "matplotlib", "polars"} & set(modules)


def test_a_list_of_checkpoints_gives_numbers_and_a_trend(project: Project, variables: dict[str, Any]) -> None:
    numbers, table, figure = variables["checkpoint_numbers"], variables["table"], variables["figure"]
    assert numbers["model"].to_list() == ["checkpoint-100", "checkpoint-200"]
    assert numbers.select("benchmark", "protocol", "sampling", "metric", "chance").unique().rows() == [
        ("velociti", "entail", "fps1", "strict", 25.0)
    ]
    late = numbers.row(1, named=True)
    assert late["low"] <= late["value"] <= late["high"] and (late["requested"], late["failed"]) == (28, 0)
    assert load_answers(late["run"]).height == 64
    assert table.columns == ["model", "step", "VELOCITI Strict"] and table["step"].to_list() == [100, 200]
    assert table["VELOCITI Strict"].to_list() == numbers["value"].to_list()
    (axes,) = (axes for subfigure in figure.subfigs for axes in subfigure.axes)
    ((points, _, (bars,)),) = axes.containers
    assert points.get_xydata().tolist() == [[100, numbers["value"][0]], [200, late["value"]]]
    assert bars.get_segments()[1][:, 1].tolist() == pytest.approx([late["low"], late["high"]])
    assert [25.0, 25.0] in [list(line.get_ydata()) for line in axes.lines]
    assert Path("trend.pdf").stat().st_size


@pytest.mark.usefixtures("variables")
def test_only_changed_weights_are_evaluated_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    responses = project.root / "results/small-limit20/responses/velociti/entail/fps1/checkpoint-100.parquet"
    time_before = responses.stat().st_mtime_ns
    reprise.evaluate("out/checkpoint-100", ["velociti"], limit=20)
    assert responses.stat().st_mtime_ns == time_before
    shutil.copy2("out/checkpoint-200/model.safetensors", "out/checkpoint-100/model.safetensors")
    monkeypatch.setattr(
        builtins, "__IPYTHON__", True, raising=False
    )  # As in a notebook, in which the status is one line.
    numbers = reprise.evaluate(
        [Path("out/checkpoint-100"), Path("out/checkpoint-200")], "velociti", limit=20, check=False
    )
    assert numbers["key"].n_unique() == 1 and numbers["value"].n_unique() == 1
    lines = re.split(r"[\r\n]", capsys.readouterr().out)
    assert any(re.match(r"\d+ s: \d of 4 jobs", line) for line in lines), lines


class Function:
    """A model that rejects captions of bright clips and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def answer(self, frames: Any, times: Any, prompt: str) -> str:
        raise AssertionError("the protocol asks for scores")

    def scores(self, frames: Any, times: Any, prompt: str, options: list[str]) -> list[float]:
        assert options == ["Yes", "No"] and threading.current_thread() is threading.main_thread()
        self.calls += 1
        brightness = frames.mean() / 255 if len(frames) else 0.5
        return [1 - brightness, brightness]


def test_a_function_is_evaluated_and_only_a_version_reuses_its_answers(variables: dict[str, Any]) -> None:
    page_row = variables["numbers"].row(0, named=True)
    assert page_row["run"] == "velociti/entail/fps1/my-model-step-100"
    page_scores = load_answers(page_row["run"])["scores"].to_list()
    assert page_scores[0][0] > 0 and sum(page_scores[0]) == pytest.approx(1)
    keys = []
    for version, is_queried in ((None, True), ("a", True), ("a", False)):
        function = Function()
        numbers = reprise.evaluate(
            function.answer, "velociti", limit=20, name="my-model-step-100", scores=function.scores, version=version
        )
        assert bool(function.calls) == is_queried
        keys.append(numbers["key"].item())
    assert load_answers(page_row["run"])["scores"].to_list() == [pytest.approx(pair[::-1]) for pair in page_scores]
    assert len({page_row["key"], *keys}) == 3 and keys[1] == keys[2]


@pytest.mark.usefixtures("variables")
def test_the_callback_evaluates_the_model_of_a_trainer(variables: dict[str, Any]) -> None:
    """Without learning, the model in memory has the scores of its checkpoint."""
    run_block(2, variables)
    processor = AutoProcessor.from_pretrained("out/checkpoint-200")
    torch.set_num_threads(1)
    callback = variables["RepriseCallback"]("my-model", benchmarks="velociti", limit=20)
    rows = [{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}] * 2
    arguments = TrainingArguments(
        "trained",
        max_steps=1,
        save_steps=1,
        per_device_train_batch_size=1,
        learning_rate=0.0,
        report_to=[],
        use_cpu=True,
    )
    model = AutoModelForImageTextToText.from_pretrained("out/checkpoint-200", dtype=torch.float32)
    Trainer(model, arguments, train_dataset=rows, processing_class=processor, callbacks=[callback]).train()
    (numbers,) = callback.numbers
    assert numbers["run"].to_list() == ["velociti/entail/fps1/my-model-step-1"] and model.training
    (checkpoint_scores, scores) = (
        load_answers(f"velociti/entail/fps1/{name}")["scores"].explode().to_numpy()
        for name in ("checkpoint-200", "my-model-step-1")
    )
    assert scores == pytest.approx(checkpoint_scores, abs=1e-4)
    assert Path("trained/checkpoint-1/processor_config.json").is_file()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reprise.evaluate(max), "evaluate: name: None is not a valid name. A function needs a name"),
        (lambda: reprise.evaluate(max, name="oracle"), r"config/models/oracle.yaml: belongs to another model. Choose another `name`"),
        (lambda: reprise.evaluate([]), r"evaluate: \[\] is no model"),
        (lambda: reprise.evaluate(5), "evaluate: 5 is no model"),  # type: ignore[arg-type]
        (lambda: reprise.evaluate("oracle", version="1"), "evaluate: `scores` and `version` belong to a function"),
        (lambda: reprise.evaluate("oracle", folder="nowhere"), "nowhere: not a working directory of Reprise"),
        (lambda: reprise.evaluate("oracle", "velocity"), "^--benchmarks: unknown benchmark 'velocity'. Did you mean 'velociti'"),
        (lambda: reprise.trend(pl.DataFrame()), "trend: there are no numbers"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("project")
def test_a_mistake_raises_an_error(call: Callable[[], object], message: str) -> None:
    with pytest.raises(reprise.UserError, match=message):
        call()


def test_a_trend_needs_one_number_of_each_column(variables: dict[str, Any]) -> None:
    numbers = variables["checkpoint_numbers"]
    with pytest.raises(reprise.UserError, match="trend: checkpoint-100 has several numbers of 'VELOCITI Strict'"):
        reprise.trend(pl.concat([numbers, numbers]))
    names = pl.Series("model", ["early", "late-2"])
    assert reprise.trend(numbers.with_columns(names)).table["step"].to_list() == [None, None]


FAILURE = (
    r"^evaluate: broken-step-1: '[\w.<>]+\.scores' raised ValueError: no such layer \(traceback above\)\. All \d+ requests "
    r"failed, so the run stopped\. The configuration is restored\.$"
)


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [(ValueError("no such layer"), reprise.UserError, FAILURE), (KeyboardInterrupt("stop"), KeyboardInterrupt, "^stop$")],
)  # fmt: skip
def test_a_failed_function_is_explained_and_leaves_the_configuration(
    project: Project,
    error: BaseException,
    raised: type[BaseException],
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    suite, note = Path(SUITE), "# a note that the user writes meanwhile\n"
    text_before = suite.read_text()

    def answer(frames: Any, times: Any, prompt: str) -> str:
        raise AssertionError

    def scores(frames: Any, times: Any, prompt: str, options: list[str]) -> list[float]:
        text = suite.read_text()
        assert "broken-step-1" in text
        if note not in text:
            suite.write_text(note + text)
        raise error

    with pytest.raises(raised, match=message):
        reprise.evaluate(answer, "velociti", limit=20, name="broken-step-1", scores=scores)
    assert suite.read_text() == note + text_before and not Path("config/models/broken-step-1.yaml").exists()
    suite.write_text(text_before)
    output = capfd.readouterr().err
    is_failed = raised is reprise.UserError
    assert output.count("Traceback (most recent call last)") == output.count("ValueError: no such layer") == is_failed
    assert "runner_server.py" not in output and "FAILED" not in output and "model's file" not in output
