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
"""What an authors' scorer compares if a response is a list of texts instead of a text. `character`: the first character
of the first text, as for a response that is a text. `element`: the whole first text, although of a response that is a
text only the first character. `text`: the whole first text, as for a response that is a text."""

# A file of a few kB can be decompressed to gigabytes, and a single cell far from the first makes a large sheet.
MAX_SHEET_BYTES, MAX_CELLS = 2**29, 5_000_000


class FileLocation(NamedTuple):
    """The position of an answer in a file of answers; `id` is the id that the file states."""

    file: Path
    line: int
    id: str


class ImportProblem(NamedTuple):
    """A row of the table of problems; `id` is an id or another detail, and `problem` a label such as `UNKNOWN_ID`."""

    file: str
    line: int | None
    id: str
    problem: str


@dataclass
class ImportedAnswers:
    """One answer per question; a second, different answer replaces the first and is marked as contradictory."""

    answers: dict[str, Answer] = field(default_factory=dict)
    """id of a request, or of an item if each has one question -> answer"""
    problems: list[ImportProblem] = field(default_factory=list)

    def add_problems(self, location: FileLocation, *problems: str) -> None:
        """Record problems of one answer; empty texts are no problems."""
        self.problems += [
            ImportProblem(str(location.file), location.line, location.id, label) for label in problems if label
        ]

    def add_answer(self, question_id: str, answer: Answer, location: FileLocation) -> None:
        """Store an answer, or record the problem that the question has one already."""
        first = self.answers.setdefault(question_id, answer)
        if first is answer:  # It is the first answer to the question, and has just been stored.
            return
        self.add_problems(location, DUPLICATE_ANSWER if first == answer else CONFLICTING_ANSWER)
        if first != answer:
            self.answers[question_id] = replace(answer, error=CONTRADICTORY)


def build_response_row(request: Mapping[str, Any], answer: Answer, key: str, frame_count: int = 0) -> dict[str, Any]:
    """Return an imported answer as a row of responses; its prompt and token counts are unknown."""
    return {
        "request_id": request["request_id"],
        "item_id": request["item_id"],
        "role": request["role"],
        "text": answer.text,
        "scores": list(answer.scores),
        "frames_shown": frame_count,
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
    path: Path,
    imported: ImportedAnswers,
    requests: Mapping[str, Mapping[str, Any]],
    id_pattern: str,
    scored_part: ScoredPart,
) -> None:
    """Add the answers of a file of lines `{idx, response}`.

    Args:
        path: File of answers.
        imported: Receives the answers and the problems of the file.
        requests: Requests by item id.
        id_pattern: Pattern of the item ids, with `{}` in place of the `idx` of a line.
        scored_part: The part of a list of texts that the authors' scorer compares.
    """
    entries = read_entries(path, imported)
    for field_name in ("idx", "response"):
        if entries and not any(field_name in entry for _, entry in entries):
            columns = ", ".join(map(str, entries[0][1]))
            raise UserError(f"{path}: no line has '{field_name}'. Found: {columns}. Needed: idx, response.")
    for line_number, entry in entries:
        location = FileLocation(path, line_number, str(entry.get("idx", "")))
        request = requests.get(id_pattern.format(location.id))
        if "idx" not in entry or "response" not in entry:
            imported.add_problems(location, MISSING_FIELD)
        elif request is None:
            imported.add_problems(location, UNKNOWN_ID)
        else:
            answer, problem = parse_response(entry["response"], scored_part)
            imported.add_problems(location, problem)
            imported.add_answer(request["request_id"], answer, location)


def read_entries(path: Path, imported: ImportedAnswers) -> list[tuple[int, dict[str, Any]]]:
    """Return the number and the JSON object of every line of a file.

    Broken lines are left out and recorded as problems in `imported`, as is an empty file.
    """
    entries, earlier_problem_count = [], len(imported.problems)
    for line_number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.decode())
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            entries.append((line_number, entry))
        else:
            imported.add_problems(FileLocation(path, line_number, ""), BROKEN_LINE)
    if not entries and len(imported.problems) == earlier_problem_count:
        imported.add_problems(FileLocation(path, 0, ""), EMPTY_FILE)
    return entries


