"""Export tasks for annotators, and read their verdicts from several files and annotators.

Tasks are written as csv, and as tasks and a template for Label Studio. Verdicts are read from csv files and from Label
Studio's `JSON` exports.
"""

import codecs
import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, TypeAdapter, ValidationError
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.log import log
from reprise.core.plain import escape_cell, escape_invisible, truncate, unescape_cell
from reprise.core.settings import format_location
from reprise.core.tabular import read_csv_lines

COLUMNS = ("task_id", "digest", "reviewer", "verdict")  # columns of a verdict file; other columns are ignored
MAX_LOGGED = 5  # maximum number of problems that are logged one by one
MAX_NAME_CHARS = 60  # maximum length of a column's name in a message


class Task(NamedTuple):
    """A question for annotators."""

    task_id: str
    choices: tuple[str, ...]  # allowed verdicts; in a review, the first one accepts
    texts: Mapping[str, str]  # title of a text -> the text that annotators see

    @property
    def digest(self) -> str:
        """Return a digest of the texts that annotators see. A verdict on other texts does not count for this task."""
        return opaque_name("\n".join(f"{title}: {text}" for title, text in self.texts.items()), 12)


def opaque_name(text: str, digits: int) -> str:
    """Return a digest for a csv cell. It starts with a letter, because spreadsheets read 12e34 as a number."""
    return f"d{text_digest(text)[:digits]}"


def normalize_name(name: str) -> str:
    """Return a person's name for comparisons, without case and outer spaces."""
    return name.strip().casefold()


class Verdict(NamedTuple):
    """A row of a verdict file: what an annotator chose for a task."""

    task_id: str
    digest: str  # of the texts that the annotator saw
    reviewer: str
    verdict: str
    location: str  # file and row


class RowProblem(NamedTuple):
    """A row that does not count."""

    location: str
    problem: str  # name of the reason
    detail: str


class Votes(NamedTuple):
    """Verdicts that count, by task and annotator, and the rows that do not count."""

    by_task: Mapping[str, Mapping[str, str]]  # task -> annotator -> verdict
    problems: list[RowProblem]

    def verdict_rows(self, tasks: Iterable[str]) -> list[dict[str, Any]]:
        """Return a row for each verdict on these tasks, without the annotators."""
        return [
            {"task_id": task, "verdict": verdict} for task in tasks for verdict in self.by_task.get(task, {}).values()
        ]


def read_verdicts(paths: Iterable[Path]) -> list[Verdict]:
    """Read the verdicts of all files. Rows with an empty verdict are skipped."""
    verdicts = []
    for path in paths:
        for number, row in enumerate(_rows(path), start=1):
            cells = {name: unescape_cell(row[name].strip()) for name in COLUMNS}
            if cells["verdict"]:
                verdicts.append(Verdict(**cells, location=f"{path}: row {number}"))
    return verdicts


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a verdict file, by the columns of its header."""
    if path.suffix.lower() == ".json":
        return read_exported_rows(path)
    if path.suffix.lower() != ".csv":
        raise UserError(f"{path}: unknown file type '{path.suffix}'. Allowed: .csv, .json.")
    header, *cells = [cells for _, cells in read_csv_lines(path)] or [[]]
    names = [name.strip() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        present = [escape_invisible(truncate(name, MAX_NAME_CHARS)) for name in names]
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(present) or 'nothing'}. Needed: "
            f"{', '.join(COLUMNS)}. Fill in a copy of the tasks file."
        )
    return [dict(zip(names, row, strict=True)) for row in cells]


def log_problems(problems: Sequence[RowProblem], file: Path) -> None:
    """Log the first rows that do not count, and name the file that lists all of them."""
    for problem in problems[:MAX_LOGGED]:
        log.warning(f"{problem.location}: {problem.problem}: {problem.detail}; the row does not count.")
    if len(problems) > MAX_LOGGED:
        log.warning(f"{len(problems) - MAX_LOGGED} more such rows: see {file}.")


def count_votes(tasks: Sequence[Task], verdicts: Sequence[Verdict]) -> Votes:
    """Return the verdicts that count, and a `RowProblem` for each of the others."""
    task_by_id = {task.task_id: task for task in tasks}
    by_task: dict[str, dict[str, str]] = defaultdict(dict)
    contradictions: set[tuple[str, str]] = set()  # tasks and annotators with two different verdicts
    spelling_by_name: dict[str, str] = {}  # normalized name -> its first spelling
    problems = []
    for verdict in verdicts:
        task = task_by_id.get(verdict.task_id)
        problem: tuple[str, str] | None = None
        if task is None:
            message = f"unknown task '{verdict.task_id}', from another project or from older candidates"
            problem = ("foreign_task", message)
        elif verdict.digest != task.digest:
            problem = ("other_text", f"{verdict.task_id} had another text when it was judged")
        elif not verdict.reviewer:
            problem = ("no_reviewer", f"{verdict.task_id} has no reviewer")
        elif verdict.verdict not in task.choices:
            problem = ("unknown_verdict", f"'{verdict.verdict}'; allowed: {', '.join(task.choices)}")
        # A person is named by the first spelling of the name.
        person = spelling_by_name.setdefault(normalize_name(verdict.reviewer), verdict.reviewer)
        earlier_verdict = by_task[verdict.task_id].get(person)
        if problem is None and earlier_verdict not in (None, verdict.verdict):
            contradictions.add((verdict.task_id, person))
            problem = (
                "two_verdicts",
                f"'{verdict.reviewer}' gave '{earlier_verdict}' and '{verdict.verdict}' for {verdict.task_id}",
            )
        if problem:
            problems.append(RowProblem(verdict.location, *problem))
        else:
            by_task[verdict.task_id][person] = verdict.verdict
    for task_id, reviewer in contradictions:
        del by_task[task_id][reviewer]  # Neither verdict counts, so the task needs a new one.
    return Votes({task_id: votes for task_id, votes in by_task.items() if votes}, problems)


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, delimiter=delimiter, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_sheet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return rows as csv for spreadsheets. Texts are escaped, so spreadsheets do not read them as formulas."""
    return as_csv([{name: escape_cell(str(row[name])) for name in columns} for row in rows], columns)


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(rows), indent=1, ensure_ascii=False) + "\n"


