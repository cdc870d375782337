"""Check GPUs before anything is fetched or queued: drivers and builds of torch that cannot run a pending model."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.plan.builds import check_gpus

from tests.unit.config.conftest import Project
from tests.unit.models.fake_driver import FakeDriver, gpu

SERVED = """
label: Served
adapter: openai
checkpoint: resources/demo/checkpoints/llava-ov-late
served_by: {engine: vllm, environment: engine}
settings: {frames: video}
gpus: 1
"""
OLD = "535.183.01"
TABLE = "results/tables/overview.md"
CALL = ["snakemake", TABLE, "--cores", "1"]


@pytest.fixture
def served(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a suite with a served model, on a machine whose driver is too old for its engine."""
    project.write("config/models/served.yaml", SERVED)
    project.write("envs/engine.txt", "vllm==0.32.0\ntorch==2.13.0\nnvidia-cuda-runtime==13.0.96\n")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [local, served]")
    project.edit("config/suites/demo.yaml", "overview:\n", "overview:\n  - served\n")
    folder = tmp_path / "driver"
    folder.mkdir()
    FakeDriver(folder, monkeypatch).report(gpu(0, driver_version=OLD))
    return project


def test_an_old_driver_fails_a_run_before_planning_and_warns_in_a_dry_run(
    served: Project, caplog: pytest.LogCaptureFixture
) -> None:
    plan = served.plan()
    message = (
        r"^config/models/served\.yaml: gpus: 1: torch 2\.13\.0 of envs/engine\.txt is built for CUDA 13\.0, which "
        rf"needs driver 580 or newer; this machine has driver {OLD}\."
    )
    with pytest.raises(UserError, match=message):
        check_gpus(plan, [TABLE], CALL)
    check_gpus(plan, [TABLE], [*CALL, "--dry-run"])
    assert f"this machine has driver {OLD}" in caplog.text, "a dry run continues with a warning"
    check_gpus(plan, [TABLE], [*CALL, "--executor", "slurm"])  # other machines run it


def test_models_without_pending_inference_are_not_checked(served: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = served.plan()
    check_gpus(plan, ["results/tables/velociti/table9.md"], CALL)
    for run in plan.runs():
        if run.model == "served":
            served.write(str(plan.results.responses(run)), "answered")
    check_gpus(plan, [TABLE], CALL)


def test_an_engine_for_an_older_cuda_is_accepted(served: Project) -> None:
    served.write("envs/engine.txt", "torch==2.10.0\nnvidia-cuda-runtime-cu12==12.8.90\n")
    check_gpus(served.plan(), [TABLE], CALL)
    served.write("envs/engine.txt", "torch==2.13.0+cpu\n")
    check_gpus(served.plan(), [TABLE], CALL)
