"""Locks end with the process that has them, also when it is killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.asking.journal import asking_alone
from reprise.models.local.devices import take_gpus

PROGRAM = """\
import sys, time
from pathlib import Path
from reprise.core.store import Store
from reprise.models.local.devices import take_gpus
from reprise.models.asking.journal import asking_alone
folder = Path(sys.argv[1])
locks = take_gpus(2, folder / "locks", "m")
with asking_alone(Store(folder), "k"):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,7")


@contextmanager
def another_job(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A job with both GPUs and the key's lock, killed at the end."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "locked\n"
        yield job
        job.kill()


def test_a_gpu_of_another_node_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm gave each job a GPU that is called 0, on two nodes that see one store; and so without Slurm."""
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits"))
    held = []
    for job, node in (("17", "a"), ("18", "a"), ("18", "b")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        monkeypatch.setenv("SLURM_JOB_ID", job)
        monkeypatch.setattr("reprise.models.local.devices.gethostname", lambda node=node: node)
        held += take_gpus(1, tmp_path, "m")
    assert len(held) == 3


def test_a_job_is_waited_for_as_long_as_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    with another_job(tmp_path) as job, monkeypatch.context() as patched:
        patched.setattr(log, "info", lambda text: (said.append(text), job.kill()))
        with asking_alone(Store(tmp_path), "k"):
            assert "another run of the same key is being asked" in said[0]
    monkeypatch.setattr("time.sleep", lambda seconds: (job.kill(), job.wait()))
    with another_job(tmp_path) as job:
        assert len(take_gpus(2, tmp_path / "locks", "m")) == 2
    assert "waiting for 2 free GPUs of 2" in caplog.text
    assert (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["CUDA_DEVICE_ORDER"]) == ("3,7", "PCI_BUS_ID")
