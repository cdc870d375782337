"""Run Python programs in their own process, as jobs do."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def python(program: str, *arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program and return the process with its output as text."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, **{"capture_output": True, "text": True, **options}, check=False)


def write(path: Path, content: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
