"""TemporalBench's answer files: one `{idx, response}` per line, one file per task, named by model and frames.

lmms-eval also logs a task into one file, with the entry of the release in `temporalbench_score.item`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.temporalbench.taxonomy import CENTRAL
from reprise.external import AnswerFiles, lmms_eval
from reprise.external.answers import (
    ImportedAnswers,
    ScoredPart,
    object_of,
    of_frames,
    read_responses,
    text_of,
    write_responses,
)

# Form of question -> its mark in the authors' folder or file names; the last two marks are defined here.
MARKS = {
    "short": "short_qa",
    "long": "long_qa",
    "caption": "short_caption",
    "centralized": "short_centralized",
    "decentralized": "short_decentralized",
}


def _candidates(mark: str, folder: Path) -> list[list[Path]]:
    """Return the files in the authors' folder of the task, or with its mark in their names, or without any mark."""
    task_folder = folder / f"temporalbench_{mark}"
    if task_folder.is_dir():
        return [sorted(task_folder.glob("*.jsonl"))]
    files = sorted(folder.glob("*.jsonl"))
    marked = [path for path in files if mark in path.name]
    unmarked = [path for path in files if not any(task_mark in path.name for task_mark in MARKS.values())]
    return [marked or unmarked]


def _read(
    task: str, scored_part: ScoredPart, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame
) -> ImportedAnswers:
    imported = ImportedAnswers()
    by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    for path in (path for path in files if path.suffix == ".jsonl"):
        if b'"filtered_resps"' in path.read_bytes():
            lmms_eval.read_log(path, imported, items, requests, "temporalbench", partial(_identify, task))
        else:
            read_responses(path, imported, by_item, f"{task}/{{}}", scored_part)
    return imported


def _identify(task: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return item id and question of a line, from the entry of the release inside the metric."""
    item = object_of(entry, "temporalbench_score", "item")
    return f"{task}/{text_of(item, 'idx')}", text_of(item, "question") or text_of(entry, "input")


def _answers(form: str, task: str, scored_part: ScoredPart = "element") -> AnswerFiles:
    """Return the answer files of a form; `scored_part` is the part of a response that the authors' scorer compares."""
    mark = MARKS[form]

    def find(folder: Path, frames: int | None) -> list[Path]:
        return of_frames(_candidates(mark, folder)[0], frames, folder)

    def write(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
        return [write_responses(folder / f"temporalbench_{mark}" / f"{name}.jsonl", answered_requests, f"{task}/{{}}")]

    return AnswerFiles(
        find,
        partial(_candidates, mark),
        partial(_read, task, scored_part),
        write,
        beside=lmms_eval.settings_beside,
        deviations=lmms_eval.deviations,
    )


FORMS = {
    "short": _answers("short", "short"),
    "long": _answers("long", "long"),
    "caption": _answers("caption", "caption", "text"),
    # Both kinds of four options share the same items.
    "centralized": _answers("centralized", CENTRAL),
    "decentralized": _answers("decentralized", CENTRAL),
}
