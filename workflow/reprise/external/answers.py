"""Shared by all imports: answers, and problems of their files, named by file, line and id."""

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

from reprise.benchmarks.rows import items_of
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.tabular import csv_lines, write_csv
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
EMPTY_FILE = "empty file"
OTHER_QUESTION = "another question under a known id"
OTHER_PROMPT = "asked with another prompt"
OTHER_FRAMES = "another number of frames than the sampling's"

LookedAt: TypeAlias = Literal["character", "element", "text"]
"""What an authors' scorer compares of a list of texts: the first character of its first element, or the element."""

# A file of a few kB can unpack to gigabytes, and one cell at the far end makes a whole sheet.
LARGEST_SHEET, MOST_CELLS = 2**29, 5_000_000


class Place(NamedTuple):
    file: Path
    line: int
    id: str


class Problem(NamedTuple):
    file: str
    line: int | None
    id: str
    problem: str


@dataclass
class ImportedAnswers:
    """One answer per question; a second one that differs makes the answer contradictory, with the last text."""

    answers: dict[str, Answer] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def note(self, place: Place, *problems: str) -> None:
        self.problems += [Problem(str(place.file), place.line, place.id, one) for one in problems if one]

    def add(self, question: str, answer: Answer, place: Place) -> None:
        known = self.answers.setdefault(question, answer)
        if known is answer:
            return
        self.note(place, REPEATED if known == answer else DISAGREES)
        if known != answer:
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
    columns = {name: pl.Int64 if name == "line" else pl.String for name in Problem._fields}
    write_csv(pl.DataFrame(lines, schema=columns, orient="row"), path)


# --- JSON, one answer a line -----------------------------------------------------------------------------------------


def read_responses(
    path: Path, imported: ImportedAnswers, requests: Mapping[str, Mapping[str, Any]], name: str, looked_at: LookedAt
) -> None:
    """Add the answers of lines `{idx, response}`; `name` says how an id stands in those of the requests' items."""
    entries = read_entries(path, imported)
    for needed in ("idx", "response"):
        if entries and not any(needed in entry for _, entry in entries):
            found = ", ".join(map(str, entries[0][1]))
            raise UserError(f"{path}: no line has '{needed}'. Found: {found}. Needed: idx, response.")
    for line, entry in entries:
        place = Place(path, line, str(entry.get("idx", "")))
        request = requests.get(name.format(place.id))
        if "idx" not in entry or "response" not in entry:
            imported.note(place, NO_FIELD)
        elif request is None:
            imported.note(place, UNKNOWN_ID)
        else:
            answer, problem = response_as_answer(entry["response"], looked_at)
            imported.note(place, problem)
            imported.add(request["request_id"], answer, place)


def read_entries(path: Path, imported: ImportedAnswers) -> list[tuple[int, dict[str, Any]]]:
    """Number and object of every line; any other line is noted and skipped, and so is an empty file."""
    found, noted = [], len(imported.problems)
    for number, line in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.decode())
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            found.append((number, entry))
        else:
            imported.note(Place(path, number, ""), BROKEN_LINE)
    if not found and len(imported.problems) == noted:
        imported.note(Place(path, 0, ""), EMPTY_FILE)
    return found


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


def write_responses(path: Path, answered: pl.DataFrame, name: str) -> Path:
    """The answers to the items of such names as lines `{idx, response}`; a failed one has none, as in the authors'."""
    before, after = name.split("{}")
    mine = pl.col("item_id").str.starts_with(before) & pl.col("item_id").str.ends_with(after)
    lines = [
        json.dumps({"idx": item.removeprefix(before).removesuffix(after), "response": text}, ensure_ascii=False) + "\n"
        for item, text in answered.filter(mine, pl.col("error") == "").select("item_id", "text").iter_rows()
    ]
    write_text(path, "".join(lines))
    return path


# --- which file ------------------------------------------------------------------------------------------------------


def of_frames(candidates: Sequence[Path], frames: int | None, where: Path) -> list[Path]:
    """The one file for a run with this number of frames; a name may say `-frame<N>`."""
    exact = [path for path in candidates if frames is not None and frames_in_name(path) == frames]
    if len(exact) == 1:
        return exact
    is_named = any(frames_in_name(path) is not None for path in candidates)
    if len(candidates) > 1 or (is_named and frames is not None):
        shown = "a number of frames that depends on the clip" if frames is None else f"{frames} frames"
        names = ", ".join(path.name for path in candidates)
        raise UserError(
            f"{where}: found {names}; which holds the answers of a run that shows {shown} is not clear. Keep one file "
            "for each run, in a folder of its own or with -frame<N> in its name."
        )
    return list(candidates)


def fitting(candidates: Sequence[Path], frames: int | None) -> list[Path]:
    """The files that fit a run with this number of frames: those named so, else those without a number."""
    exact = [path for path in candidates if frames is not None and frames_in_name(path) == frames]
    return exact or [path for path in candidates if frames_in_name(path) is None]


def frames_in_name(path: Path) -> int | None:
    """The number of frames that a file's name says: `-frame8` of the authors' runners, `_8frame` of VLMEvalKit."""
    match = re.search(r"-frame(\d+)(?=[-.])|_(\d+)frame(?=[_.])", path.name)
    return int(match[1] or match[2]) if match else None


