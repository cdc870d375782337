"""Programs in a process of their own, as jobs are."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def python(program: str, *arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program; what it printed is a text."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, **{"capture_output": True, "text": True, **options}, check=False)


def write(path: Path, content: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
