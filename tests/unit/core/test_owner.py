"""Test which process is the Snakemake that owns a job."""

import os
import subprocess
import sys

import psutil
import pytest
from reprise.core.owner import Owner, is_snakemake


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/env/bin/snakemake --cores 2", True),
        ("/env/bin/python3 /env/bin/snakemake --cores 2", True),
        ("/env/bin/python3.11 -u -m snakemake --cores 2", True),
        ("tmux new -s snakemake", False),
        ("make -C /home/me/snakemake", False),
        ("python3 -m reprise eval snakemake", False),
        ("", False),
    ],
)
def test_a_command_that_only_mentions_snakemake_does_not_match(command: str, expected: bool) -> None:
    assert is_snakemake(command.split()) is expected


def test_setting_the_clock_does_not_end_a_job() -> None:
    start_time = psutil.Process().create_time()
    assert Owner(os.getpid(), start_time + 30).process() is not None
    assert Owner(os.getpid(), start_time - 3600).process() is None, "another process with the same id"
    ended_process = subprocess.Popen([sys.executable, "-c", ""])
    ended_process.wait()
    assert Owner(ended_process.pid, start_time).process() is None
