"""Shared by all imports: answers, and problems of their files, named by file, line and id."""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from reprise.core.checksums import seal_text
from reprise.core.errors import UserError
from reprise.core.files import whole_file
from reprise.core.plain import as_cell
from reprise.external import NO_ANSWER, NO_TEXT
from reprise.models.base import Answer
from reprise.reading.readers import CONTRADICTORY

# What can be wrong with an imported answer; a table counts them by these words.
UNKNOWN_ID = "unknown id"
NO_FILE = "test without a file, not asked"
BROKEN_LINE = "broken line"
NO_FIELD = "no idx or no response"
NOT_A_TEXT = "no text"
SEVERAL = "several texts in one answer"
REPEATED = "repeats an answer"
DISAGREES = "disagrees with another answer"
NO_NUMBER = "no number"
NO_TRUTH = "its question has no ground truth"
EMPTY_FILE = "empty file"
OTHER_PROMPT = "asked with another prompt"
OTHER_FRAMES = "another number of frames than the sampling's"

LookedAt: TypeAlias = Literal["character", "element", "text"]
"""What an authors' scorer compares of a list of texts: the first character of its first element, or the element."""

# What openpyxl raises at a file that is no whole workbook.
UNREADABLE = (KeyError, IndexError, ValueError, TypeError, AttributeError, RuntimeError, OSError, EOFError)
# A file of a few kB can unpack to gigabytes, and one cell at the far end makes a whole sheet.
LARGEST_SHEET, MOST_CELLS = 2**29, 5_000_000

csv.field_size_limit(2**27)  # a packed reply may be longer than the csv module's own limit


class Place(NamedTuple):
    """Where an answer is."""

    file: Path
    line: int
    id: str


class Problem(NamedTuple):
    """What is wrong at a place."""

    file: str
    line: int | None
    id: str
    problem: str


@dataclass
class ImportedAnswers:
    """One answer per question; a second one that differs makes the answer contradictory, with the last text."""

    answers: dict[str, Answer] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def note(self, place: Place, problem: str) -> None:
        self.problems.append(Problem(str(place.file), place.line, place.id, problem))

    def add(self, question: str, answer: Answer, place: Place) -> None:
        known = self.answers.setdefault(question, answer)
        if known is answer:
            return
        if known == answer:
            self.note(place, REPEATED)
        else:
            self.note(place, DISAGREES)
            self.answers[question] = replace(answer, error=CONTRADICTORY)


def response_row(asked: Mapping[str, Any], answer: Answer, key: str, frames: int = 0) -> dict[str, Any]:
    """An imported answer as a response; how it was asked elsewhere is not known."""
    return {
        "request_id": asked["request_id"],
        "item_id": asked["item_id"],
        "role": asked["role"],
        "text": answer.text,
        "scores": list(answer.scores),
        "frames_shown": frames,
        "prompt_sha256": "",
        "tokens_in": 0,
        "tokens_out": 0,
        "error": answer.error,
        "message": "",
        "key": key,
    }


def write_problems(problems: Sequence[Problem], unanswered: Sequence[str], path: Path) -> None:
    """What is wrong with the files, and the questions that they do not answer, by id alone."""
    lines = [*problems, *(Problem("", None, question, NO_ANSWER) for question in unanswered)]
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(Problem._fields)
        writer.writerows((as_cell(file), line, as_cell(question), problem) for file, line, question, problem in lines)
    seal_text(path)


# --- JSON, one answer a line -----------------------------------------------------------------------------------------


def read_jsonl(path: Path, imported: ImportedAnswers) -> Iterator[tuple[Place, object]]:
    """`{idx, response}` line by line; any other line is noted and skipped."""
    entries = list(read_entries(path, imported))
    if not entries and not imported.problems:
        imported.note(Place(path, 0, ""), EMPTY_FILE)
    for name in ("idx", "response"):
        if entries and not any(name in entry for _, entry in entries):
            found = ", ".join(map(str, entries[0][1]))
            raise UserError(f"{path}: no line has '{name}'. Found: {found}. Needed: idx, response.")
    for line, entry in entries:
        place = Place(path, line, str(entry.get("idx", "")))
        if "idx" in entry and "response" in entry:
            yield place, entry["response"]
        else:
            imported.note(place, NO_FIELD)


