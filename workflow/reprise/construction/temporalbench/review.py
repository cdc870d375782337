"""The review of TemporalBench as multiple choice: of each option of a video, in drawn order, whether it fits."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from reprise.construction.draws import rank
from reprise.construction.filters import Row, kept
from reprise.construction.review import REVIEW_FILTERS, Reviewed, Task, counted, decided, read_verdicts, task_rows
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.annotated import CAPTION_TASK, caption_task
from reprise.construction.temporalbench.option_sets import OPTION_SET_FILTERS, with_option_sets

FITS, DOES_NOT = "fits", "does not fit"
OF_OPTIONS = (FITS, DOES_NOT, "cannot be told")
OF_NEGATIVES = (DOES_NOT, FITS, "cannot be told")
"""the same, the first in favour of a negative; people read them in one order, which does not tell the options apart"""
TO_TYPE = "Where the choice is 'described': a caption of the video. Two that differ are shown; then the one that holds"
TASK_COLUMNS = ("task_id", "digest", "video", "option", "choices", "judged_by", "reviewer", "verdict")
OPTION_FILTERS = (*(f"caption_{name}" for name in REVIEW_FILTERS), *REVIEW_FILTERS, *OPTION_SET_FILTERS)


def option_name(clip: str, text: str) -> str:
    """Name of the task about an option; it says nothing of which one is true."""
    return f"{clip}/{rank(0, text)[:10]}"


def option_tasks(samples: pl.DataFrame, seed: int) -> list[Task]:
    """The captions of each video, its true one among them; those of a video stand together."""
    options: dict[str, set[str]] = {}
    for row in kept(samples).iter_rows(named=True):
        options.setdefault(row["clip"], {row["caption"]}).add(row["negative"])
    return [
        Task(option_name(clip, text), OF_OPTIONS, {"video": clip, "option": text})
        for clip, texts in options.items()
        for text in sorted(texts, key=lambda text: rank(seed, clip, text))
    ]


def caption_tasks(pool: pl.DataFrame) -> Iterator[Task]:
    """The clips that still need a caption, or one in the place of several: it goes into a file of the annotations."""
    for row in pool.filter(pl.col("filter").is_in(["no_caption", "two_captions"])).iter_rows(named=True):
        yield caption_task(row["clip"], row["caption"])


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: TemporalBenchSettings) -> Reviewed:
    """The negatives with what people said of them and of their captions, and what is left for people to do."""
    tasks = option_tasks(tables["samples"], settings.seed)
    everything = read_verdicts(verdicts)
    describing = {f"{CAPTION_TASK}{clip}" for clip in tables["pool"]["clip"]}
    votes = counted(tasks, [one for one in everything if one.task_id not in describing])
    needed, keeps = settings.review.votes, settings.review.undecided == "keep"
    captions = decided(tasks, votes, needed, keeps)
    negatives = decided([task._replace(choices=OF_NEGATIVES) for task in tasks], votes, needed, keeps)

    def judged(row: Row) -> Row:
        if row["filter"]:
            return {**row, "votes": 0, "in_favour": 0}
        caption = captions[option_name(row["clip"], row["caption"])]
        found = row | negatives[option_name(row["clip"], row["negative"])]
        why = {"filter": f"caption_{caption['filter']}", "why": f"its caption: {caption['why']}"}
        return found | why if caption["filter"] else found

    rows = with_option_sets([judged(row) for row in tables["samples"].iter_rows(named=True)])
    given = [{"task_id": task, "verdict": said} for task, by in votes.by_task.items() for said in by.values()]
    wanted = list(caption_tasks(tables["pool"]))
    waiting = {task.task_id for task in wanted}
    described = counted(wanted, [one for one in everything if one.task_id in waiting])
    left = [*task_rows(tasks, votes, needed), *task_rows(wanted, described, needed)]
    return Reviewed(rows, given, left, TASK_COLUMNS, [*votes.problems, *described.problems], TO_TYPE)
