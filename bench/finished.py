"""How long snakemake takes where all is made: nothing to do, and one table to render anew, at the papers' full size.

`python -m bench.finished` writes files in place of the results of a whole rehearsal, which look so to planning,
and takes about a minute of processor time; docs/scale.md has what it said.
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
from reprise.core.schemas import CLIP_LEDGER, SOURCES, write_table

from bench.scale import COPIED, alone, copied, measured_run, show

SUITE = ("--config", "suite=rehearsal")
JOB = re.compile(r"^ *(?:local)?rule (\w+):\n((?: +\w+: .*\n)+)", re.MULTILINE)
LEDGERS = {"sources": SOURCES, "clips": CLIP_LEDGER}
TABLE = "config/tables/velociti.yaml"


def snakemake(folder: Path, *arguments: str) -> str:
    """What a call says; ends the benchmark where it fails."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments, *SUITE]
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout + done.stderr


def finish(folder: Path) -> int:
    """Write each job's outputs in the order of the work, and have Snakemake record them; how many jobs there are."""
    jobs = JOB.findall(snakemake(folder, "-n", "--logger-reprise-full"))
    for rule, block in jobs:
        for name in _names(block, "output"):
            _write(folder / name, rule)
    snakemake(folder, "--touch")
    return len(jobs)


def _names(block: str, kind: str) -> Sequence[str]:
    found = re.search(rf"^ +{kind}: (.*)$", block, re.MULTILINE)
    return found[1].split(", ") if found else ()


def _write(path: Path, rule: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if rule in LEDGERS:  # planning reads what they name
        write_table(pl.DataFrame(), path, LEDGERS[rule])
    else:
        path.write_text(table_metadata() if path.suffix == ".parquet" else "")


def calls(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """What is measured, each with what snakemake is told."""
    yield "nothing to do", SUITE
    (folder / TABLE).write_text((folder / TABLE).read_text().replace("    caption: ", "    caption: Other. ", 1))
    yield "a table's caption changed: a dry run", ("-n", *SUITE)


def main() -> None:
    with TemporaryDirectory() as name:
        folder = copied(Path(name, "project"), (*COPIED, "resources/rehearsal"))
        jobs = finish(folder)
        for what, arguments in calls(folder):
            begun = time.monotonic()
            took = alone(measured_run, folder, arguments)
            show(jobs, "jobs", f"{what} ({time.monotonic() - begun:.1f} s by the clock)", took)


if __name__ == "__main__":
    main()
