"""Test the GPU check before downloads and jobs: drivers and builds of torch that cannot run a pending model."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.plan.builds import check_gpus

from tests.unit.config.conftest import Project
from tests.unit.models.fake_driver import FakeDriver, gpu

SERVED_MODEL = """
label: Served
adapter: openai
checkpoint: resources/demo/checkpoints/llava-ov-late
served_by: {engine: vllm, environment: engine}
settings: {frames: video}
gpus: 1
"""
OLD_DRIVER = "535.183.01"
TABLE = "results/tables/overview.md"
SNAKEMAKE_CALL = ["snakemake", TABLE, "--cores", "1"]


@pytest.fixture
def served_project(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a suite with a served model, on a machine whose driver is too old for its engine."""
    project.write("config/models/served.yaml", SERVED_MODEL)
    project.write("envs/engine.txt", "vllm==0.32.0\ntorch==2.13.0\nnvidia-cuda-runtime==13.0.96\n")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [local, served]")
    project.edit("config/suites/demo.yaml", "overview:\n", "overview:\n  - served\n")
    folder = tmp_path / "driver"
    folder.mkdir()
    FakeDriver(folder, monkeypatch).report(gpu(0, driver_version=OLD_DRIVER))
    return project


def test_an_old_driver_fails_a_run_before_planning_and_warns_in_a_dry_run(
    served_project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    plan = served_project.plan()
    message = (
        r"^config/models/served\.yaml: gpus: 1: torch 2\.13\.0 of envs/engine\.txt is built for CUDA 13\.0, which "
        rf"needs driver 580 or newer; this machine has driver {OLD_DRIVER}\."
    )
    with pytest.raises(UserError, match=message):
        check_gpus(plan, [TABLE], SNAKEMAKE_CALL)
    check_gpus(plan, [TABLE], [*SNAKEMAKE_CALL, "--dry-run"])
    assert f"this machine has driver {OLD_DRIVER}" in caplog.text, "a dry run continues with a warning"
    check_gpus(plan, [TABLE], [*SNAKEMAKE_CALL, "--executor", "slurm"])  # other machines run the jobs


def test_models_without_pending_inference_are_not_checked(
    served_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = served_project.plan()
    check_gpus(plan, ["results/tables/velociti/table9.md"], SNAKEMAKE_CALL)
    for run in plan.runs():
        if run.model == "served":
            served_project.write(str(plan.results.responses(run)), "answered")
    check_gpus(plan, [TABLE], SNAKEMAKE_CALL)


def test_an_engine_for_an_older_cuda_is_accepted(served_project: Project) -> None:
    served_project.write("envs/engine.txt", "torch==2.10.0\nnvidia-cuda-runtime-cu12==12.8.90\n")
    check_gpus(served_project.plan(), [TABLE], SNAKEMAKE_CALL)
    served_project.write("envs/engine.txt", "torch==2.13.0+cpu\n")
    check_gpus(served_project.plan(), [TABLE], SNAKEMAKE_CALL)
