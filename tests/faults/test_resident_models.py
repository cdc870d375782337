"""Models that stay loaded between jobs: one load for all runs of a model, and nothing left behind, however a run ends."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.runs import Run
from tests.workflow.resident import QUESTIONS, RUNS, Kept, kept_project

ENDS_S = 10.0


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kept], Kept]:
    """Have models say that they take a GPU, of which there is one; torch here is a build for processors."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")

    def edit(kept: Kept) -> Kept:
        kept.edit("workflow/reprise/models/local/gpus.py", "is_for_cpu = bool(", "is_for_cpu = False and bool(")
        return kept

    return edit


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Callable[[str], Kept]]:
    made: list[Kept] = []

    def make(name: str = "project") -> Kept:
        made.append(kept_project(tmp_path / name))
        return made[-1]

    yield make
    for one in made:
        one.wait_until(lambda one=one: not one.processes(), ENDS_S)


def test_all_runs_of_a_model_need_one_load_and_follow_each_other(project: Callable[..., Kept]) -> None:
    kept = project().models(["a", "b"])
    kept.finish()
    assert kept.loads() == {"a": 1, "b": 1}
    order = [name for name, _ in kept.notes("asked")]
    assert order == sorted(order, reverse=order[0] == "b") and len(order) == 2 * len(RUNS) * QUESTIONS
    assert kept.logs().count("is loaded already") == 2 * (len(RUNS) - 1)


def test_two_jobs_at_a_time_need_two_loads(project: Callable[..., Kept]) -> None:
    kept = project().models(["a", "b"])
    kept.finish(cores=2)
    assert all(1 <= count <= 2 for count in kept.loads().values())


def test_five_models_share_one_gpu(project: Callable[..., Kept], one_gpu: Callable[[Kept], Kept]) -> None:
    kept = one_gpu(project()).models(["a", "b", "c", "d", "e"], RUNS[:2], gpus=1)
    kept.finish(cores=16, gpus=1)
    loads, ended = kept.loads(), kept.logs().count("ending an idle model process, whose GPU is needed")
    # Another model takes the GPU while the frames of a second run are still being planned, which happens once.
    assert loads.keys() == set("abcde") and sum(loads.values()) <= 6
    assert ended == sum(loads.values()) - 1


def test_a_model_on_two_gpus_is_loaded_again_at_most_for_a_larger_clip(
    project: Callable[..., Kept], one_gpu: Callable[[Kept], Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = one_gpu(project()).models(["a"], gpus=2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    kept.finish(cores=16, gpus=2)
    assert kept.loads()["a"] == 1 + kept.logs().count("the model is loaded again: a clip is larger") <= 2


def test_two_folders_at_once_take_turns_on_one_gpu(
    project: Callable[..., Kept], one_gpu: Callable[[Kept], Kept]
) -> None:
    first, second = one_gpu(project("first")), one_gpu(project("second"))
    for kept in (first, second):
        kept.edit("config/config.yaml", "suite: kept", f"suite: kept\nstore: {first.root / 'resources/store'}")
        kept.models([f"m{kept.root.name}"], RUNS[:2], gpus=1, answer_s=0.05)
    runs = [kept.start(cores=8, gpus=1) for kept in (first, second)]
    outcomes = [run.wait() for run in runs]
    assert all(outcome.is_ok for outcome in outcomes), "\n".join(outcome.tail() for outcome in outcomes)


def test_a_job_killed_while_it_waits_for_a_gpu_leaves_no_process(
    project: Callable[..., Kept], one_gpu: Callable[[Kept], Kept]
) -> None:
    kept = one_gpu(project()).models(["a", "b"], RUNS[:1], gpus=1, answer_s=3.0)
    run = kept.start(cores=16, gpus=2)  # one more than there is: a model waits for the other's
    kept.wait_until(lambda: kept.notes("asked") and "waiting for 1 free GPUs of 1" in kept.logs())
    (holder,) = (int(pid) for _, pid in kept.notes("loaded"))
    (waiting,) = (one for one in kept.model_processes() if one.pid != holder)
    waiting.parent().kill()
    assert not psutil.wait_procs([waiting], ENDS_S)[1]
    assert len(kept.notes("asked")) < QUESTIONS, "the other model still had the GPU"
    assert not run.wait().is_ok
    assert list(kept.loads().values()) == [1]


def test_a_job_killed_while_its_model_is_loaded_leaves_no_process(project: Callable[..., Kept]) -> None:
    kept = project().models(["a"], RUNS[:1], load_s=60.0)
    run = kept.start()
    kept.wait_until(lambda: kept.notes("loading"))
    (loading,) = kept.model_processes()
    loading.parent().kill()
    assert not psutil.wait_procs([loading], ENDS_S)[1]
    assert not run.wait().is_ok


@pytest.mark.parametrize("what", ["snakemake", "job", "model", "interrupt"])
def test_nothing_is_left_after_a_kill_and_the_next_run_goes_on(what: str, project: Callable[..., Kept]) -> None:
    kept = project().models(["a"], answer_s=0.3)
    run = kept.start()
    kept.wait_until(lambda: len(kept.notes("asked")) > 3)
    if what == "snakemake":
        os.kill(run.pid, signal.SIGKILL)
    elif what == "interrupt":
        os.killpg(run.pid, signal.SIGINT)
    elif what == "model":
        os.kill(int(kept.notes("loaded")[0][1]), signal.SIGKILL)
    else:
        (job,) = [one for one in kept.processes() if "reprise.stages" in one.cmdline() and "bash" not in one.name()]
        job.kill()
    if what in ("snakemake", "interrupt"):
        kept.wait_until(lambda: not kept.processes(), ENDS_S)
    outcome = run.wait()
    assert not outcome.is_ok
    kept.wait_until(lambda: not kept.processes(), ENDS_S)
    asked = len(kept.notes("asked"))
    Run([sys.executable, "-m", "snakemake", "--unlock"], kept.root).wait()
    kept.finish()
    due = len(RUNS) * QUESTIONS
    assert asked < due <= len(kept.notes("asked")) <= due + 1, "one was on its way"


def test_weights_that_change_while_they_are_loaded_are_not_asked(project: Callable[..., Kept]) -> None:
    kept = project().models(["a"], answer_s=0.2)
    run = kept.start()
    kept.wait_until(lambda: kept.notes("asked"))
    kept.weights("a", 1)
    outcome = run.wait()
    assert not outcome.is_ok and "weights/a: changed since this job was planned" in outcome.output
    kept.finish()
    assert kept.loads() == {"a": 2}, "the new weights are loaded, and all questions asked of them"
