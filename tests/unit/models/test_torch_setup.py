"""What torch and torchvision are told before they are loaded."""

import os
import subprocess
import sys
from pathlib import Path

from reprise.models.local import torchvision_operators


def test_threads_that_wait_leave_the_processor_to_others() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment["OMP_DISPLAY_ENV"] = "TRUE"  # OpenMP says how it is set when it is loaded
    command = [sys.executable, "-c", "import reprise.models.local.torch_setup"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def test_torchvision_can_be_imported_in_any_python_of_the_environment_and_others_do_not_pay_for_it() -> None:
    """As by a person's own script, which does not know this library: `make setup` sees to it, by a copy of the module."""
    program = (
        "import sys, torchvision_operators; from importlib.util import find_spec; assert find_spec('torchvision')\n"
        "assert 'torch' not in sys.modules; import torchvision; print(torchvision_operators.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).read_bytes() == Path(torchvision_operators.__file__).read_bytes()
