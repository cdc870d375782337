"""MMBench-Video's answer files, as the reference harness writes them: predictions by index, and ratings of them."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import LETTERS, ROTATION_STEP
from reprise.core.errors import UserError
from reprise.core.files import whole_file
from reprise.external.answers import (
    EMPTY_FILE,
    NO_ANSWER,
    RATED_ONLY,
    UNKNOWN_ID,
    Given,
    Place,
    need_columns,
    read_records,
)
from reprise.models.adapters.base import Answer

CIRCULAR, CHOICE = "circular", "choice"
FORMS = ("unpacked", "packed", CIRCULAR, CHOICE)
TYPES = (".tsv", ".xlsx", ".json")
RATINGS = (("index", "score"), ("index", "rating"))
CHOICES = ("index", "answer", "prediction")
PREDICTIONS = (("index", "prediction"), *RATINGS)
# What the harness writes in place of an answer that an API did not give.
FAILED = "Failed to obtain answer via API."
FAILED_ELSEWHERE = "failed_elsewhere"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def files(folder: Path, form: str, frames: int | None) -> list[Path]:
    """The table of predictions; one of ratings alone where there is no other."""
    return _only(candidates(folder, form)[0], folder)


def candidates(folder: Path, form: str) -> list[list[Path]]:
    """All tables of predictions; those of ratings alone where there are no others."""
    return [_tables(folder, rated=False) or _tables(folder, rated=True)]


def rating_files(folder: Path) -> list[Path]:
    """The table of ratings: the one that the harness calls `..._score`, else the only one."""
    return _only(_tables(folder, rated=True) or _tables(folder, rated=False), folder)


def _tables(folder: Path, *, rated: bool) -> list[Path]:
    """Tables of questions; the harness's `..._rating.json` holds means."""
    found = [path for path in sorted(folder.iterdir()) if path.suffix in TYPES and not path.stem.endswith("_rating")]
    return [path for path in found if path.stem.endswith("_score") == rated]


def _only(found: Sequence[Path], folder: Path) -> list[Path]:
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UserError(f"{folder}: found {names}; one table of answers is expected. Keep one in a folder of its own.")
    return list(found)


def read(files: Sequence[Path], form: str, items: pl.DataFrame, requests: pl.DataFrame) -> Given:
    """Answers by index; those of one video are packed into one reply where the run asks so."""
    if form in (CIRCULAR, CHOICE):
        return _read_choices(files, requests)
    given = Given()
    by_index = Given()
    for place, column, cell in _cells(files, items, PREDICTIONS, given):
        by_index.add(place.id, _predicted(cell) if column == "prediction" else Answer(error=RATED_ONLY), place)
    given.problems += by_index.problems
    for request in requests.iter_rows(named=True):
        mine = items.filter(pl.col("clip_id") == request["clip_id"])["item_id"] if form == "packed" else None
        answer = (
            by_index.answers.get(request["item_id"], Answer(error=NO_ANSWER))
            if mine is None
            else _packed({index: by_index.answers.get(index, Answer(error=NO_ANSWER)) for index in mine})
        )
        given.answers[request["request_id"]] = answer
    return given


def _predicted(cell: str) -> Answer:
    if FAILED in cell:
        return Answer(error=FAILED_ELSEWHERE)
    return Answer(text=cell) if cell.strip() else Answer(error=NO_ANSWER)


def _read_choices(files: Sequence[Path], requests: pl.DataFrame) -> Given:
    """Answers about images. A rotation is known by the letter that is right in it, whichever way the options turned."""
    known = {
        (row["item_id"].split("/")[1], row["expected"]): row["request_id"] for row in requests.iter_rows(named=True)
    }
    given = Given()
    for path in files:
        columns, records = read_records(path, "prediction")
        if not columns:
            given.complain(Place(path, 0, ""), EMPTY_FILE)
            continue
        need_columns(path, columns, CHOICES)
        for record in records:
            index = re.sub(r"^(\d+)\.0+$", r"\1", record.cells["index"].strip())
            place = Place(path, record.line, index)
            first = str(int(index) % ROTATION_STEP) if index.isdigit() else index
            request = known.get((first, record.cells["answer"].strip()))
            if request is None:
                given.complain(place, UNKNOWN_ID)
            else:
                given.add(request, _predicted(record.cells["prediction"]), place)
    return given


