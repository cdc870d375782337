"""`export` and `static`: a run's answers in its authors' file formats, and the questions that one frame answers."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.rows import chosen_items
from reprise.commands.shared import plan_of, there
from reprise.construction.mmbench_video.review import mean_ratings
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.external import has_importer, load_importer
from reprise.media.sampling import frames_shown


def export_run(name: str, folder: Path, suite: str | None = None) -> None:
    """Write a run's answers and print the files' names; a question whose clip is missing is written as a failed one."""
    plan = plan_of(suite)
    run = plan.find_run(name)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    formats = load_importer(run.benchmark).FORMS if has_importer(run.benchmark) else {}
    write = formats[protocol.form].write if protocol.form in formats else None
    if write is None:
        known = [form for form, files in formats.items() if files.write is not None]
        raise UserError(
            f"export: the authors of {run.benchmark} have no file format of answers to form '{protocol.form}'."
            + (f" Forms that have one: {', '.join(known)}." if known else "")
        )
    responses = there(plan.results.responses(run), "export")
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    requests = read_table(plan.results.requests(run.benchmark, run.protocol), REQUESTS)
    answers = read_table(responses, RESPONSES).select("request_id", "text", "scores", "error")
    answered = requests.join(answers, on="request_id", how="left", maintain_order="left")
    answered = answered.with_columns(answered["error"].fill_null("missing"))
    frames = frames_shown(plan.config.main.samplings[run.sampling])
    label = run.model if frames is None else f"{run.model}-frame{frames}"
    for path in write(folder, label, chosen_items(items, protocol.items), answered):
        print(path)


def list_static(runs: Sequence[str], judge: str | None, least: float, suite: str | None = None) -> None:
    """Print item and mean rating of every static question of MMBench-Video as csv; the counts go to stderr.

    Its appendix C.1 drops the questions that a single random frame answers.
    """
    plan = plan_of(suite)
    named = [plan.find_run(name) for name in runs]
    paths = [there(plan.results.verdicts(run, judge or plan.judge_of(run)), "static") for run in named]
    means = mean_ratings([read_table(path, VERDICTS) for path in paths])
    found = means.filter(pl.col("rating") >= least)
    csv.writer(sys.stdout, lineterminator="\n").writerows([("item_id", "rating"), *found.rows()])
    print(f"{found.height} of {means.height} questions rated {least} or more over {len(paths)} runs", file=sys.stderr)
