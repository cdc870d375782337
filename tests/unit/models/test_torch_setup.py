"""What torch is told before it is loaded, in a job and in the processes that it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# OpenMP says how it is set when it is loaded; a process of the job's says what it has.
PROGRAM = """
import multiprocessing
from reprise.models.local.torch_setup import prepare

def waits():
    import os
    from reprise.models.local.torch_setup import prepare
    prepare()
    print("worker", os.environ["OMP_WAIT_POLICY"], flush=True)

if __name__ == "__main__":
    prepare()
    worker = multiprocessing.get_context("forkserver").Process(target=waits)
    worker.start()
    worker.join()
"""


@pytest.mark.parametrize("given", [None, "ACTIVE"])
def test_threads_that_wait_leave_the_processor_to_others(given: str | None, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(PROGRAM, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_DISPLAY_ENV": "TRUE", **({} if given is None else {"OMP_WAIT_POLICY": given})}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    expected = given or "PASSIVE"
    assert f"OMP_WAIT_POLICY = '{expected}'" in done.stderr, "as the library itself says it"
    assert f"worker {expected}" in done.stdout