LOCAL_FILES = "/data/local-files/?d="  # Label Studio's address of a file below LOCAL_FILES_DOCUMENT_ROOT
VERDICT = "verdict"


class ExportedField(BaseModel):
    """A field of the labelling interface that an annotator filled in."""

    from_name: str
    value: dict[str, Any]


class ExportedAnnotation(BaseModel):
    """An annotation of a task by one user of Label Studio."""

    completed_by: int | None
    result: list[ExportedField]
    was_cancelled: bool = False


class ExportedTask(BaseModel):
    """A task in an export of Label Studio, with its annotations."""

    data: dict[str, Any]
    annotations: list[ExportedAnnotation]


def label_studio_task(row: Mapping[str, Any], video: str, choices: Sequence[str]) -> dict[str, Any]:
    """Return a task for Label Studio: the row of a survey, the address of its video, and its choices."""
    texts = {name: text for name, text in row.items() if name not in ("reviewer", VERDICT)}
    address = f"{LOCAL_FILES}{quote(video)}" if video else ""
    return {**texts, "video_url": address, "options": [{"value": choice} for choice in choices]}


def label_studio_template(title: str, text_columns: Sequence[str]) -> str:
    """Return the labelling interface of a Label Studio project: the video, the columns' texts, and the choices."""
    fields = [
        f'  <Header value={quoteattr(name)}/>\n  <Text name={quoteattr(name)} value="${name}"/>'
        for name in text_columns
    ]
    return "\n".join(
        [
            "<View>",
            f"  <Header value={quoteattr(title)}/>",
            '  <Video name="video" value="$video_url"/>',
            *fields,
            f'  <Choices name="{VERDICT}" toName={quoteattr(text_columns[0])} choice="single" showInLine="true"',
            '    value="$options" required="true"/>',
            "</View>",
            "",
        ]
    )


def read_exported_rows(path: Path) -> list[dict[str, str]]:
    """Return a row per annotation. The reviewer is the user's number; skipped annotations have no verdict."""
    try:
        tasks = TypeAdapter(list[ExportedTask]).validate_json(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{path}: not a `JSON` export of Label Studio: {format_location(first['loc'])}: "
            f"{escape_invisible(first['msg'])}. Export it again, or fill in a csv file."
        ) from error
    rows = []
    for task in tasks:
        for annotation in task.annotations:
            choices_by_field = {field.from_name: field.value.get("choices", []) for field in annotation.result}
            # Without this check, an annotation of another project would count as one without a verdict.
            if choices_by_field and VERDICT not in choices_by_field:
                raise UserError(
                    f"{path}: an annotation has the fields {', '.join(map(escape_invisible, choices_by_field))}, "
                    f"but not '{VERDICT}'. Create the project with the tasks' `template.xml`, then export it again."
                )
            rows.append({
                "task_id": str(task.data.get("task_id", "")),
                "digest": str(task.data.get("digest", "")),
                "reviewer": "" if annotation.completed_by is None else f"label-studio {annotation.completed_by}",
                VERDICT: "" if annotation.was_cancelled else ", ".join(map(str, choices_by_field.get(VERDICT, []))),
            })  # fmt: skip
    return rows