def parse_response(response: object, scored_part: ScoredPart) -> tuple[Answer, str]:
    """Return a response as an answer, and its problem or an empty text.

    A list becomes its first text. If the authors' scorer compares something else for the list than for this text, the
    list stays as JSON, which the extractor `authors` counts as a wrong answer, as the scorer does.
    """
    if isinstance(response, str):
        return Answer(text=response), ""
    if not isinstance(response, list) or not response or not isinstance(response[0], str):
        return Answer(error=NO_TEXT), NOT_A_TEXT
    first = response[0]
    is_same_for_scorer = {"character": first != "", "element": len(first) == 1, "text": True}[scored_part]
    text = first if is_same_for_scorer else json.dumps(response, ensure_ascii=False)
    if any(element != first for element in response[1:]):
        return Answer(text=text, error=CONTRADICTORY), MULTIPLE_TEXTS
    return Answer(text=text), ""


def write_responses(path: Path, answered_requests: pl.DataFrame, id_pattern: str) -> Path:
    """Write a line `{idx, response}` for each answer that did not fail, and return the path of the file.

    Only answers to items whose ids have the pattern are written; `idx` is the text in place of `{}`.
    """
    prefix, suffix = id_pattern.split("{}")
    matches_pattern = pl.col("item_id").str.starts_with(prefix) & pl.col("item_id").str.ends_with(suffix)
    answers = answered_requests.filter(matches_pattern, pl.col("error") == "").select("item_id", "text")
    lines = [
        json.dumps({"idx": item.removeprefix(prefix).removesuffix(suffix), "response": text}, ensure_ascii=False) + "\n"
        for item, text in answers.iter_rows()
    ]
    write_text(path, "".join(lines))
    return path


# --- selection of files ----------------------------------------------------------------------------------------------


def select_by_frame_count(candidates: Sequence[Path], frame_count: int | None, folder: Path) -> list[Path]:
    """Return the only candidate for a run with this number of frames, which a name may contain as `-frame<N>`.

    Raises:
        UserError: There are several candidates, or the only one has another number in its name.
    """
    exact_matches = [path for path in candidates if frame_count is not None and parse_frame_count(path) == frame_count]
    if len(exact_matches) == 1:
        return exact_matches
    has_numbered_name = any(parse_frame_count(path) is not None for path in candidates)
    if len(candidates) > 1 or (has_numbered_name and frame_count is not None):
        description = "a number of frames that depends on the clip" if frame_count is None else f"{frame_count} frames"
        names = ", ".join(path.name for path in candidates)
        raise UserError(
            f"{folder}: found {names}; it is unclear which file has the answers of a run with {description}. "
            "Keep one file for each run, in its own folder or with -frame<N> in its name."
        )
    return list(candidates)


def filter_by_frame_count(candidates: Sequence[Path], frame_count: int | None) -> list[Path]:
    """Return the files with this number of frames in their names, or else those without a number."""
    exact_matches = [path for path in candidates if frame_count is not None and parse_frame_count(path) == frame_count]
    return exact_matches or [path for path in candidates if parse_frame_count(path) is None]


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
    path: Path, imported: ImportedAnswers, *column_sets: Sequence[str], value_column: str = ""
) -> tuple[Sequence[str], list[SheetRow]]:
    """Return the first of the column sets that a csv, tsv, xlsx or json file contains, and all rows of the file.

    An empty file has no columns and no rows.

    Args:
        path: File with the table.
        imported: Receives the problem of an empty file.
        column_sets: Sets of columns, in order of preference.
        value_column: Name of the second column of a json object `{index: value}`.
    """
    if path.suffix == ".xlsx":
        lines = _read_sheet(path)
    elif path.suffix == ".json":
        lines = _read_objects(path, value_column)
    else:
        lines = read_csv_lines(path)
    _, columns = next(lines, (0, []))
    if not columns:
        imported.add_problems(FileLocation(path, 0, ""), EMPTY_FILE)
        return (), []
    matched_columns = next((column_set for column_set in column_sets if set(column_set) <= set(columns)), None)
    if matched_columns is None:
        missing_column = next(name for name in column_sets[0] if name not in columns)
        alternatives = "; or ".join(", ".join(column_set) for column_set in column_sets)
        raise UserError(
            f"{path}: column '{missing_column}' is missing. Found: {', '.join(columns)}. Needed: {alternatives}."
        )
    if duplicates := [name for name in matched_columns if columns.count(name) > 1]:
        raise UserError(
            f"{path}: duplicate column '{duplicates[0]}'. Found: {', '.join(columns)}. Rename or remove one."
        )
    blanks = [""] * len(columns)  # Rows of a sheet may be shorter than its header.
    return matched_columns, [
        SheetRow(line, dict(zip(columns, [*cells, *blanks], strict=False))) for line, cells in lines
    ]


