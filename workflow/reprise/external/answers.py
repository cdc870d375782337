"""Imported answers, the problems of their files (by file, line and id), and helpers shared by all importers."""

import codecs
import json
import math
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.annotations import to_items
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.tabular import read_csv_lines, write_csv
from reprise.external import NO_ANSWER, NO_TEXT
from reprise.extraction.extractors import CONTRADICTORY
from reprise.models.base import Answer

# Problems of imported answers; a table counts them by these labels.
UNKNOWN_ID = "unknown id"
MISSING_FILE = "test without a file"
BROKEN_LINE = "broken line"
MISSING_FIELD = "no idx or no response"
NOT_A_TEXT = "no text"
MULTIPLE_TEXTS = "several texts in one answer"
DUPLICATE_ANSWER = "repeats an answer"
CONFLICTING_ANSWER = "disagrees with another answer"
NOT_A_NUMBER = "no number"
EMPTY_FILE = "empty file"
DIFFERENT_QUESTION = "another question under a known id"
DIFFERENT_PROMPT = "different prompt"
DIFFERENT_FRAMES = "another number of frames than the sampling's"

ScoredPart: TypeAlias = Literal["character", "element", "text"]
"""The part of a list of texts that a scorer compares: the first character of its first element, or the element."""

# A file of a few kB can unpack to gigabytes, and one cell in the last row and column makes a full sheet.
MAX_SHEET_BYTES, MAX_CELLS = 2**29, 5_000_000


class FileLocation(NamedTuple):
    file: Path
    line: int
    id: str


class ImportProblem(NamedTuple):
    file: str
    line: int | None
    id: str
    problem: str


@dataclass
class ImportedAnswers:
    """One answer per question; a second, different answer marks it as contradictory and replaces its text."""

    answers: dict[str, Answer] = field(default_factory=dict)
    problems: list[ImportProblem] = field(default_factory=list)

    def add_problems(self, location: FileLocation, *problems: str) -> None:
        self.problems += [
            ImportProblem(str(location.file), location.line, location.id, label) for label in problems if label
        ]

    def add(self, question: str, answer: Answer, location: FileLocation) -> None:
        first = self.answers.setdefault(question, answer)
        if first is answer:
            return
        self.add_problems(location, DUPLICATE_ANSWER if first == answer else CONFLICTING_ANSWER)
        if first != answer:
            self.answers[question] = replace(answer, error=CONTRADICTORY)


def build_response_row(request: Mapping[str, Any], answer: Answer, key: str, frames: int = 0) -> dict[str, Any]:
    """Return an imported answer as a row of responses; its prompt and token counts are unknown."""
    return {
        "request_id": request["request_id"],
        "item_id": request["item_id"],
        "role": request["role"],
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


def write_problems(problems: Sequence[ImportProblem], unanswered: Sequence[str], path: Path) -> None:
    """Write the problems of the files, and the ids of unanswered questions, as csv."""
    lines = [*problems, *(ImportProblem("", None, question, NO_ANSWER) for question in unanswered)]
    columns = {name: pl.Int64 if name == "line" else pl.String for name in ImportProblem._fields}
    write_csv(pl.DataFrame(lines, schema=columns, orient="row"), path)


# --- JSON Lines ------------------------------------------------------------------------------------------------------


def read_responses(
    path: Path, imported: ImportedAnswers, requests: Mapping[str, Mapping[str, Any]], name: str, scored_part: ScoredPart
) -> None:
    """Add the answers of a file of lines `{idx, response}`.

    Args:
        path: File of answers.
        imported: Receives the answers and the problems of the file.
        requests: Requests by item id.
        name: Pattern of the item ids, with `{}` in place of the `idx` of a line.
        scored_part: The part of a list of texts that the authors' scorer compares.
    """
    entries = read_entries(path, imported)
    for field_name in ("idx", "response"):
        if entries and not any(field_name in entry for _, entry in entries):
            columns = ", ".join(map(str, entries[0][1]))
            raise UserError(f"{path}: no line has '{field_name}'. Found: {columns}. Needed: idx, response.")
    for line, entry in entries:
        location = FileLocation(path, line, str(entry.get("idx", "")))
        request = requests.get(name.format(location.id))
        if "idx" not in entry or "response" not in entry:
            imported.add_problems(location, MISSING_FIELD)
        elif request is None:
            imported.add_problems(location, UNKNOWN_ID)
        else:
            answer, problem = parse_response(entry["response"], scored_part)
            imported.add_problems(location, problem)
            imported.add(request["request_id"], answer, location)


def read_entries(path: Path, imported: ImportedAnswers) -> list[tuple[int, dict[str, Any]]]:
    """Return number and object of every line; record and skip broken lines, and record an empty file."""
    entries, n_problems = [], len(imported.problems)
    for number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.decode())
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            entries.append((number, entry))
        else:
            imported.add_problems(FileLocation(path, number, ""), BROKEN_LINE)
    if not entries and len(imported.problems) == n_problems:
        imported.add_problems(FileLocation(path, 0, ""), EMPTY_FILE)
    return entries


