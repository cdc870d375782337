"""Tasks that go out to people as files, and their verdicts, which come back as files, in parts and from several people.

A file is a csv file, or what Label Studio imports, its template, and what it exports (`JSON`).
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
from reprise.core.plain import as_cell, cut, of_cell, visible
from reprise.core.settings import dotted
from reprise.core.tabular import csv_lines

COLUMNS = ("task_id", "digest", "reviewer", "verdict")  # of a file of verdicts; other columns are not read
NAMED = 5  # problems that the log names
LONGEST_NAME = 60  # of a column in a message


class Task(NamedTuple):
    task_id: str
    choices: tuple[str, ...]  # what a verdict may say; the first one is in favour
    shown: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Of what is shown: a verdict on another text is not one on this."""
        return name_of("\n".join(f"{k}: {v}" for k, v in self.shown.items()), 12)


def name_of(text: str, digits: int) -> str:
    """A digest for a cell of a csv file: its letter keeps spreadsheets from taking it for a number, such as 12e34."""
    return f"d{text_digest(text)[:digits]}"


def known_as(name: str) -> str:
    """A person's name as it is compared: without case and outer spaces."""
    return name.strip().casefold()


class Verdict(NamedTuple):
    task_id: str
    digest: str
    reviewer: str
    verdict: str
    where: str


class Problem(NamedTuple):
    where: str
    problem: str
    found: str


class Votes(NamedTuple):
    """The verdicts on all tasks, by task and person, and the rows that do not count."""

    by_task: Mapping[str, Mapping[str, str]]
    problems: list[Problem]

    def said(self, tasks: Iterable[str]) -> list[dict[str, Any]]:
        return [{"task_id": task, "verdict": one} for task in tasks for one in self.by_task.get(task, {}).values()]


def read_verdicts(paths: Iterable[Path]) -> list[Verdict]:
    """The rows of all files of verdicts; a task without a verdict is not done yet, and no row."""
    found = []
    for path in paths:
        for number, row in enumerate(_rows(path), start=1):
            cells = {name: of_cell(row[name].strip()) for name in COLUMNS}
            if cells["verdict"]:
                found.append(Verdict(**cells, where=f"{path}: row {number}"))
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    if path.suffix.lower() == ".json":
        return exported_rows(path)
    if path.suffix.lower() != ".csv":
        raise UserError(f"{path}: file type '{path.suffix}' is not known. Allowed: .csv, .json.")
    header, *cells = [cells for _, cells in csv_lines(path)] or [[]]
    names = [name.strip() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        found = [visible(cut(name, LONGEST_NAME)) for name in names]
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(found) or 'nothing'}. Needed: "
            f"{', '.join(COLUMNS)}. Fill in a copy of the tasks."
        )
    return [dict(zip(names, row, strict=True)) for row in cells]


def warn_of(problems: Sequence[Problem], file: Path) -> None:
    """Name the first rows that do not count in the log; all are in a file."""
    for one in problems[:NAMED]:
        log.warning(f"{one.where}: {one.problem}: {one.found}; the row does not count.")
    if len(problems) > NAMED:
        log.warning(f"{len(problems) - NAMED} more such rows: see {file}.")


