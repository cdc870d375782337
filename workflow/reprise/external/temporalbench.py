"""TemporalBench's answer files: `{idx, response}` a line, one file per task, named by the model and its frames.

lmms-eval logs a task into one file too, the entry of the release in `temporalbench_score.item`.
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
    LookedAt,
    object_of,
    of_frames,
    read_responses,
    text_of,
    write_responses,
)

# Form of question -> what the authors' folder of its answers, or the file's name, holds; the last two names are ours.
MARKS = {
    "short": "short_qa",
    "long": "long_qa",
    "caption": "short_caption",
    "centralized": "short_centralized",
    "decentralized": "short_decentralized",
}


def _candidates(mark: str, folder: Path) -> list[list[Path]]:
    """Those in the authors' own folder of the task if it exists; else those named after it; else all others."""
    own = folder / f"temporalbench_{mark}"
    if own.is_dir():
        return [sorted(own.glob("*.jsonl"))]
    found = sorted(folder.glob("*.jsonl"))
    named = [path for path in found if mark in path.name]
    unnamed = [path for path in found if not any(other in path.name for other in MARKS.values())]
    return [named or unnamed]


def _read(
    task: str, looked_at: LookedAt, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame
) -> ImportedAnswers:
    imported = ImportedAnswers()
    by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    for path in (path for path in files if path.suffix == ".jsonl"):
        if b'"filtered_resps"' in path.read_bytes():
            lmms_eval.read_log(path, imported, items, requests, "temporalbench", partial(_identify, task))
        else:
            read_responses(path, imported, by_item, f"{task}/{{}}", looked_at)
    return imported


def _identify(task: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """The entry of the release that a line is about stands in the metric."""
    item = object_of(entry, "temporalbench_score", "item")
    return f"{task}/{text_of(item, 'idx')}", text_of(item, "question") or text_of(entry, "input")


def _answers(form: str, task: str, looked_at: LookedAt = "element") -> AnswerFiles:
    """The files of a form, whose items belong to a task; the part of a response that the authors' scorer compares."""
    mark = MARKS[form]

    def find(folder: Path, frames: int | None) -> list[Path]:
        return of_frames(_candidates(mark, folder)[0], frames, folder)

    def write(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
        return [write_responses(folder / f"temporalbench_{mark}" / f"{name}.jsonl", answered, f"{task}/{{}}")]

    return AnswerFiles(
        find,
        partial(_candidates, mark),
        partial(_read, task, looked_at),
        write,
        beside=lmms_eval.settings_beside,
        deviations=lmms_eval.deviations,
    )


FORMS = {
    "short": _answers("short", "short"),
    "long": _answers("long", "long"),
    "caption": _answers("caption", "caption", "text"),
    # Both kinds of four options are asked about the same items.
    "centralized": _answers("centralized", CENTRAL),
    "decentralized": _answers("decentralized", CENTRAL),
}
