"""Models that stay loaded between jobs: one load for all runs of a model, and nothing left behind, however a run ends."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest
import yaml
from safetensors.numpy import save_file

from tests.faults.runs import Run
from tests.faults.suite import plug_adapters, write_pairs
from tests.workflow import slow_model
from tests.workflow.conftest import FULL, Project, copy_project, make_video

RUNS = ("linspace4", "linspace1", "linspace4.reversed")
QUESTIONS = 8  # of two pairs
ENDS_S = 10.0
SUITE = {
    "title": "Kept",
    "show_published": False,
    "shards": 1,
    "missing_share_max": 0.0,
    "benchmarks": {
        "vinoground": {
            "tables": "config/tables/kept.yaml",
            "release": {"kind": "folder", "path": "release/vinoground"},
            "clips": "ids",
            "route": {"kind": "folder", "path": "videos"},
        }
    },
}


class Kept(Project):
    """A small suite whose models note when they are loaded and asked."""

    def models(self, names: Sequence[str], runs: Sequence[str] = RUNS, **settings: object) -> "Kept":
        gpus, answers = settings.pop("gpus", 0), settings
        for name in names:
            self.weights(name, 0)
            model = {
                "label": name,
                "adapter": "slow",
                "checkpoint": f"weights/{name}",
                "gpus": gpus,
                "memory_mb": 300,
                "settings": {"name": name, **answers},
            }
            self.write(f"config/models/{name}.yaml", yaml.safe_dump(model))
        rows = [
            {"label": f"{name} {run}", "model": name, "protocol": "paper", "sampling": run}
            for run in runs
            for name in names
        ]
        column = {"title": "text", "metrics": ["text"], "group": "all"}
        table = {"title": "Scores", "caption": "Scores.", "columns": [column], "sections": [{"rows": rows}]}
        self.write("config/tables/kept.yaml", yaml.safe_dump({"benchmark": "vinoground", "tables": {"table3": table}}))
        self.write("config/suites/kept.yaml", yaml.safe_dump(SUITE | {"run": list(names)}))
        write_pairs(self, 2)
        return self

    def weights(self, name: str, value: int) -> None:
        folder = self.root / "weights" / name
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: np.full(4, value, np.float32)}, folder / "model.safetensors")

    def start(self, cores: int = 1, gpus: int = 0) -> Run:
        resources = ["--resources", f"gpu={gpus}"] if gpus else []
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            str(cores),
            *resources,
            FULL,
            "results/tables/table3.md",
        ]
        return Run(command, self.root)

    def finish(self, cores: int = 1, gpus: int = 0) -> str:
        outcome = self.start(cores, gpus).wait()
        assert outcome.is_ok, outcome.output + self.logs()
        return outcome.output

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted((self.root / "results/kept/logs/infer").rglob("*.log")))

    def notes(self, kind: str) -> list[list[str]]:
        path = self.root / "notes" / kind
        return [line.split() for line in path.read_text().splitlines()] if path.is_file() else []

    def loads(self) -> dict[str, int]:
        found = [name for name, _ in self.notes("loaded")]
        return {name: found.count(name) for name in found}

    def processes(self) -> list[psutil.Process]:
        """All that works in this folder."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.cwd() == str(self.root) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def wait_until(self, condition: Callable[[], object], longest_s: float = 60.0) -> None:
        end = time.monotonic() + longest_s
        while not condition():
            assert time.monotonic() < end, f"{self.processes()}\n{self.logs()}"
            time.sleep(0.05)


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
        project = Kept(copy_project(tmp_path / name).root)
        plug_adapters(project, Path(slow_model.__file__), slow_model.REGISTRATION)
        make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3)
        make_video(project.root / "videos/bbbbbbbbbbb.mp4", 4, "testsrc")
        project.edit("config/config.yaml", "suite: demo", "suite: kept")
        (project.root / "notes").mkdir()
        made.append(project)
        return project

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
    assert kept.loads() == dict.fromkeys("abcde", 1)
    assert kept.logs().count("ending an idle model process, whose GPU is needed") == 4


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