def parse_response(response: object, scored_part: ScoredPart) -> tuple[Answer, str]:
    """Return a response as an answer, and its problem or an empty text.

    A list with one text becomes that text. If the authors' scorer compares another part of the list than of the text,
    the list is kept as JSON. The extractor `authors` then gets what their scorer gets: a wrong answer, but an answer.
    """
    if isinstance(response, str):
        return Answer(text=response), ""
    if not isinstance(response, list) or not response or not isinstance(response[0], str):
        return Answer(error=NO_TEXT), NOT_A_TEXT
    first = response[0]
    is_same = {"character": first != "", "element": len(first) == 1, "text": True}[scored_part]
    text = first if is_same else json.dumps(response, ensure_ascii=False)
    if any(element != first for element in response[1:]):
        return Answer(text=text, error=CONTRADICTORY), MULTIPLE_TEXTS
    return Answer(text=text), ""


def write_responses(path: Path, answered_requests: pl.DataFrame, name: str) -> Path:
    """Write the answers to items of this name pattern as lines `{idx, response}`, without failed answers."""
    prefix, suffix = name.split("{}")
    has_name = pl.col("item_id").str.starts_with(prefix) & pl.col("item_id").str.ends_with(suffix)
    lines = [
        json.dumps({"idx": item.removeprefix(prefix).removesuffix(suffix), "response": text}, ensure_ascii=False) + "\n"
        for item, text in answered_requests.filter(has_name, pl.col("error") == "")
        .select("item_id", "text")
        .iter_rows()
    ]
    write_text(path, "".join(lines))
    return path


# --- selection of files ----------------------------------------------------------------------------------------------


def select_by_frames(candidates: Sequence[Path], frames: int | None, folder: Path) -> list[Path]:
    """Return the only file of a run with this number of frames; a file name may contain `-frame<N>`."""
    exact = [path for path in candidates if frames is not None and parse_frame_count(path) == frames]
    if len(exact) == 1:
        return exact
    is_named = any(parse_frame_count(path) is not None for path in candidates)
    if len(candidates) > 1 or (is_named and frames is not None):
        description = "a number of frames that depends on the clip" if frames is None else f"{frames} frames"
        names = ", ".join(path.name for path in candidates)
        raise UserError(
            f"{folder}: found {names}; it is unclear which file has the answers of a run with {description}. "
            "Keep one file for each run, in its own folder or with -frame<N> in its name."
        )
    return list(candidates)


def filter_by_frames(candidates: Sequence[Path], frames: int | None) -> list[Path]:
    """Return the files with this number of frames in their names, or else those without a number."""
    exact = [path for path in candidates if frames is not None and parse_frame_count(path) == frames]
    return exact or [path for path in candidates if parse_frame_count(path) is None]


def parse_frame_count(path: Path) -> int | None:
    """Return the number of frames in a file name: `-frame8` of the authors' runners or `_8frame` of VLMEvalKit."""
    match = re.search(r"-frame(\d+)(?=[-.])|_(\d+)frame(?=[_.])", path.name)
    return int(match[1] or match[2]) if match else None


# --- tables ----------------------------------------------------------------------------------------------------------


class SheetRow(NamedTuple):
    """A row of a table with all cells as text; a blank cell is an empty text."""

    line: int
    cells: dict[str, str]


def read_sheet_rows(
    path: Path, imported: ImportedAnswers, *choices: Sequence[str], value: str = ""
) -> tuple[Sequence[str], list[SheetRow]]:
    """Return the first of several choices of columns that a csv, tsv, xlsx or json file has, and its rows.

    A json object is read as `{index: value}` with a column of the name `value`. An empty file is recorded.
    """
    if path.suffix == ".xlsx":
        lines = _sheet(path)
    elif path.suffix == ".json":
        lines = _objects(path, value)
    else:
        lines = read_csv_lines(path)
    columns = next(lines, (0, []))[1]
    if not columns:
        imported.add_problems(FileLocation(path, 0, ""), EMPTY_FILE)
        return (), []
    matched_choice = next((choice for choice in choices if set(choice) <= set(columns)), None)
    if matched_choice is None:
        missing = next(name for name in choices[0] if name not in columns)
        alternatives = "; or ".join(", ".join(choice) for choice in choices)
        raise UserError(f"{path}: column '{missing}' is missing. Found: {', '.join(columns)}. Needed: {alternatives}.")
    if duplicates := [name for name in matched_choice if columns.count(name) > 1]:
        raise UserError(
            f"{path}: duplicate column '{duplicates[0]}'. Found: {', '.join(columns)}. Rename or remove one."
        )
    blanks = [""] * len(columns)  # Rows of a sheet may be shorter than its header.
    return matched_choice, [
        SheetRow(line, dict(zip(columns, [*cells, *blanks], strict=False))) for line, cells in lines
    ]


