"""Vinoground's answer files `textscore-response.jsonl` and `videoscore-response.jsonl`: `{idx, response}` per line.

lmms-eval logs the answers of both files into one; `vinoground_score` has the id and the task of a line.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.external import AnswerFiles, lmms_eval
from reprise.external.answers import (
    ImportedAnswers,
    get_object,
    get_text,
    read_responses,
    select_by_frame_count,
    write_responses,
)

KIND_BY_TASK = {"text": "textscore", "video": "videoscore"}
"""task of items -> kind of the authors' files with answers about them"""
LOG_NAME = re.compile(r".*samples_vinoground.*\.jsonl")


def _find_files(folder: Path, frame_count: int | None) -> list[Path]:
    """Return one file of each kind; names of the authors' files contain the number of frames."""
    files = [
        path
        for candidates in _find_candidates(folder)
        for path in select_by_frame_count(candidates, frame_count, folder)
    ]
    has_logs = any(LOG_NAME.fullmatch(path.name) for path in files)
    has_authors_files = not all(LOG_NAME.fullmatch(path.name) for path in files)
    if has_logs and has_authors_files:
        names = ", ".join(path.name for path in files)
        raise UserError(f"{folder}: found {names}: answers in the authors' files and in a log. Keep one of the two.")
    return files


def _find_candidates(folder: Path) -> list[list[Path]]:
    """Return the files of each kind and the logs of both kinds, for any number of frames."""
    authors_names = [re.compile(rf"{kind}(?:-frame\d+)?-response\.jsonl") for kind in KIND_BY_TASK.values()]
    patterns = [*authors_names, LOG_NAME]
    return [[path for path in sorted(folder.iterdir()) if pattern.fullmatch(path.name)] for pattern in patterns]


def _read(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return the answers by task and idx, such as `7_pos`."""
    imported = ImportedAnswers()
    request_by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    answer_files = [path for path in files if path.suffix == ".jsonl"]  # Files `.json` are settings of lmms-eval.
    for path in answer_files:
        if LOG_NAME.fullmatch(path.name):
            lmms_eval.read_log(path, imported, items, requests, "vinoground", _identify)
        else:
            task = next(task for task, kind in KIND_BY_TASK.items() if path.name.startswith(kind))
            read_responses(path, imported, request_by_item, "{}/" + task, "character")
    return imported


def _identify(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return item id and question of a line of a log."""
    score = get_object(entry, "vinoground_score")
    return f"{get_text(score, 'index')}/{get_text(score, 'question_type')}", get_text(entry, "input")


def _write(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    """Write a run's answers in the authors' two files, and return the files."""
    return [
        write_responses(folder / f"{kind}-response.jsonl", answered_requests, "{}/" + task)
        for task, kind in KIND_BY_TASK.items()
    ]


FORMS = {
    "questions": AnswerFiles(
        _find_files,
        _find_candidates,
        _read,
        _write,
        find_settings_files=lmms_eval.find_settings_files,
        find_deviations=lmms_eval.find_deviations,
    )
}
