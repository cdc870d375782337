"""What torch is told before it is loaded, in a job and in the processes that it starts."""

import os
import subprocess
import sys
from pathlib import Path

from reprise.models.local import torchvision_operators

# OpenMP says how it is set when it is loaded; a process of the job's says what it has.
PROGRAM = """
import multiprocessing
from reprise.models.local.torch_setup import torch

def waits():
    import os
    import reprise.models.local.torch_setup
    print("worker", os.environ["OMP_WAIT_POLICY"], flush=True)

if __name__ == "__main__":
    worker = multiprocessing.get_context("forkserver").Process(target=waits)
    worker.start()
    worker.join()
"""


def test_threads_that_wait_leave_the_processor_to_others(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(PROGRAM, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment["OMP_DISPLAY_ENV"] = "TRUE"
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr, "as the library itself says it"
    assert "worker PASSIVE" in done.stdout


def test_torchvision_can_be_imported_in_any_python_of_the_environment(tmp_path: Path) -> None:
    """As by a person's own script, which does not know this library: `make setup` sees to it."""
    script = tmp_path / "own.py"
    script.write_text("import torchvision")
    subprocess.run([sys.executable, script], check=True)


def test_a_python_that_does_not_import_torchvision_does_not_pay_for_it() -> None:
    """Even one that looks whether there is one."""
    program = "import sys; from importlib.util import find_spec; assert find_spec('torchvision'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_environment_has_the_module_as_it_is() -> None:
    """A copy that imports nothing of this library; where they differ, run `make setup` again."""
    copy = subprocess.run(
        [sys.executable, "-c", "import torchvision_operators as one; print(one.__file__)"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert Path(copy).read_bytes() == Path(torchvision_operators.__file__).read_bytes()