# --- tables ----------------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """A row of a table, all cells as text; a blank cell is empty."""

    line: int
    cells: dict[str, str]


def read_records(
    path: Path, imported: ImportedAnswers, *choices: Sequence[str], value: str = ""
) -> tuple[Sequence[str], list[Record]]:
    """The first of several choices of columns that a csv, tsv, xlsx or json file has, and its rows.

    A json object is `{index: value}`, under the name `value`. An empty file is noted.
    """
    if path.suffix == ".xlsx":
        lines = _sheet(path)
    elif path.suffix == ".json":
        lines = _objects(path, value)
    else:
        lines = csv_lines(path)
    columns = next(lines, (0, []))[1]
    if not columns:
        imported.note(Place(path, 0, ""), EMPTY_FILE)
        return (), []
    chosen = next((choice for choice in choices if set(choice) <= set(columns)), None)
    if chosen is None:
        missing = next(name for name in choices[0] if name not in columns)
        needed = "; or ".join(", ".join(choice) for choice in choices)
        raise UserError(f"{path}: column '{missing}' is missing. Found: {', '.join(columns)}. Needed: {needed}.")
    if twice := [name for name in chosen if columns.count(name) > 1]:
        raise UserError(f"{path}: duplicate column '{twice[0]}'. Found: {', '.join(columns)}.")
    blanks = [""] * len(columns)  # a row of a sheet may be shorter
    return chosen, [Record(line, dict(zip(columns, [*cells, *blanks], strict=False))) for line, cells in lines]


def _sheet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The columns and the rows of the first sheet."""
    from openpyxl import load_workbook  # no other format needs it

    rows: list[tuple[int, list[str]]] = []
    try:
        with zipfile.ZipFile(path) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > LARGEST_SHEET:
            raise ValueError(f"{unpacked} bytes once it is unpacked, allowed are {LARGEST_SHEET}")
        sheet = load_workbook(path, read_only=True).worksheets[0]
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if number == 1 or any(cell is not None for cell in row):
                # An answer that begins with "=" was stored as a formula: its text is the answer, never computed.
                rows.append((number, [cell_text(getattr(cell, "text", cell)) for cell in row]))
            if len(rows) * len(rows[0][1]) > MOST_CELLS:
                raise ValueError(f"more than {MOST_CELLS} cells")
    except Exception as error:  # openpyxl raises nearly anything at a file that is no whole workbook
        raise UserError(f"{path}: not readable as xlsx: {error}.") from error
    return iter(rows)


def _objects(path: Path, value: str) -> Iterator[tuple[int, list[str]]]:
    """The names and the rows of a list of objects, or of one object whose values are no objects."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        if isinstance(content, dict) and not any(isinstance(one, dict) for one in content.values()):
            content = [{"index": key, value: one} for key, one in content.items()]
        if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
            raise ValueError(f"expected a list of objects, or an object of index and {value}")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not readable as json: {error}.") from error
    columns = list(dict.fromkeys(str(name) for one in content for name in one))
    rows = [[cell_text(one.get(name)) for name in columns] for one in content]
    return iter([(0, columns), *enumerate(rows, start=1)])


def cell_text(cell: object) -> str:
    """A cell as text; a whole number has no point, and NaN is blank."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


# --- which question: rows of other people's files, by id and by what they say that they ask ---------------------------


class Questions:
    """The questions that the rows of one file can answer."""

    def __init__(self, items: pl.DataFrame) -> None:
        self._texts = {item.item_id: words_of(item.texts.get("question", "")) for item in items_of(items)}
        self._rows: list[tuple[Place, str]] = []
        self._matched = 0

    def match(self, place: Place, question: str, imported: ImportedAnswers) -> bool:
        """Whether the id of a row is that of an item, and its question, or a prompt that holds it, the item's."""
        self._rows.append((place, question))
        asked, known = words_of(question), self._texts.get(place.id)
        if known is not None and (not asked or known in asked):
            self._matched += 1
            return True
        imported.note(place, UNKNOWN_ID if known is None else OTHER_QUESTION)
        return False

    def need_a_match(self, benchmark: str) -> None:
        """Refuse a file that is about something else altogether."""
        if self._rows and not self._matched:
            place, question = self._rows[0]
            raise UserError(
                f"{place.file}: none of its {len(self._rows)} rows is about a question of {benchmark} in this suite. "
                f"The first: line {place.line}, id '{place.id}', question '{plain_text(question)[:80]}'. It is "
                "of another benchmark, task or version of the release: remove it, or put it into the folder of its own "
                "benchmark."
            )


def plain_text(text: str) -> str:
    """A text without differences of blanks and of the way its letters are encoded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def words_of(text: str) -> str:
    """The words of a text, without differences of quotes, marks and case that other readers of tables make."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold()))


def object_of(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object inside others; an empty one if it is missing or something else."""
    for name in names:
        value = entry.get(name)
        entry = value if isinstance(value, dict) else {}
    return entry


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """A field as a text; empty if it is missing or neither a text nor a number."""
    value = entry.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
