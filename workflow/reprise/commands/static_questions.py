"""`static`: the questions that a single random frame answers, which MMBench-Video's appendix C.1 drops."""

import csv
import sys
from collections.abc import Sequence

import polars as pl

from reprise.commands.plans import plan_of
from reprise.construction.mmbench_video.review import mean_ratings
from reprise.core.errors import UserError
from reprise.core.schemas import VERDICTS, read_table


def list_static(runs: Sequence[str], judge: str | None, least: float, suite: str | None = None) -> None:
    """Print item and mean rating of every static question as csv; the counts go to stderr."""
    plan = plan_of(suite)
    named = [plan.find_run(name) for name in runs]
    paths = [plan.results.verdicts(run, judge or plan.judge_of(run)) for run in named]
    for path in paths:
        if not path.is_file():
            raise UserError(f"static: {path}: not found. Make it first: snakemake {path}")
    means = mean_ratings([read_table(path, VERDICTS) for path in paths])
    found = means.filter(pl.col("rating") >= least)
    csv.writer(sys.stdout, lineterminator="\n").writerows([("item_id", "rating"), *found.rows()])
    print(f"{found.height} of {means.height} questions rated {least} or more over {len(paths)} runs", file=sys.stderr)