def _sheet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return numbered lines of the first sheet, the header first."""
    from openpyxl import load_workbook  # Import it here, because only this format needs it.

    rows: list[tuple[int, list[str]]] = []
    try:
        with zipfile.ZipFile(path) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > MAX_SHEET_BYTES:
            raise ValueError(f"{unpacked} bytes after unpacking, more than the allowed {MAX_SHEET_BYTES}")
        sheet = load_workbook(path, read_only=True).worksheets[0]
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if number == 1 or any(cell is not None for cell in row):
                # An answer that begins with "=" is stored as a formula; use its text and never compute it.
                rows.append((number, [format_cell(getattr(cell, "text", cell)) for cell in row]))
            if len(rows) * len(rows[0][1]) > MAX_CELLS:
                raise ValueError(f"more than {MAX_CELLS} cells")
    except Exception as error:  # openpyxl raises almost any exception for a damaged workbook.
        raise UserError(f"{path}: not readable as xlsx: {error}.") from error
    return iter(rows)


def _objects(path: Path, value: str) -> Iterator[tuple[int, list[str]]]:
    """Return numbered lines of a list of objects, or of an object `{index: value}`, the header first."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        if isinstance(content, dict) and not any(isinstance(entry, dict) for entry in content.values()):
            content = [{"index": key, value: entry} for key, entry in content.items()]
        if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
            raise ValueError(f"expected a list of objects, or an object of index and {value}")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not readable as json: {error}.") from error
    columns = list(dict.fromkeys(str(name) for entry in content for name in entry))
    rows = [[format_cell(entry.get(name)) for name in columns] for entry in content]
    return iter([(0, columns), *enumerate(rows, start=1)])


def format_cell(cell: object) -> str:
    """Return a cell as text; a whole number has no decimal point, and NaN is blank."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


# --- matching rows to questions, by id and by text -------------------------------------------------------------------


class QuestionMatcher:
    """The questions that the rows of one file can match."""

    def __init__(self, items: pl.DataFrame) -> None:
        self._texts = {item.item_id: normalize_words(item.texts.get("question", "")) for item in to_items(items)}
        self._rows: list[tuple[FileLocation, str]] = []
        self._matched = 0

    def match(self, location: FileLocation, question: str, imported: ImportedAnswers) -> bool:
        """Return whether a row has an item's id and its question, possibly inside a prompt; record a mismatch."""
        self._rows.append((location, question))
        row_words, item_words = normalize_words(question), self._texts.get(location.id)
        if item_words is not None and (not row_words or item_words in row_words):
            self._matched += 1
            return True
        imported.add_problems(location, UNKNOWN_ID if item_words is None else DIFFERENT_QUESTION)
        return False

    def require_match(self, benchmark: str) -> None:
        """Raise a UserError if no row of the file matches, since it belongs to another benchmark or version."""
        if self._rows and not self._matched:
            location, question = self._rows[0]
            raise UserError(
                f"{location.file}: none of its {len(self._rows)} rows matches a question of {benchmark} in this suite. "
                f"The first: line {location.line}, id '{location.id}', question '{normalize_text(question)[:80]}'. "
                "The file belongs to another benchmark, task or version of the release. Remove it, or move it to the "
                "folder of that benchmark."
            )


def normalize_text(text: str) -> str:
    """Return a text with normalised white space and Unicode encoding."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def normalize_words(text: str) -> str:
    """Return the lower-case words of a text, because other table tools change quotes, punctuation and case."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold()))


def get_object(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a nested object; an empty one if it is missing or not an object."""
    for name in names:
        value = entry.get(name)
        entry = value if isinstance(value, dict) else {}
    return entry


def get_text(entry: Mapping[str, Any], name: str) -> str:
    """Return a field as a text; an empty text if it is missing or neither a text nor an integer."""
    value = entry.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
