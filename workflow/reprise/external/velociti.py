"""VELOCITI's answer files: one csv per test, with rows by video and event but without captions."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.velociti.taxonomy import build_event_id
from reprise.core.errors import UserError
from reprise.core.files import atomic_path
from reprise.core.plain import parse_number
from reprise.external import NO_ANSWER, AnswerFiles
from reprise.external.answers import NOT_A_NUMBER, UNKNOWN_ID, FileLocation, ImportedAnswers, read_sheet_rows
from reprise.extraction.extractors import UNEXPECTED_PREDICTION
from reprise.models.base import Answer

ID_COLUMNS = ("test_name", "video_id", "event")
# Pairs of columns: scores of the positive and the negative caption, answers about them (Yes or No), and answers to the
# multiple choice with A and with B as the ground truth.
SCORES, PREDICTIONS, CHOICES = ("pos_score", "neg_score"), ("pos_pred", "neg_pred"), ("gt_A", "gt_B")
ROLE_BY_COLUMN = {
    "pos_score": "pos",
    "neg_score": "neg",
    "pos_pred": "pos",
    "neg_pred": "neg",
    "gt_A": "a",
    "gt_B": "b",
}


ColumnPairs = Sequence[tuple[str, str]]
"""Pairs of columns that a file may have for the two answers about a sample; a pair with scores comes first."""


class SheetAnswers(NamedTuple):
    """The answers in a row of a file."""

    location: FileLocation
    cell_by_column: dict[str, str]  # column -> cell


def _read(pairs: ColumnPairs, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return the answers by request; rows are matched with items by test, video, event and order in the file."""
    imported = ImportedAnswers()
    rows_by_event: dict[str, list[SheetAnswers]] = {}
    for path in files:
        columns, sheet_rows = read_sheet_rows(path, imported, *((*ID_COLUMNS, *pair) for pair in pairs))
        for sheet_row in sheet_rows:
            event = build_event_id(*(sheet_row.cells[name].strip() for name in ID_COLUMNS))
            answers = {column: sheet_row.cells[column] for column in columns if column not in ID_COLUMNS}
            sheet_answers = SheetAnswers(FileLocation(path, sheet_row.line, event), answers)
            rows_by_event.setdefault(event, []).append(sheet_answers)
    requests_by_role = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}
    for item_id, row in match_rows(rows_by_event, items["item_id"], requests["item_id"], imported):
        for column, cell in row.cell_by_column.items():
            if request := requests_by_role.get((item_id, ROLE_BY_COLUMN[column])):
                answer = _parse_answer(column, cell, request, row.location, imported)
                imported.add_answer(request["request_id"], answer, row.location)
    return imported


def match_rows(
    rows: Mapping[str, Sequence[SheetAnswers]],
    release_ids: Iterable[str],
    request_ids: Iterable[str],
    imported: ImportedAnswers,
) -> list[tuple[str, SheetAnswers]]:
    """Return pairs of item id and row; rows and items of an event are matched by their order.

    Args:
        rows: Rows by event, in the order of the file; an event is the common prefix of the ids of its samples.
        release_ids: Item ids of the release.
        request_ids: Item ids of this run's requests.
        imported: Receives the problems of the rows.

    Raises:
        UserError: The number of rows of an event equals neither that of the release's samples nor that of this run's.
    """
    released_samples, run_samples = (
        group_by_key(dict.fromkeys(ids), lambda item_id: item_id.rpartition("/")[0])
        for ids in (release_ids, request_ids)
    )
    for event in [event for event in rows if event not in released_samples]:
        for row in rows[event]:
            imported.add_problems(row.location, UNKNOWN_ID)
    events = [event for event in rows if event in released_samples]
    # A file has rows for all samples of the release, or only for those of this run.
    mismatches_by_samples = []
    for sample_ids in (released_samples, run_samples):
        mismatches = [event for event in events if len(rows[event]) != len(sample_ids.get(event, ()))]
        if not mismatches:
            return [pair for event in events for pair in zip(sample_ids[event], rows[event], strict=True)]
        mismatches_by_samples.append(mismatches)
    event = min(mismatches_by_samples, key=len)[0]
    first = rows[event][0].location
    raise UserError(
        f"{first.file}: line {first.line}: {len(rows[event])} rows for {event}, but the release has "
        f"{len(released_samples[event])} such samples and this run has {len(run_samples.get(event, ()))}. Rows have no "
        "captions and are matched by their order, so the counts must be equal. Complete the file, or remove the rows "
        "of that event."
    )


