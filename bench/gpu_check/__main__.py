"""`make gpu-check`: run all checks, print one line per risk, write a JSON file, end with a status.

Status 0: no line failed. 1: a line failed. 2: no check could run. docs/howto/first-gpu-day.md explains each line.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import mkdtemp

from bench.gpu_check.checks import CHECKS
from bench.gpu_check.outcome import FAILED, NOT_TRIED, PASSED, Line, Session
from bench.gpu_check.runner import ROOT, run_all

# The factor of deadlines on a CPU over those on a GPU.
CPU_DEADLINE_FACTOR = 3
VERSIONS = ("torch", "transformers", "accelerate", "bitsandbytes", "vllm", "numpy", "av")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks, and return the exit status."""
    options = _options(arguments)
    checks = [check for check in CHECKS if not options.only or check.name in options.only]
    if options.device == "cpu":  # other work may share the CPU
        checks = [replace(check, seconds=CPU_DEADLINE_FACTOR * check.seconds) for check in checks]
    start_time, folder = time.monotonic(), options.folder or Path(mkdtemp(prefix="gpu-check-"))
    folder.mkdir(parents=True, exist_ok=True)
    logs = options.json.resolve().parent / "logs"
    session = Session(options.device, folder.resolve(), options.store.resolve(), logs)
    lines: list[Line] = []
    # Two checks may share the CPU, but not a GPU, because its memory is measured.
    jobs = min(2, os.cpu_count() or 1) if session.is_cpu else 1
    try:
        for check_lines in run_all(checks, session, seconds=60 * options.minutes, jobs=jobs):
            lines += check_lines
            print("\n".join(line.text for line in check_lines), flush=True)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    counts = Counter(line.status for line in lines)
    seconds = time.monotonic() - start_time
    _write(options.json, options.device, lines, seconds)
    print(f"{', '.join(f'{counts[status]} {status}' for status in (PASSED, FAILED, NOT_TRIED))} in {seconds:.0f} s; "
          f"{options.json}; docs/howto/first-gpu-day.md explains each line")  # fmt: skip
    return 1 if counts[FAILED] else 0 if counts[PASSED] else 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="`cpu`: tiny shapes, as in CI")
    parser.add_argument(
        "--only", type=_names, default=(), help=f"comma-separated checks of {', '.join(check.name for check in CHECKS)}"
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="maximum time of all checks (10)")
    parser.add_argument("--folder", type=Path, help="folder for checkpoints, 40 GB on a GPU; it is kept if named")
    parser.add_argument(
        "--store", type=Path, default=ROOT / "resources/store", help="store with the environment of vLLM"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "results/gpu-check/gpu-check.json")
    return parser.parse_args(arguments)


def _names(text: str) -> tuple[str, ...]:
    """Return the checks in the value of `--only`."""
    names, available = tuple(text.split(",")), {check.name for check in CHECKS}
    if unknown := set(names) - available:
        raise argparse.ArgumentTypeError(
            f"unknown check {', '.join(sorted(unknown))}. Allowed: {', '.join(sorted(available))}"
        )
    return names


def _write(path: Path, device: str, lines: Sequence[Line], seconds: float) -> None:
    """Write the lines, and the versions and the machine on which they were measured, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "device": device,
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in VERSIONS},
        "seconds": round(seconds, 1),
        "lines": [line._asdict() for line in lines],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _version(name: str) -> str | None:
    """Return the installed version of a package; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