def _read_sheet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return the lines of the first sheet with their numbers; the first line is the header."""
    from openpyxl import load_workbook  # Only this format needs openpyxl.

    rows: list[tuple[int, list[str]]] = []
    try:
        with zipfile.ZipFile(path) as parts:
            decompressed_bytes = sum(part.file_size for part in parts.infolist())
        if decompressed_bytes > MAX_SHEET_BYTES:
            raise ValueError(f"{decompressed_bytes} bytes after unpacking, more than the allowed {MAX_SHEET_BYTES}")
        sheet = load_workbook(path, read_only=True).worksheets[0]
        for row_number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if row_number == 1 or any(cell is not None for cell in row):
                # An answer that begins with "=" is stored as a formula; use its text and never compute it.
                rows.append((row_number, [format_cell(getattr(cell, "text", cell)) for cell in row]))
            if len(rows) * len(rows[0][1]) > MAX_CELLS:
                raise ValueError(f"more than {MAX_CELLS} cells")
    except Exception as error:  # openpyxl raises almost any exception for a damaged workbook.
        raise UserError(f"{path}: not readable as xlsx: {error}.") from error
    return iter(rows)


def _read_objects(path: Path, value_column: str) -> Iterator[tuple[int, list[str]]]:
    """Return a header and the rows of a list of objects, or of an object `{index: cell}`, as numbered lines."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        if isinstance(content, dict) and not any(isinstance(cell, dict) for cell in content.values()):
            content = [{"index": index, value_column: cell} for index, cell in content.items()]
        if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
            raise ValueError(f"expected a list of objects, or an object of index and {value_column}")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not readable as json: {error}.") from error
    columns = list(dict.fromkeys(str(name) for row in content for name in row))
    lines = [[format_cell(row.get(name)) for name in columns] for row in content]
    return iter([(0, columns), *enumerate(lines, start=1)])


def format_cell(cell: object) -> str:
    """Return a cell as text; a whole number has no decimal point, and NaN is blank."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


# --- matching rows to questions, by id and by text -------------------------------------------------------------------


class QuestionMatcher:
    """Matcher of the rows of one file with the questions of a benchmark."""

    def __init__(self, items: pl.DataFrame) -> None:
        self._words_by_item = {
            item.item_id: normalize_words(item.texts.get("question", "")) for item in to_items(items)
        }
        self._rows: list[tuple[FileLocation, str]] = []  # location and question of each row
        self._matched_count = 0

    def match(self, location: FileLocation, question: str, imported: ImportedAnswers) -> bool:
        """Return whether a row has the id and the question of an item; a mismatch is recorded as a problem.

        A row matches by its id alone if it has no question. Its question may also be a prompt that contains the item's.
        """
        self._rows.append((location, question))
        row_words, item_words = normalize_words(question), self._words_by_item.get(location.id)
        if item_words is not None and (not row_words or item_words in row_words):
            self._matched_count += 1
            return True
        imported.add_problems(location, UNKNOWN_ID if item_words is None else DIFFERENT_QUESTION)
        return False

    def require_match(self, benchmark: str) -> None:
        """Raise a UserError if no row of the file matches: it belongs to another benchmark or version."""
        if self._rows and not self._matched_count:
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
    """Return the lower-case words of a text; other programs change quotes, punctuation and case."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold()))


def get_object(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the nested object at a path of names; an empty one if it is missing or not an object."""
    for name in names:
        nested = entry.get(name)
        entry = nested if isinstance(nested, dict) else {}
    return entry


def get_text(entry: Mapping[str, Any], name: str) -> str:
    """Return a field as a text; an empty text if it is missing or neither a text nor an integer."""
    value = entry.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