def _parse_answer(
    column: str, cell: str, request: Mapping[str, Any], location: FileLocation, imported: ImportedAnswers
) -> Answer:
    """Return the answer in a cell: scores, an option, or a failure if the cell is empty."""
    if column in SCORES:
        score = parse_number(cell)
        if score is None:
            score = nan
            imported.add_problems(location._replace(id=f"{location.id} {column}"), NOT_A_NUMBER)
        # A score is the probability of the first of two options (Yes), or the similarity, which is the only option.
        return Answer(scores=(score,) if len(request["options"]) == 1 else (score, 1 - score))
    if not cell.strip():
        return Answer(error=NO_ANSWER)
    # The authors' script counts other predictions as missing, but the extractor `robust` may parse them.
    return Answer(text=cell, error=UNEXPECTED_PREDICTION if column in PREDICTIONS and cell not in ("Yes", "No") else "")


def _write(
    pairs: ColumnPairs, folder: Path, model_name: str, items: pl.DataFrame, answered_requests: pl.DataFrame
) -> list[Path]:
    """Write one csv per test; a failed score is written as a blank cell, a failed text answer as `error`."""
    has_scores = answered_requests["scores"].list.len().fill_null(0).max() != 0
    columns = pairs[0] if has_scores else pairs[-1]  # The pair with scores is the first one.
    answers = {(row["item_id"], row["role"]): row for row in answered_requests.iter_rows(named=True)}
    paths = []
    for (test,), rows in items.group_by("task", maintain_order=True):
        lines = []
        for item_id in rows["item_id"]:
            _, video, event, _ = item_id.rsplit("/", 3)
            # The ids of samples have a list of events as `Ev1-Ev2`, the authors' files as `["Ev1", "Ev2"]`.
            event_cell = "[" + ", ".join(f'"{part}"' for part in event.split("-")) + "]" if "-" in event else event
            cells = (_format_cell(column, answers[item_id, ROLE_BY_COLUMN[column]]) for column in columns)
            lines.append((test, video, event_cell, *cells))
        paths.append(folder / f"{test}.csv")
        with atomic_path(paths[-1]) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([(*ID_COLUMNS, *columns), *lines])
    return paths


def _format_cell(column: str, row: Mapping[str, Any]) -> str:
    """Return an answer as a cell: its text, or the score of the first option as a share of all scores."""
    if column not in SCORES:
        return "error" if row["error"] else str(row["text"])
    scores = row["scores"]
    if row["error"] or not scores:
        return ""
    if len(scores) == 1:
        return repr(scores[0])
    return repr(scores[0] / sum(scores)) if sum(scores) > 0 else ""


def _create_answer_files(*pairs: tuple[str, str]) -> AnswerFiles:
    """Return the answer files of a form: all csv files of a folder; each row names its test."""
    return AnswerFiles(
        find=lambda folder, frames: sorted(folder.glob("*.csv")),
        find_candidates=lambda folder: [[path] for path in sorted(folder.glob("*.csv"))],
        read=partial(_read, pairs),
        write=partial(_write, pairs),
        has_file_per_task=True,
    )


FORMS = {
    "entail": _create_answer_files(SCORES, PREDICTIONS),
    "similarity": _create_answer_files(SCORES),
    "mc": _create_answer_files(CHOICES),
}
