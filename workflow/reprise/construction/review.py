"""Review by people: tasks go out as files, verdicts come back as files, in parts and by several people."""

import csv
import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.filters import KEPT, Row
from reprise.construction.label_studio import TYPED, VERDICT, exported_rows, fields_said, is_export
from reprise.construction.sheets import shown
from reprise.core.errors import UserError
from reprise.core.plain import as_cell, of_cell
from reprise.core.tabular import csv_cells

COLUMNS = ("task_id", "digest", "reviewer", "verdict")
"""of a file of verdicts; other columns are not read"""
SAVED = ("annotation", "at")
MOST_LISTED = 16
REVIEW_FILTERS = ("not_reviewed", "refused")


class Task(NamedTuple):
    """What people are asked about one thing."""

    task_id: str
    choices: tuple[str, ...]
    """what a verdict may say; the first one is in favour"""
    shown: Mapping[str, str]

    @property
    def offered(self) -> str:
        """The choices as people read them; of many only how they begin."""
        listed = " | ".join(self.choices[:MOST_LISTED])
        return f"{listed} | ..." if len(self.choices) > MOST_LISTED else listed

    @property
    def digest(self) -> str:
        """Of what is shown: a verdict on another text is not one on this."""
        return name_of("\n".join(f"{k}: {v}" for k, v in self.shown.items()), 12)


def name_of(text: str, digits: int) -> str:
    """A digest for a cell of a csv file: its letter keeps spreadsheets from taking it for a number, such as 12e34."""
    return f"d{hashlib.sha256(text.encode()).hexdigest()[:digits]}"


def known_as(name: str) -> str:
    """A person's name as it is compared: without case and outer spaces."""
    return name.strip().casefold()


class Verdict(NamedTuple):
    """One person's verdict on a task."""

    task_id: str
    digest: str
    reviewer: str
    verdict: str
    where: str
    annotation: str = ""
    """its name in Label Studio, where the same one in two exports is one that was corrected"""
    at: str = ""
    """when it was saved last"""


class Problem(NamedTuple):
    """A row of a file that does not count."""

    where: str
    problem: str
    found: str


class Reviewed(NamedTuple):
    """What a review comes to."""

    reviewed: list[Row]
    votes: list[Row]
    """single verdicts that only statistics read"""
    tasks: list[Row]
    columns: Sequence[str]
    """of the tasks"""
    problems: list[Problem]
    typed: str = ""
    """what people type in a task, where they do"""


class Votes(NamedTuple):
    """The verdicts on all tasks, by task and person, and the rows that do not count."""

    by_task: Mapping[str, Mapping[str, str]]
    problems: list[Problem]


def read_verdicts(paths: Iterable[Path], said: str = "verdict") -> list[Verdict]:
    """The rows of all files of verdicts; a task without a verdict is not done yet, and no row."""
    found = [_verdict(path, number, row, said) for path in paths for number, row in enumerate(_rows(path), start=1)]
    return [one for one in without_corrected(found) if one.verdict]


def read_typed(paths: Iterable[Path]) -> list[Verdict]:
    """What people typed in Label Studio, in the place of verdicts."""
    return read_verdicts(paths, TYPED)


def is_exported(path: Path) -> bool:
    """Whether this is a whole file that Label Studio exports."""
    try:
        return path.suffix.lower() == ".json" and is_export(json.loads(path.read_text(encoding="utf-8-sig")))
    except (ValueError, RecursionError):
        return False


def _verdict(path: Path, number: int, row: Mapping[str, Any], said: str) -> Verdict:
    columns = COLUMNS if path.suffix.lower() == ".csv" else (*COLUMNS, *SAVED)
    values = {name: of_cell(_text(row.get(said if name == "verdict" else name)).strip()) for name in columns}
    return Verdict(**values, where=f"{path}: row {number}")


