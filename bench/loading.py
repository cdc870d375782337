"""Benchmark the runs of one model that takes ten seconds to load, against the time of one load and of all answers.

`python -m bench.loading 28` takes a quarter of an hour for the 28 runs of a temporal profile, of thirty seconds each.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.rounds import Ratio
from tests.workflow.resident import QUESTIONS, ResidentProject, resident_project

LOAD_S, RUN_S = 10.0, 30.0  # Seconds to load the model, and to answer the questions of a run.
RUNS = [  # Samplings of the runs.
    f"{sampling}{ablation}"
    for sampling in ("linspace2", "linspace4", "linspace8", "linspace16", "fps1")
    for ablation in ("", ".first", ".middle", ".reversed", ".shuffled", ".mismatched")
]
MAX_RATIO, MAX_WALL_S = 1.2, 3600.0


def ratios(folder: Path, count: int = 4) -> Iterator[Ratio]:
    """Yield the time of so many runs relative to the sum of its necessary parts, and the number of loads."""
    overhead_s = _measure_seconds(resident_project(folder / "empty"), count, load_s=0.0, answer_s=0.0)
    project = resident_project(folder / "slow")
    wall_s = _measure_seconds(project, count, load_s=LOAD_S, answer_s=RUN_S / QUESTIONS)
    name = f"{count} runs of a model, against one load, the answers and the jobs themselves"
    yield Ratio(name, wall_s / (overhead_s + LOAD_S + count * RUN_S), MAX_RATIO)
    yield Ratio("loads", sum(project.loads().values()), 1)


def _measure_seconds(project: ResidentProject, count: int, **settings: float) -> float:
    """Return the seconds of `count` runs of a model with these simulated times; exit if snakemake fails."""
    project.models(["a"], RUNS[:count], **settings)
    start = time.monotonic()
    outcome = project.start().wait(MAX_WALL_S)
    if not outcome.is_ok:
        raise SystemExit(outcome.output + project.logs())
    return time.monotonic() - start


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        for ratio in ratios(Path(place), *map(int, sys.argv[1:])):
            print(ratio.line, flush=True)
