"""The process that imports a model's libraries once for all jobs: what it forks, whom it outlives, and who does without."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reprise.models.asking.warm import ADDRESS, warm_worker

# What jobs need, which takes long to import.
LIBRARY = """
import os
from contextlib import contextmanager
print("imported", flush=True)

@contextmanager
def counting():
    def work(number):
        if number < 0:
            os._exit(3)
        yield from range(number)
        yield os.getppid()
    yield work
"""
# Snakemake's process: answers of two workers, and the end of one that is asked for what ends it.
JOBS = """
import os
from contextlib import closing
from reprise.models.asking import warm
from reprise.models.asking.workers import WorkerDiedError

def make():
    import library
    return library.counting()

def main():
    warm.keep_warm()
    parents = set()
    for number in (2, 3):
        with closing(warm.warm_worker(make, "library")) as worker:
            *counted, parent = worker.results(number)
            parents.add(parent)
            print("counted", counted, flush=True)
    print("of this process:", os.getpid() in parents, "of one:", len(parents) == 1, flush=True)
    with closing(warm.warm_worker(make, "library")) as worker:
        try:
            list(worker.results(-1))
        except WorkerDiedError as died:
            print("died:", died, flush=True)
    print("at", os.environ[warm.ADDRESS], flush=True)
"""


def test_a_library_is_imported_once_for_all_jobs_and_the_process_ends_with_snakemake(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "jobs.py").write_text(JOBS)
    command = [sys.executable, "-c", "import jobs; jobs.main()"]
    # Its output ends when the process that waits has ended too.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *lines, address = done.stdout.splitlines()
    assert lines == [
        "imported",
        "counted [0, 1]",
        "counted [0, 1, 2]",
        "of this process: False of one: True",
        "died: has ended",
    ]
    assert not Path(address.removeprefix("at ")).parent.exists(), "nothing is left behind"


def test_without_a_process_that_waits_a_job_imports_for_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for environment in ({}, {ADDRESS: str(tmp_path / "gone")}):
        monkeypatch.delenv(ADDRESS, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert warm_worker(os.getpid, "os") is None  # type: ignore[arg-type]
