"""VELOCITI's answer files: one csv per test, with rows by video and event but without captions."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.rows import grouped
from reprise.benchmarks.velociti.taxonomy import event_id
from reprise.core.errors import UserError
from reprise.core.files import whole_file
from reprise.core.plain import number_in
from reprise.external import NO_ANSWER, AnswerFiles
from reprise.external.answers import NO_NUMBER, UNKNOWN_ID, ImportedAnswers, Place, read_records
from reprise.models.base import Answer
from reprise.reading.readers import OTHER

IDENTITY = ("test_name", "video_id", "event")
SCORES, PREDICTIONS, CHOICES = ("pos_score", "neg_score"), ("pos_pred", "neg_pred"), ("gt_A", "gt_B")
ROLE = {"pos_score": "pos", "neg_score": "neg", "pos_pred": "pos", "neg_pred": "neg", "gt_A": "a", "gt_B": "b"}


Pairs = Sequence[tuple[str, str]]
"""Pairs of columns for both answers about a sample; a pair with scores comes first."""


class SampleAnswers(NamedTuple):
    """The answers in a row of a file."""

    place: Place
    answers: dict[str, str]  # column -> cell


def _read(pairs: Pairs, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return the answers by test, video and event; rows of the same event keep the order of the file."""
    imported = ImportedAnswers()
    rows: dict[str, list[SampleAnswers]] = {}
    for path in files:
        columns, records = read_records(path, imported, *((*IDENTITY, *pair) for pair in pairs))
        for record in records:
            event = event_id(*(record.cells[name].strip() for name in IDENTITY))
            answers = {column: record.cells[column] for column in columns if column not in IDENTITY}
            rows.setdefault(event, []).append(SampleAnswers(Place(path, record.line, event), answers))
    questions = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}
    for item_id, row in match_rows(rows, items["item_id"], requests["item_id"], imported):
        for column, cell in row.answers.items():
            if question := questions.get((item_id, ROLE[column])):
                imported.add(question["request_id"], _answer(column, cell, question, row.place, imported), row.place)
    return imported


def match_rows(
    rows: Mapping[str, Sequence[SampleAnswers]],
    released: Iterable[str],
    requested: Iterable[str],
    imported: ImportedAnswers,
) -> list[tuple[str, SampleAnswers]]:
    """Return pairs of item id and row, matched by their order within an event.

    Args:
        rows: Rows by event, in the order of the file; an event is the common prefix of the ids of its samples.
        released: Item ids of the release.
        requested: Item ids of this run's requests.
        imported: Receives the problems of the rows.

    Raises:
        UserError: The numbers of rows fit neither the samples of the release nor those of this run.
    """
    released_samples, run_samples = (
        grouped(dict.fromkeys(ids), lambda item_id: item_id.rpartition("/")[0]) for ids in (released, requested)
    )
    for event in [event for event in rows if event not in released_samples]:
        for row in rows[event]:
            imported.note(row.place, UNKNOWN_ID)
    events = [event for event in rows if event in released_samples]
    unequal = [
        [event for event in events if len(rows[event]) != len(samples.get(event, ()))]
        for samples in (released_samples, run_samples)
    ]
    for samples, mismatches in zip((released_samples, run_samples), unequal, strict=True):
        if not mismatches:
            return [pair for event in events for pair in zip(samples[event], rows[event], strict=True)]
    event = min(unequal, key=len)[0]
    first = rows[event][0].place
    raise UserError(
        f"{first.file}: line {first.line}: {len(rows[event])} rows for {event}, but there are "
        f"{len(released_samples[event])} such samples in the release and {len(run_samples.get(event, ()))} in this "
        "run. The rows hold no captions and are matched by their order, so the counts must be equal. Complete the "
        "file, or remove the rows of that event."
    )


def _answer(column: str, cell: str, question: Mapping[str, Any], place: Place, imported: ImportedAnswers) -> Answer:
    if column in SCORES:
        score = number_in(cell)
        if score is None:
            score = nan
            imported.note(place._replace(id=f"{place.id} {column}"), NO_NUMBER)
        # A single option, such as the similarity of a text and a clip, has one score.
        return Answer(scores=(score,) if len(question["options"]) == 1 else (score, 1 - score))
    if not cell.strip():
        return Answer(error=NO_ANSWER)
    # The authors' script counts other predictions as missing, but a robust extractor may still parse them.
    return Answer(text=cell, error=OTHER if column in PREDICTIONS and cell not in ("Yes", "No") else "")


def _write(pairs: Pairs, folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    """Write one csv per test; a failed score is blank and a failed text answer is `error`."""
    has_scores = answered_requests["scores"].list.len().fill_null(0).max() != 0
    columns = pairs[0] if has_scores else pairs[-1]
    answers = {(row["item_id"], row["role"]): row for row in answered_requests.iter_rows(named=True)}
    paths = []
    for (test,), rows in items.group_by("task", maintain_order=True):
        lines = []
        for item_id in rows["item_id"]:
            _, video, event, _ = item_id.rsplit("/", 3)
            events = "[" + ", ".join(f'"{part}"' for part in event.split("-")) + "]" if "-" in event else event
            cells = (_cell(column, answers[item_id, ROLE[column]]) for column in columns)
            lines.append((test, video, events, *cells))
        paths.append(folder / f"{test}.csv")
        with whole_file(paths[-1]) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([(*IDENTITY, *columns), *lines])
    return paths


def _cell(column: str, row: Mapping[str, Any]) -> str:
    if column not in SCORES:
        return "error" if row["error"] else str(row["text"])
    scores = row["scores"]
    if row["error"] or not scores:
        return ""
    if len(scores) == 1:
        return repr(scores[0])
    return repr(scores[0] / sum(scores)) if sum(scores) > 0 else ""


def _answers(*pairs: tuple[str, str]) -> AnswerFiles:
    """Return the answer files of a form: all csv files of a folder, since their rows name the test."""
    return AnswerFiles(
        find=lambda folder, frames: sorted(folder.glob("*.csv")),
        candidates=lambda folder: [[path] for path in sorted(folder.glob("*.csv"))],
        read=partial(_read, pairs),
        write=partial(_write, pairs),
        has_file_per_task=True,
    )


FORMS = {"entail": _answers(SCORES, PREDICTIONS), "similarity": _answers(SCORES), "mc": _answers(CHOICES)}
