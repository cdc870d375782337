"""Test resident models: one load for all runs of a model, and no process left, however a run ends."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.runs import Run
from tests.workflow.resident import QUESTIONS, RUNS, ResidentProject, resident_project

ENDS_S = 10.0


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[ResidentProject], ResidentProject]:
    """Simulate a machine with one GPU for models that declare a GPU, although torch is a CPU build."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")

    def edit(project: ResidentProject) -> ResidentProject:
        project.edit("workflow/reprise/models/local/gpus.py", "is_for_cpu = bool(", "is_for_cpu = False and bool(")
        return project

    return edit


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Callable[[str], ResidentProject]]:
    projects: list[ResidentProject] = []

    def make(name: str = "project") -> ResidentProject:
        projects.append(resident_project(tmp_path / name))
        return projects[-1]

    yield make
    for project in projects:
        project.wait_until(lambda project=project: not project.processes(), ENDS_S)


def test_all_runs_of_a_model_share_one_load_and_are_consecutive(project: Callable[..., ResidentProject]) -> None:
    resident = project().models(["a", "b"])
    resident.finish()
    assert resident.loads() == {"a": 1, "b": 1}
    model_names = [name for name, _ in resident.notes("requested")]
    assert (
        model_names == sorted(model_names, reverse=model_names[0] == "b")
        and len(model_names) == 2 * len(RUNS) * QUESTIONS
    )
    assert resident.logs().count("is loaded already") == 2 * (len(RUNS) - 1)


def test_two_jobs_at_a_time_need_two_loads(project: Callable[..., ResidentProject]) -> None:
    resident = project().models(["a", "b"])
    resident.finish(cores=2)
    assert all(1 <= count <= 2 for count in resident.loads().values())


def test_five_models_share_one_gpu(
    project: Callable[..., ResidentProject], one_gpu: Callable[[ResidentProject], ResidentProject]
) -> None:
    resident = one_gpu(project()).models(["a", "b", "c", "d", "e"], RUNS[:2], gpus=1)
    resident.finish(cores=16, gpus=1)
    loads, end_count = resident.loads(), resident.logs().count("ending an idle model process, whose GPU is needed")
    # At most one model is loaded twice: another model takes the GPU while the frames of its second run are planned.
    assert loads.keys() == set("abcde") and sum(loads.values()) <= 6
    assert end_count == sum(loads.values()) - 1


def test_a_model_on_two_gpus_is_reloaded_only_for_a_larger_clip(
    project: Callable[..., ResidentProject],
    one_gpu: Callable[[ResidentProject], ResidentProject],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resident = one_gpu(project()).models(["a"], gpus=2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    resident.finish(cores=16, gpus=2)
    assert resident.loads()["a"] == 1 + resident.logs().count("the model is loaded again: a clip is larger") <= 2


def test_two_folders_at_once_take_turns_on_one_gpu(
    project: Callable[..., ResidentProject], one_gpu: Callable[[ResidentProject], ResidentProject]
) -> None:
    first, second = one_gpu(project("first")), one_gpu(project("second"))
    for resident in (first, second):
        resident.edit("config/config.yaml", "suite: kept", f"suite: kept\nstore: {first.root / 'resources/store'}")
        resident.models([f"m{resident.root.name}"], RUNS[:2], gpus=1, answer_s=0.05)
    runs = [kept.start(cores=8, gpus=1) for kept in (first, second)]
    outcomes = [run.wait() for run in runs]
    assert all(outcome.is_ok for outcome in outcomes), "\n".join(outcome.tail() for outcome in outcomes)


def test_a_job_killed_while_it_waits_for_a_gpu_leaves_no_process(
    project: Callable[..., ResidentProject], one_gpu: Callable[[ResidentProject], ResidentProject]
) -> None:
    resident = one_gpu(project()).models(["a", "b"], RUNS[:1], gpus=1, answer_s=3.0)
    run = resident.start(cores=16, gpus=2)  # One more GPU than exists, so one model waits for the other's GPU.
    resident.wait_until(lambda: resident.notes("requested") and "waiting for 1 free GPUs of 1" in resident.logs())
    (holder,) = (int(pid) for _, pid in resident.notes("loaded"))
    (waiting,) = (process for process in resident.model_processes() if process.pid != holder)
    waiting.parent().kill()
    assert not psutil.wait_procs([waiting], ENDS_S)[1]
    assert len(resident.notes("requested")) < QUESTIONS, "the other model still had the GPU"
    assert not run.wait().is_ok
    assert list(resident.loads().values()) == [1]


def test_a_job_killed_while_its_model_is_loaded_leaves_no_process(project: Callable[..., ResidentProject]) -> None:
    resident = project().models(["a"], RUNS[:1], load_s=60.0)
    run = resident.start()
    resident.wait_until(lambda: resident.notes("loading"))
    (loading,) = resident.model_processes()
    loading.parent().kill()
    assert not psutil.wait_procs([loading], ENDS_S)[1]
    assert not run.wait().is_ok


@pytest.mark.parametrize("victim", ["snakemake", "job", "model", "interrupt"])
def test_no_process_is_left_after_a_kill_and_the_next_run_continues(
    victim: str, project: Callable[..., ResidentProject]
) -> None:
    resident = project().models(["a"], answer_s=0.3)
    run = resident.start()
    resident.wait_until(lambda: len(resident.notes("requested")) > 3)
    if victim == "snakemake":
        os.kill(run.pid, signal.SIGKILL)
    elif victim == "interrupt":
        os.killpg(run.pid, signal.SIGINT)
    elif victim == "model":
        os.kill(int(resident.notes("loaded")[0][1]), signal.SIGKILL)
    else:
        (job,) = [
            process
            for process in resident.processes()
            if "reprise.stages" in process.cmdline() and "bash" not in process.name()
        ]
        job.kill()
    if victim in ("snakemake", "interrupt"):
        resident.wait_until(lambda: not resident.processes(), ENDS_S)
    outcome = run.wait()
    assert not outcome.is_ok
    resident.wait_until(lambda: not resident.processes(), ENDS_S)
    request_count = len(resident.notes("requested"))
    Run([sys.executable, "-m", "snakemake", "--unlock"], resident.root).wait()
    resident.finish()
    expected_count = len(RUNS) * QUESTIONS
    assert request_count < expected_count <= len(resident.notes("requested")) <= expected_count + 1, (
        "one request was in progress"
    )


def test_a_model_whose_weights_change_is_not_queried(project: Callable[..., ResidentProject]) -> None:
    resident = project().models(["a"], answer_s=0.2)
    run = resident.start()
    resident.wait_until(lambda: resident.notes("requested"))
    resident.weights("a", 1)
    outcome = run.wait()
    assert not outcome.is_ok and "weights/a: changed since this job was planned" in outcome.output
    resident.finish()
    assert resident.loads() == {"a": 2}, "the new weights answer all requests"