def read_entries(path: Path, imported: ImportedAnswers) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of every line; any other line is noted and skipped."""
    for number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.decode())
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            yield number, entry
        else:
            imported.note(Place(path, number, ""), BROKEN_LINE)


def response_as_answer(response: object, looked_at: LookedAt) -> tuple[Answer, str]:
    """A response as an answer, and what is wrong with it.

    A list with one text is that text. Where the authors' scorer would see something else in the list than in the text,
    the list stays as it is written, so that their reader sees what their scorer sees: a wrong answer, but an answer.
    """
    if isinstance(response, str):
        return Answer(text=response), ""
    if not isinstance(response, list) or not response or not isinstance(response[0], str):
        return Answer(error=NO_TEXT), NOT_A_TEXT
    first = response[0]
    is_same = {"character": first != "", "element": len(first) == 1, "text": True}[looked_at]
    text = first if is_same else json.dumps(response, ensure_ascii=False)
    if any(other != first for other in response[1:]):
        return Answer(text=text, error=CONTRADICTORY), SEVERAL
    return Answer(text=text), ""


def of_frames(candidates: Sequence[Path], frames: int | None, where: Path) -> list[Path]:
    """The one file for a run with this number of frames; a name may say `-frame<N>`."""
    named = {path: frames_in_name(path) for path in candidates}
    exact = [path for path, number in named.items() if number is not None and number == frames]
    if len(exact) == 1:
        return exact
    if len(candidates) > 1 or any(number is not None and frames is not None for number in named.values()):
        shown = "a number of frames that depends on the clip" if frames is None else f"{frames} frames"
        names = ", ".join(path.name for path in candidates)
        raise UserError(
            f"{where}: found {names}; which holds the answers of a run that shows {shown} is not clear. Keep one file "
            "for each run, in a folder of its own or with -frame<N> in its name."
        )
    return list(candidates)


def fitting(candidates: Sequence[Path], frames: int | None) -> list[Path]:
    """The files that fit a run with this number of frames: those named so, else those without a number."""
    named = {path: frames_in_name(path) for path in candidates}
    exact = [path for path, number in named.items() if number is not None and number == frames]
    return exact or [path for path, number in named.items() if number is None]


def could_be(path: Path, frames: int | None) -> bool:
    """Whether a file, by its name, can hold the answers of a run with this number of frames."""
    return frames_in_name(path) in (None, frames)


def frames_in_name(path: Path) -> int | None:
    """The number of frames that a file's name says: `-frame8` of the authors' runners, `_8frame` of VLMEvalKit."""
    match = re.search(r"-frame(\d+)(?=[-.])|_(\d+)frame(?=[_.])", path.name)
    return int(match[1] or match[2]) if match else None


# --- tables ----------------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """A row of a table, all cells as text; a blank cell is empty."""

    line: int
    cells: dict[str, str]


def read_records(path: Path, value: str = "") -> tuple[list[str], list[Record]]:
    """Columns and rows of a csv, tsv, xlsx or json file; of a json object `{index: value}` under the name `value`."""
    try:
        if path.suffix == ".xlsx":
            return _sheet(path)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json":
            return _objects(json.loads(text), value)
        return _lines(text, "\t" if path.suffix == ".tsv" else ",")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not readable as {path.suffix[1:]}: {error}.") from error


def _lines(text: str, separator: str) -> tuple[list[str], list[Record]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] = []
    records = []
    start = 1
    try:
        columns = next(reader, [])
        start = reader.line_num + 1
        for row in reader:
            if len(row) > len(columns):
                # Not left out: an answer would be cut at its comma.
                raise ValueError(f"line {start}: {len(row)} cells for {len(columns)} columns ({', '.join(columns)})")
            if row:
                records.append(Record(start, dict(zip(columns, [*row, *[""] * len(columns)], strict=False))))
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {start}: {error}; a quote that begins there may not be closed") from error
    return columns, records


def _sheet(path: Path) -> tuple[list[str], list[Record]]:
    import zipfile
    import zlib
    from xml.etree.ElementTree import ParseError

    from openpyxl.utils.exceptions import InvalidFileException

    columns: list[str] = []
    records: list[Record] = []
    try:
        with zipfile.ZipFile(path) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > LARGEST_SHEET:
            raise ValueError(f"{unpacked} bytes once it is unpacked, allowed are {LARGEST_SHEET}")
        # An answer that begins with "=" was stored as a formula without a value: its text is the answer.
        values, formulas = (_rows_of_sheet(path, data_only=data_only) for data_only in (True, False))
        rows = (_first_known(*pair) for pair in zip(values, formulas, strict=True))
        columns = [cell_text(cell) for cell in next(rows, ())]
        for number, row in enumerate(rows, start=2):
            if any(cell is not None for cell in row):
                records.append(Record(number, dict(zip(columns, map(cell_text, row), strict=False))))
            if len(records) * len(columns) > MOST_CELLS:
                raise ValueError(f"more than {MOST_CELLS} cells")
    except (zipfile.BadZipFile, zlib.error, ParseError, InvalidFileException, *UNREADABLE) as error:
        raise UserError(f"{path}: not readable as xlsx: {error}.") from error
    return columns, records


def _rows_of_sheet(path: Path, *, data_only: bool) -> Iterator[tuple[object, ...]]:
    """The rows of the first sheet; formulas as their value or as their text, never computed."""
    from openpyxl import load_workbook

    return iter(load_workbook(path, read_only=True, data_only=data_only).worksheets[0].iter_rows(values_only=True))


def _first_known(values: Sequence[object], formulas: Sequence[object]) -> list[object]:
    pairs = zip(values, formulas, strict=True)
    return [getattr(formula, "text", formula) if value is None else value for value, formula in pairs]


def _objects(content: object, value: str) -> tuple[list[str], list[Record]]:
    """Rows of a list of objects, or of one object whose values are no objects."""
    if isinstance(content, dict) and not any(isinstance(one, dict) for one in content.values()):
        content = [{"index": key, value: one} for key, one in content.items()]
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise ValueError(f"expected a list of objects, or an object of index and {value}")
    columns = list(dict.fromkeys(str(name) for one in content for name in one))
    rows = [{name: cell_text(one.get(name)) for name in columns} for one in content]
    return columns, [Record(number, row) for number, row in enumerate(rows, start=1)]


def cell_text(cell: object) -> str:
    """A cell as text; a whole number has no point, and NaN is blank."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


def need_columns(path: Path, columns: Sequence[str], *choices: Sequence[str]) -> Sequence[str]:
    """The first choice of which no column is missing; one that is there twice is a mistake."""
    for choice in choices:
        if set(choice) <= set(columns):
            if twice := [name for name in choice if columns.count(name) > 1]:
                raise UserError(f"{path}: duplicate column '{twice[0]}'. Found: {', '.join(columns)}.")
            return choice
    missing = next(name for name in choices[0] if name not in columns)
    needed = "; or ".join(", ".join(choice) for choice in choices)
    raise UserError(
        f"{path}: column '{missing}' is missing. Found: {', '.join(columns) or 'nothing'}. Needed: {needed}."
    )
