"""Locks end with the process that has them, also when it is killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import gethostname

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
locks = take_gpus(2, folder / "locks")
with asking_alone(Store(folder), "k"):
    print("locked", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_job(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A job with both GPUs and the key's lock, killed at the end."""
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "", "CUDA_VISIBLE_DEVICES": "3,7"}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "locked\n"
        yield job
        job.kill()


def test_a_killed_job_leaves_nothing_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,7")
    with another_job(tmp_path) as job:
        job.kill()
        job.wait()
        assert len(take_gpus(2, tmp_path / "locks")) == 2
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "3,7"
        with asking_alone(Store(tmp_path), "k"):
            assert "waiting" not in caplog.text
    names = {path.name for path in (tmp_path / "locks").iterdir()}
    host = gethostname()
    assert names == {f"gpu-{host}-3.lock", f"gpu-{host}-7.lock", "k.lock"}


def test_a_gpu_of_another_node_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm gave each job a GPU that is called 0, on two nodes that see one store."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits"))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    held = take_gpus(1, tmp_path)
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    assert len(held) == len(take_gpus(1, tmp_path)) == 1
    monkeypatch.setattr("reprise.models.local.devices.gethostname", lambda: "node2")  # without Slurm too
    assert len(take_gpus(1, tmp_path)) == 1


def test_a_living_job_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,7")
    said: list[str] = []
    with another_job(tmp_path) as job, monkeypatch.context() as patched:
        patched.setattr(log, "info", lambda text: (said.append(text), job.kill()))
        with asking_alone(Store(tmp_path), "k"):
            assert "another run of the same key is being asked" in said[0]
    monkeypatch.setattr("time.sleep", lambda seconds: (job.kill(), job.wait()))
    with another_job(tmp_path) as job:
        take_gpus(2, tmp_path / "locks")
    assert "waiting for 2 free GPUs of 2" in caplog.text
