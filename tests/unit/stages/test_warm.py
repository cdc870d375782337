"""Jobs that are forked from a process which has the libraries: what they hear, say and end with, as in one of their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from reprise.stages.warm import ADDRESS

# A stage among the library's own, which does what it is told.
STAGE = """
import json, os, signal, sys
from pathlib import Path
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.stages.command import Out, Param

print("imported", file=sys.stderr)

def main(what: Param[str], out: Out[Path]) -> None:
    if what == "mistake":
        raise UserError("model.yaml: no such model")
    if what == "bug":
        raise ValueError("odd")
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    out.write_text(json.dumps({"parent": os.getppid(), "mood": os.environ.get("MOOD"), "pid": os.getpid()}))
    log.info("begun")
    if what == "long":
        signal.pause()
"""
FINDS_STAGE = "import reprise.stages; reprise.stages.__path__.append({!r})"
# Snakemake's process: it says where its jobs find theirs, and waits.
SNAKEMAKE = """
import os, sys
from reprise.stages.warm import keep_warm
keep_warm()
print(os.environ["REPRISE_WARM"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tried.py").write_text(STAGE)
    (tmp_path / "sitecustomize.py").write_text(FINDS_STAGE.format(str(tmp_path)))
    return {name: value for name, value in os.environ.items() if name != ADDRESS} | {"PYTHONPATH": str(tmp_path)}


@contextmanager
def kept_warm(environment: dict[str, str]) -> Iterator[str]:
    """The address of a process that waits; it ends with this context."""
    command = [sys.executable, "-c", SNAKEMAKE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as snakemake:
        assert snakemake.stdout is not None
        yield snakemake.stdout.readline().strip()
        # What it says ends when the process that waits has ended, too.
        _, said = snakemake.communicate()
    assert said.count("imported") <= 1, "once for all jobs"


def job(environment: dict[str, str], what: str, out: Path, **given: str) -> Any:
    command = [sys.executable, "-m", "reprise.stages", "tried", "--what", what, "--out", out.name]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=out.parent, env=environment | given, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("is_warm", [True, False])
@pytest.mark.parametrize(("what", "code", "said"), [
    ("mistake", 1, "Error: model.yaml: no such model\n"),
    ("bug", 1, "Traceback (most recent call last):"),
    ("killed", -signal.SIGKILL, ""),
])  # fmt: skip
def test_a_job_ends_and_complains_alike_with_and_without_such_a_process(
    environment: dict[str, str], tmp_path: Path, what: str, code: int, said: str, *, is_warm: bool
) -> None:
    with kept_warm(environment) as address:
        found = {ADDRESS: address if is_warm else str(tmp_path / "gone")}
        done = job(environment, what, tmp_path / "out.json", **found)
        _, error = done.communicate()
    assert done.returncode == code
    assert error.removeprefix("imported\n").startswith(said)
    assert error.endswith("ValueError: odd\n") == (what == "bug")


def test_a_job_ends_with_its_command_and_outlives_snakemake(environment: dict[str, str], tmp_path: Path) -> None:
    pids = []
    for is_killed in (True, False):
        out = tmp_path / f"{is_killed}.json"
        with kept_warm(environment) as address:
            begun = job(environment, "long", out, **{ADDRESS: address})
            assert begun.stderr.readline() == "begun\n"
            pids.append(json.loads(out.read_text())["pid"])
            if is_killed:
                begun.kill()
                begun.communicate()  # until nobody can say anything: the fork has ended, too
    os.kill(pids[-1], signal.SIGKILL)
    assert begun.wait() == -signal.SIGKILL


def test_a_clusters_job_and_one_that_takes_a_gpu_run_by_themselves(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text('{"gpus": 1}')
    with kept_warm(environment) as address:
        done = job(environment, "tell", tmp_path / "out.json", SLURM_JOB_ID="7", **{ADDRESS: address})
        assert done.communicate()[1] == "imported\nbegun\n"
        assert job(environment, "tell", tmp_path / "out.json", **{ADDRESS: address}).communicate()[1] == "begun\n"
        command = [sys.executable, "-m", "reprise.stages", "infer", "--key", "key.json"]
        found = environment | {ADDRESS: address}
        asked = subprocess.run(command, cwd=tmp_path, env=found, capture_output=True, text=True, check=False)
        assert "usage: python -m reprise.stages infer" in asked.stderr