def without_corrected(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts without the older states of those that a person changed or took back in Label Studio."""
    saved = [(one, _identity(one), _moment(one.at) if one.annotation else None) for one in verdicts]
    latest: dict[tuple[str, str, str], datetime] = {}
    for _, name, moment in saved:
        if moment:
            latest[name] = max(latest.get(name, moment), moment)
    return [one for one, name, moment in saved if moment in (None, latest.get(name))]


def _identity(one: Verdict) -> tuple[str, str, str]:
    return one.annotation, one.task_id, one.reviewer


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _text(value: Any) -> str:
    """A cell as a text; a rating of 0 may be a number."""
    return "" if value is None else str(value).encode(errors="replace").decode()  # half a sign of JSON is none


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: not whole JSON ({error}). Export it again; the other files of verdicts stay."
        ) from error


def _rows(path: Path) -> list[dict[str, Any]]:
    suffix = path.suffix.lower()
    if suffix == ".json":
        content = _json(path)
        if is_export(content):
            _refuse_other_template(path, content)
            return list(exported_rows(content))
        if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
            raise UserError(
                f"{path}: expected a list of objects with {', '.join(COLUMNS)}, or what Label Studio exports as JSON."
            )
        rows, names = content, list(content[0] if content else COLUMNS)
    elif suffix == ".csv":
        header, *cells = [*csv_cells(path)] or [[]]
        names = [name.strip() for name in header]
        rows = [dict(zip(names, row, strict=True)) for row in cells]
    else:
        raise UserError(f"{path}: file type '{path.suffix}' is not known. Allowed: .csv, .json.")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(map(shown, names)) or 'nothing'}. Needed: "
            f"{', '.join(COLUMNS)}. Fill in a copy of the tasks."
        )
    return rows


def _refuse_other_template(path: Path, content: Sequence[Mapping[str, Any]]) -> None:
    """Verdicts under another name would look as if nobody had given any."""
    fields = fields_said(content)
    if fields and not fields & {VERDICT, TYPED}:
        raise UserError(
            f"{path}: its annotations say {', '.join(map(shown, sorted(fields)))}, and none says '{VERDICT}'. Make the "
            "project with `template.xml` of the tasks, or call the choices of its template so, then export it again."
        )


def counted(tasks: Sequence[Task], verdicts: Sequence[Verdict]) -> Votes:
    """Whose verdict on each task counts; every other row is a problem by name."""
    known = {task.task_id: task for task in tasks}
    by_task: dict[str, dict[str, str]] = defaultdict(dict)
    torn: set[tuple[str, str]] = set()
    written: dict[str, str] = {}
    problems = []
    for one in verdicts:
        problem = _problem(one, known.get(one.task_id))
        person = written.setdefault(known_as(one.reviewer), one.reviewer)
        before = by_task[one.task_id].get(person)
        if not problem and before not in (None, one.verdict):
            torn.add((one.task_id, person))
            problem = ("two_verdicts", f"'{one.reviewer}' said '{before}' and '{one.verdict}' of {one.task_id}")
        if problem:
            problems.append(Problem(one.where, *problem))
        else:
            by_task[one.task_id][person] = one.verdict
    for task, reviewer in torn:
        del by_task[task][reviewer]  # neither counts: the task goes back to review
    return Votes({name: votes for name, votes in by_task.items() if votes}, problems)


def _problem(one: Verdict, task: Task | None) -> tuple[str, str] | None:
    if task is None:
        return "foreign_task", f"no task '{one.task_id}' here: an export of another project, or of older candidates"
    if one.digest != task.digest:
        return "other_text", f"{one.task_id} was shown with another text"
    if not one.reviewer:
        return "no_reviewer", f"nobody is named who judged {one.task_id}"
    if one.verdict not in task.choices:
        return "unknown_verdict", f"'{one.verdict}'; allowed: {', '.join(task.choices)}"
    return None


def decided(tasks: Sequence[Task], votes: Votes, needed: int, keep_undecided: bool) -> dict[str, Row]:
    """By task: how many judged it, how many in favour, and the filter that drops it, if one does."""
    return {
        task.task_id: _decision(task, votes.by_task.get(task.task_id, {}), needed, keep_undecided) for task in tasks
    }


def _decision(task: Task, given: Mapping[str, str], needed: int, keep_undecided: bool) -> Row:
    in_favour = sum(verdict == task.choices[0] for verdict in given.values())
    row: Row = {"votes": len(given), "in_favour": in_favour, **KEPT}
    if len(given) < needed:
        why = f"judged by {len(given)} of {needed}"
        return row if keep_undecided else {**row, "filter": "not_reviewed", "why": why}
    if 2 * in_favour <= len(given):
        said = ", ".join(f"{who}: {verdict}" for who, verdict in sorted(given.items()))
        return {**row, "filter": "refused", "why": said}
    return row


def task_rows(tasks: Sequence[Task], votes: Votes, needed: int) -> list[Row]:
    """The tasks as people get them, those that still need verdicts first."""
    rows = [
        {
            "task_id": task.task_id,
            "digest": task.digest,
            **task.shown,
            "choices": task.offered,
            "options": task.choices,
            "judged_by": ", ".join(sorted(votes.by_task.get(task.task_id, {}))),
            "reviewer": "",
            "verdict": "",
        }
        for task in tasks
    ]
    return sorted(rows, key=lambda row: len(votes.by_task.get(row["task_id"], {})) >= needed)


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as a csv file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_sheet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The same for people, whose spreadsheet must not take what a language model wrote for a formula."""
    return as_csv([{name: as_cell(str(row[name])) for name in columns} for row in rows], columns)


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a JSON file."""
    return json.dumps(list(rows), indent=1, ensure_ascii=False) + "\n"
