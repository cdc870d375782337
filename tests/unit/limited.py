"""Python programs in little memory and time, for what hostile files must not take."""

import resource
import subprocess
import sys
from pathlib import Path

SECONDS = 60


def run_limited(program: str, path: Path, memory: int) -> subprocess.CompletedProcess[str]:
    """Run a program on a file, in a process that may take so many bytes of addresses, libraries included."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    return subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, preexec_fn=limit)
