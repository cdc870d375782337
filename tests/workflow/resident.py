"""A project whose models load slowly, and record when they load and receive requests."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import yaml
from reprise.models.inference.resident import PROCESS_MODULE
from safetensors.numpy import save_file

from tests.faults.runs import Run
from tests.faults.suite import plug_adapters, write_pairs
from tests.workflow import slow_model
from tests.workflow.conftest import FULL, Project, copy_project, make_video

RUNS = ("linspace4", "linspace1", "linspace4.reversed")
QUESTIONS = 8  # four per pair
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


class ResidentProject(Project):
    """A project with a small suite whose models record their loads and requests."""

    def models(self, names: Sequence[str], runs: Sequence[str] = RUNS, **settings: object) -> "ResidentProject":
        gpus, adapter_settings = settings.pop("gpus", 0), settings
        for name in names:
            self.weights(name, 0)
            model = {
                "label": name,
                "adapter": "slow",
                "checkpoint": f"weights/{name}",
                "gpus": gpus,
                "memory_mb": 300,
                "settings": {"name": name, **adapter_settings},
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
        names = [name for name, _ in self.notes("loaded")]
        return {name: names.count(name) for name in names}

    def processes(self) -> list[psutil.Process]:
        """Return the processes whose working directory is the project."""
        processes = []
        for process in psutil.process_iter():
            try:
                if process.cwd() == str(self.root) and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
            except psutil.Error:
                continue
        return processes

    def model_processes(self) -> list[psutil.Process]:
        """Return the processes that hold a resident model."""
        return [process for process in self.processes() if PROCESS_MODULE in process.cmdline()]

    def wait_until(self, condition: Callable[[], object], longest_s: float = 60.0) -> None:
        end = time.monotonic() + longest_s
        while not condition():
            assert time.monotonic() < end, f"{self.processes()}\n{self.logs()}"
            time.sleep(0.05)


def resident_project(root: Path) -> ResidentProject:
    """Return a copy of the project with the adapter `slow` and two videos, but without models."""
    project = ResidentProject(copy_project(root).root)
    plug_adapters(project, Path(slow_model.__file__), slow_model.REGISTRATION)
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 4, "testsrc")
    project.edit("config/config.yaml", "suite: demo", "suite: kept")
    (project.root / "notes").mkdir()
    return project
