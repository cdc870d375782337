"""Results for use outside Reprise: data frames for notebooks, the authors' answer files, and static questions."""

import csv
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.scores import mean_ratings
from reprise.benchmarks.rows import chosen_items
from reprise.commands.shared import plan_of, reader_of, require_file
from reprise.core.errors import UserError
from reprise.core.paths import TABLES
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.external import has_importer, load_importer
from reprise.media.sampling import frames_shown
from reprise.plan.targets import check_targets
from reprise.tables.build import TIDY


def results(table: str, folder: str | Path = ".") -> pl.DataFrame:
    """Return the numbers of a table's csv file; columns that this table lacks are null."""
    with chdir(folder):
        path = TABLES / f"{table}.csv"
        if not path.is_file():
            check_targets(plan_of(None), [str(path)])
        return pl.read_csv(require_file(path, "results"), schema_overrides=TIDY)


def answers(run: str, suite: str | None = None, folder: str | Path = ".") -> pl.DataFrame:
    """Return a run's answers, one per row, with the item, the request and the verdict."""
    with chdir(folder):
        plan = plan_of(suite)
        matched_run = plan.find_run(run)
        paths = plan.results
        items = read_table(require_file(paths.items(matched_run.benchmark), "answers"), ITEMS)
        requests = read_table(
            require_file(paths.requests(matched_run.benchmark, matched_run.protocol), "answers"), REQUESTS
        )
        responses = read_table(require_file(paths.responses(matched_run), "answers"), RESPONSES)
        verdicts = read_table(
            require_file(paths.verdicts(matched_run, reader_of(plan, matched_run)), "answers"), VERDICTS
        )
    keys = ["item_id", "role"]
    return (
        responses.select(*keys, "text", "scores", "frames_shown", "error", "message")
        .join(requests.select(*keys, "prompt", "options", "expected"), on=keys, how="left", maintain_order="left")
        .join(
            items.select("item_id", "clip_id", "unit", "task", "groups"),
            on="item_id",
            how="left",
            maintain_order="left",
        )
        .join(
            verdicts.select(*keys, "value", "read_by", "score", "right", "unparsed", "failed"),
            on=keys,
            how="left",
            maintain_order="left",
        )
        .select(*ANSWER_COLUMNS)
    )


# The columns of `answers` and their meanings; the notebook guide lists them.
ANSWER_COLUMNS = {
    "item_id": "the item",
    "role": "which of its questions",
    "clip_id": "the clip that was shown",
    "unit": "the video, or the pair, that it is of; intervals take it as one",
    "task": "the test or category",
    "groups": "other groups that it is in",
    "prompt": "the question, before a number of frames is filled in",
    "options": "what may be answered; empty for free answers",
    "expected": "the right option, or the text to come close to; empty where a judge decides",
    "text": "the raw answer; empty where only scores were asked",
    "scores": "a number for each option, as the adapter gives it; empty where there is none",
    "value": "what was read from it; empty where nothing was",
    "read_by": "the row of the reader's table that read it",
    "score": "entailment score, similarity, or rating; null where there is none",
    "right": "whether it is right",
    "unparsed": "whether it could not be read",
    "failed": "whether there is no answer",
    "error": "why there is none",
    "message": "what was said of that",
    "frames_shown": "how many frames the model saw",
}


def export_run(name: str, folder: Path, suite: str | None = None) -> None:
    """Write a run's answers in the authors' format and print the paths; requests with a missing clip are failures."""
    plan = plan_of(suite)
    run = plan.find_run(name)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    formats = load_importer(run.benchmark).FORMS if has_importer(run.benchmark) else {}
    writers = {form: files.write for form, files in formats.items() if files.write is not None}
    if protocol.form not in writers:
        raise UserError(
            f"export: the authors of {run.benchmark} have no file format of answers to form '{protocol.form}'."
            + (f" Forms that have one: {', '.join(writers)}." if writers else "")
        )
    responses = read_table(require_file(plan.results.responses(run), "export"), RESPONSES)
    items = chosen_items(read_table(plan.results.items(run.benchmark), ITEMS), protocol.items)
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
    frames = frames_shown(plan.config.main.samplings[run.sampling])
    for path in writers[protocol.form](
        folder, run.model if frames is None else f"{run.model}-frame{frames}", items, answered_requests
    ):
        print(path)


def list_static(runs: Sequence[str], judge: str | None, min_rating: float, suite: str | None = None) -> None:
    """Print item and mean rating of every static question of MMBench-Video as csv; the counts go to stderr.

    A static question can be answered from a single random frame; appendix C.1 of the paper drops these questions.
    """
    plan = plan_of(suite)
    paths = [
        require_file(plan.results.verdicts(run, judge or plan.judge_of(run)), "static")
        for run in map(plan.find_run, runs)
    ]
    means = mean_ratings([read_table(path, VERDICTS) for path in paths])
    static_items = means.filter(pl.col("rating") >= min_rating)
    csv.writer(sys.stdout, lineterminator="\n").writerows([("item_id", "rating"), *static_items.rows()])
    print(
        f"{static_items.height} of {means.height} questions rated {min_rating} or more over {len(paths)} runs",
        file=sys.stderr,
    )