def counted(tasks: Sequence[Task], verdicts: Sequence[Verdict]) -> Votes:
    """Whose verdict on each task counts; every other row is a problem by name."""
    known = {task.task_id: task for task in tasks}
    by_task: dict[str, dict[str, str]] = defaultdict(dict)
    contradicted: set[tuple[str, str]] = set()
    written: dict[str, str] = {}
    problems = []
    for one in verdicts:
        task, problem = known.get(one.task_id), ("", "")
        if task is None:
            why = f"no task '{one.task_id}' here: an export of another project, or of older candidates"
            problem = ("foreign_task", why)
        elif one.digest != task.digest:
            problem = ("other_text", f"{one.task_id} was shown with another text")
        elif not one.reviewer:
            problem = ("no_reviewer", f"nobody is named who judged {one.task_id}")
        elif one.verdict not in task.choices:
            problem = ("unknown_verdict", f"'{one.verdict}'; allowed: {', '.join(task.choices)}")
        person = written.setdefault(known_as(one.reviewer), one.reviewer)
        before = by_task[one.task_id].get(person)
        if not problem[0] and before not in (None, one.verdict):
            contradicted.add((one.task_id, person))
            problem = ("two_verdicts", f"'{one.reviewer}' said '{before}' and '{one.verdict}' of {one.task_id}")
        if problem[0]:
            problems.append(Problem(one.where, *problem))
        else:
            by_task[one.task_id][person] = one.verdict
    for name, reviewer in contradicted:
        del by_task[name][reviewer]  # neither counts: the task goes back to review
    return Votes({name: votes for name, votes in by_task.items() if votes}, problems)


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, delimiter=delimiter, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_sheet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as a csv file for people, whose spreadsheet must not take what a language model wrote for a formula."""
    return as_csv([{name: as_cell(str(row[name])) for name in columns} for row in rows], columns)


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(rows), indent=1, ensure_ascii=False) + "\n"


LOCAL_FILES = "/data/local-files/?d="  # how it names a file below its LOCAL_FILES_DOCUMENT_ROOT
VERDICT = "verdict"


class Result(BaseModel):
    from_name: str
    value: dict[str, Any]


class Annotation(BaseModel):
    completed_by: int | None
    result: list[Result]
    was_cancelled: bool = False


class Exported(BaseModel):
    data: dict[str, Any]
    annotations: list[Annotation]


def as_task(row: Mapping[str, Any], video: str, choices: Sequence[str]) -> dict[str, Any]:
    """A row of tasks with what its template shows: a video's address, and the choices."""
    texts = {name: value for name, value in row.items() if name not in ("reviewer", VERDICT)}
    address = f"{LOCAL_FILES}{quote(video)}" if video else ""
    return {**texts, "video_url": address, "options": [{"value": choice} for choice in choices]}


def template(title: str, texts: Sequence[str]) -> str:
    """The interface of a project: the video, these columns of a task as texts, and its choices."""
    fields = [
        f'  <Header value={quoteattr(name)}/>\n  <Text name={quoteattr(name)} value="${name}"/>' for name in texts
    ]
    return "\n".join(
        [
            "<View>",
            f"  <Header value={quoteattr(title)}/>",
            '  <Video name="video" value="$video_url"/>',
            *fields,
            f'  <Choices name="{VERDICT}" toName={quoteattr(texts[0])} choice="single" showInLine="true"',
            '    value="$options" required="true"/>',
            "</View>",
            "",
        ]
    )


def exported_rows(path: Path) -> list[dict[str, str]]:
    """A row an annotation; one that was skipped has no verdict. Its user's number says whose."""
    try:
        tasks = TypeAdapter(list[Exported]).validate_json(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{path}: not what Label Studio exports as `JSON`: {dotted(first['loc'])}: {visible(first['msg'])}. Export "
            "it again, or fill in a csv file; the other files of verdicts stay."
        ) from error
    rows = []
    for task in tasks:
        for one in task.annotations:
            said = {field.from_name: field.value.get("choices", []) for field in one.result}
            if said and VERDICT not in said:  # it would look as if nobody had given a verdict
                raise UserError(
                    f"{path}: an annotation says {', '.join(map(visible, said))}, and not '{VERDICT}'. Make the "
                    "project with `template.xml` of the tasks, then export it again."
                )
            rows.append({
                "task_id": str(task.data.get("task_id", "")),
                "digest": str(task.data.get("digest", "")),
                "reviewer": "" if one.completed_by is None else f"label-studio {one.completed_by}",
                VERDICT: "" if one.was_cancelled else ", ".join(map(str, said.get(VERDICT, []))),
            })  # fmt: skip
    return rows
