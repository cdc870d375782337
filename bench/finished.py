"""Measure snakemake when all results exist, at the papers' full size: nothing to do, and one table to render again.

`python -m bench.finished` writes placeholder files that planning takes for the results of a whole rehearsal. It needs
about a minute of CPU time; docs/scale.md has its results.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from reprise.core.files import table_metadata
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, write_table

from bench.scale import PROJECT_FILES, call_in_new_process, copy_project, measure_snakemake, print_usage

SUITE = ("--config", "suite=rehearsal")
# A job in the output of a dry run: the name of its rule, and indented lines such as `output: ...`.
JOB = re.compile(r"^ *(?:local)?rule (\w+):\n((?: +\w+: .*\n)+)", re.MULTILINE)
MANIFESTS = {"sources": SOURCES, "clips": CLIP_MANIFEST}
TABLE = "config/tables/velociti.yaml"


def snakemake(folder: Path, *arguments: str) -> str:
    """Run snakemake and return its output; abort the benchmark if it fails."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments, *SUITE]
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow")}
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(process.stdout + process.stderr)
    return process.stdout + process.stderr


def write_placeholders(folder: Path) -> int:
    """Write each job's outputs in the order of the jobs, let Snakemake record them, and return the number of jobs."""
    jobs = JOB.findall(snakemake(folder, "-n", "--logger-reprise-full"))
    for rule, block in jobs:
        for name in _names(block, "output"):
            _write(folder / name, rule)
    snakemake(folder, "--touch")
    return len(jobs)


def _names(block: str, kind: str) -> Sequence[str]:
    """Return the files of a kind, such as `output`, in the lines about a job."""
    match = re.search(rf"^ +{kind}: (.*)$", block, re.MULTILINE)
    return match[1].split(", ") if match else ()


def _write(path: Path, rule: str) -> None:
    """Write a placeholder for an output of a rule."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if rule in MANIFESTS:  # planning reads these tables
        write_table(pl.DataFrame(), path, MANIFESTS[rule])
    else:
        path.write_text(table_metadata(path) if path.suffix == ".parquet" else "")


def prepare_calls(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the calls to measure, each with its snakemake arguments."""
    yield "nothing to do", SUITE
    (folder / TABLE).write_text((folder / TABLE).read_text().replace("    caption: ", "    caption: Other. ", 1))
    yield "a table's caption changed: a dry run", ("-n", *SUITE)


def main() -> None:
    """Write placeholders for all results, and print the cost of each call of snakemake."""
    with TemporaryDirectory() as name:
        folder = copy_project(Path(name, "project"), (*PROJECT_FILES, "resources/rehearsal"))
        jobs = write_placeholders(folder)
        for label, arguments in prepare_calls(folder):
            start = time.monotonic()
            usage = call_in_new_process(measure_snakemake, folder, arguments)
            print_usage(jobs, "jobs", f"{label} ({time.monotonic() - start:.1f} s by the clock)", usage)


if __name__ == "__main__":
    main()
