"""Which process is Snakemake's own."""

import os
import subprocess
import sys

import psutil
import pytest
from reprise.core.owner import Owner, is_snakemake


@pytest.mark.parametrize(
    ("command", "is_own"),
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
def test_a_command_that_only_mentions_snakemake_does_not_match(command: str, is_own: bool) -> None:
    assert is_snakemake(command.split()) is is_own


def test_setting_the_clock_does_not_end_a_job() -> None:
    started = psutil.Process().create_time()
    assert Owner(os.getpid(), started + 30).process() is not None
    assert Owner(os.getpid(), started - 3600).process() is None, "a later process with the same number"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert Owner(ended.pid, started).process() is None