def _packed(answers: dict[str, Answer]) -> Answer:
    """One reply of the answers that are there; the others are lacking in it."""
    texts = {index: answer.text for index, answer in answers.items() if not answer.error}
    if texts:
        return Answer(text=json.dumps(texts, ensure_ascii=False))
    errors = {answer.error for answer in answers.values()}
    return Answer(error=errors.pop() if len(errors) == 1 else NO_ANSWER)


def read_ratings(files: Sequence[Path], items: pl.DataFrame) -> Given:
    """Ratings by index, as the replies of a judge; the harness writes -1 where its judge gave none."""
    given = Given()
    for place, _, cell in _cells(files, items, RATINGS, given):
        given.add(place.id, Answer(text=re.sub(r"^(-?\d+)\.0+$", r"\1", cell.strip())), place)
    return given


def _cells(
    files: Sequence[Path], items: pl.DataFrame, choices: Sequence[Sequence[str]], given: Given
) -> Iterator[tuple[Place, str, str]]:
    """Place, column and cell of every row about a question of the release."""
    known = set(items["item_id"])
    for path in files:
        columns, records = read_records(path, choices[0][1])
        if not columns:
            given.complain(Place(path, 0, ""), EMPTY_FILE)
            continue
        column = need_columns(path, columns, *choices)[1]
        for record in records:
            place = Place(path, record.line, re.sub(r"^(\d+)\.0+$", r"\1", record.cells["index"].strip()))
            if place.id in known:
                yield place, column, record.cells[column]
            else:
                given.complain(place, UNKNOWN_ID)


def write(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    """The harness's table, which only has answers one by one; a failed one is blank. Control characters are dropped."""
    from openpyxl import Workbook

    form = answered["role"][0]
    if form.startswith("rotation"):
        rows = _choice_rows(answered)
        title = answered["item_id"][0].split("/")[0]
    elif form == "unpacked":
        rows = _question_rows(items, answered)
        title = "MMBench-Video"
    else:
        raise UserError(
            "export: packed replies have no file format of their own; only unpacked answers can be exported."
        )
    book = Workbook(write_only=False)
    sheet = book.active
    for number, row in enumerate(rows, start=1):
        for column, text in enumerate(row, start=1):
            sheet.cell(number, column, CONTROL.sub("", text)).data_type = "s"  # never a formula
    path = folder / f"{name}_{title}.xlsx"
    with whole_file(path) as temporary:
        book.save(temporary)
    return [path]


def _question_rows(items: pl.DataFrame, answered: pl.DataFrame) -> list[tuple[str, ...]]:
    texts = {row["item_id"]: row["text"] for row in answered.filter(pl.col("error") == "").iter_rows(named=True)}
    rows: list[tuple[str, ...]] = [("index", "video", "video_type", "question", "answer", "dimensions", "prediction")]
    for item in items.iter_rows(named=True):
        question = next(text["text"] for text in item["texts"] if text["name"] == "question")
        leaves = [tag["text"] for tag in item["tags"] if tag["name"] == "leaf"]
        index, answer = item["item_id"], texts.get(item["item_id"], "")
        rows.append((index, item["unit"], item["task"], question, item["answer"], repr(leaves), answer))
    return rows


def _choice_rows(answered: pl.DataFrame) -> list[tuple[str, ...]]:
    """One row a rotation, numbered as the harness does."""
    rows: list[tuple[str, ...]] = [("index", *LETTERS, "answer", "prediction")]
    for row in answered.iter_rows(named=True):
        index, turn = row["item_id"].split("/")[1], int(row["role"].removeprefix("rotation"))
        number = str(int(index) + ROTATION_STEP * turn) if turn else index
        options = [*row["option_texts"], *[""] * (len(LETTERS) - len(row["option_texts"]))]
        rows.append((number, *options, row["expected"], "" if row["error"] else row["text"]))
    return rows
