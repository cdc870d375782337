"""Data frames for notebooks, and the commands `export` (answers in the authors' file formats) and `static`."""

import csv
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.mmbench_video.scores import average_ratings
from reprise.commands.output import write_lines
from reprise.commands.shared import get_extractor_name, load_plan, require_file
from reprise.core.errors import UserError
from reprise.core.paths import TABLES
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.external import has_importer, load_importer
from reprise.media.sampling import count_frames
from reprise.plan.targets import check_targets
from reprise.tables.builder import TIDY_SCHEMA


def results(table: str, folder: str | Path = ".") -> pl.DataFrame:
    """Return the numbers of a table's csv file as a data frame; columns that this table lacks are null."""
    with chdir(folder):
        path = TABLES / f"{table}.csv"
        if not path.is_file():
            check_targets(load_plan(None), [str(path)])
        return pl.read_csv(require_file(path, "results"), schema_overrides=TIDY_SCHEMA)


def answers(run: str, suite: str | None = None, folder: str | Path = ".") -> pl.DataFrame:
    """Return a run's answers, one per row, with the item, the request and the verdict."""
    with chdir(folder):
        plan = load_plan(suite)
        selected_run = plan.find_run(run)
        paths = plan.results
        items = read_table(require_file(paths.items(selected_run.benchmark), "answers"), ITEMS)
        requests_path = require_file(paths.requests(selected_run.benchmark, selected_run.protocol), "answers")
        requests = read_table(requests_path, REQUESTS)
        responses = read_table(require_file(paths.responses(selected_run), "answers"), RESPONSES)
        verdicts_path = require_file(paths.verdicts(selected_run, get_extractor_name(plan, selected_run)), "answers")
        verdicts = read_table(verdicts_path, VERDICTS)
    join_columns = ["item_id", "role"]
    return (
        responses.select(*join_columns, "text", "scores", "frames_shown", "error", "message")
        .join(
            requests.select(*join_columns, "prompt", "options", "expected"),
            on=join_columns,
            how="left",
            maintain_order="left",
        )
        .join(
            items.select("item_id", "clip_id", "cluster", "pair", "task", "groups"),
            on="item_id",
            how="left",
            maintain_order="left",
        )
        .join(
            verdicts.select(*join_columns, "value", "extracted_by", "score", "right", "unparsed", "failed"),
            on=join_columns,
            how="left",
            maintain_order="left",
        )
        .select(*ANSWER_COLUMNS)
    )


# The columns of `answers` and their meanings; the notebook guide lists them.
ANSWER_COLUMNS = {
    "item_id": "id of the item, which is what the question is about",
    "role": "which question about the item, such as `pos` (about the right caption) or `neg` (about the wrong one)",
    "clip_id": "id of the clip",
    "cluster": "items whose clips share source videos; confidence intervals count them as one observation",
    "pair": "pair of Vinoground; empty for other benchmarks",
    "task": "test or category of the item",
    "groups": "further groups of the item",
    "prompt": "prompt, without the number of frames, which is filled in later",
    "options": "options that the model chooses from; empty for free-form answers",
    "expected": "right option, or reference text; empty if a judge decides",
    "text": "raw response; empty if only scores were requested",
    "scores": "score of each option, such as p(Yes) and p(No); empty without scores",
    "value": "extracted answer; empty if there is none",
    "extracted_by": "name of the extraction rule that matched",
    "score": "entailment score, similarity or rating; null if there is none",
    "right": "whether the answer is right",
    "unparsed": "whether no answer could be extracted",
    "failed": "whether there is no response",
    "error": "reason of the failure",
    "message": "message of the failure",
    "frames_shown": "number of frames that the model received",
}


def export_run(query: str, folder: Path, suite: str | None = None) -> None:
    """Write a run's answers in the authors' format and print the paths; a missing clip counts as a failure.

    Args:
        query: Name of the run, or enough parts of it to be unique.
        folder: Folder that receives the files.
        suite: Suite of the run; by default the configured one.
    """
    plan = load_plan(suite)
    run = plan.find_run(query)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    formats = load_importer(run.benchmark).FORMS if has_importer(run.benchmark) else {}
    writers = {form: files.write for form, files in formats.items() if files.write is not None}
    if protocol.form not in writers:
        raise UserError(
            f"export: the authors of {run.benchmark} have no file format for answers of form '{protocol.form}'."
            + (f" Supported forms: {', '.join(writers)}." if writers else "")
        )
    responses = read_table(require_file(plan.results.responses(run), "export"), RESPONSES)
    items = select_items(read_table(plan.results.items(run.benchmark), ITEMS), protocol.items)
    answered_requests = (
        read_table(plan.results.requests(run.benchmark, run.protocol), REQUESTS)
        .join(
            responses.select("request_id", "text", "scores", "error"),
            on="request_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("error").fill_null("missing"))
    )
    frame_count = count_frames(plan.config.main.samplings[run.sampling])
    # The authors' files name the model and its number of frames.
    name = run.model if frame_count is None else f"{run.model}-frame{frame_count}"
    write_lines(map(str, writers[protocol.form](folder, name, items, answered_requests)))


def list_static(runs: Sequence[str], judge: str | None, min_rating: float, suite: str | None = None) -> None:
    """Print item and mean rating of every static question of MMBench-Video as csv, and the counts to stderr.

    A model can answer a static question from a single random frame; appendix C.1 of the paper drops these questions.
    """
    plan = load_plan(suite)
    paths = [
        require_file(plan.results.verdicts(run, judge or plan.find_judge(run)), "static")
        for run in map(plan.find_run, runs)
    ]
    means = average_ratings([read_table(path, VERDICTS) for path in paths])
    static_items = means.filter(pl.col("rating") >= min_rating)
    csv.writer(sys.stdout, lineterminator="\n").writerows([("item_id", "rating"), *static_items.rows()])
    print(
        f"{static_items.height} of {means.height} questions rated {min_rating} or more over {len(paths)} runs",
        file=sys.stderr,
    )
