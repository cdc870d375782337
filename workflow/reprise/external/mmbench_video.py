"""MMBench-Video's answer files, as the reference harness writes them: predictions by index, and ratings of them."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import LETTERS, ROTATION_STEP
from reprise.benchmarks.mmbench_video.taxonomy import LEAF
from reprise.benchmarks.rows import items_of
from reprise.core.errors import UserError
from reprise.core.files import whole_file
from reprise.external import FAILED_ELSEWHERE, NO_ANSWER, RATED_ONLY, AnswerFiles, Read, Write, vlmevalkit
from reprise.external.answers import (
    EMPTY_FILE,
    UNKNOWN_ID,
    ImportedAnswers,
    Place,
    fitting,
    need_columns,
    of_frames,
    read_records,
)
from reprise.external.matching import Questions, Said
from reprise.models.base import Answer

TYPES = (".tsv", ".xlsx", ".json")
# Form of question -> how the harness names its data set in the names of its files.
OWN_DATA, BENCH, STAR = (re.compile(one) for one in ("MMBench[-_]Video", "MMBench_(?!Video)", "MMStar"))
DATA_SETS = {"unpacked": OWN_DATA, "packed": OWN_DATA, "set_choice": OWN_DATA, "circular": BENCH, "choice": STAR}
RATINGS = (("index", "score"), ("index", "rating"))
CHOICES = ("index", "answer", "prediction")
PREDICTIONS = (("index", "prediction"), *RATINGS)
# What the harness writes in place of an answer that an API did not give.
FAILED = "Failed to obtain answer via API."
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _files(form: str, folder: Path, frames: int | None) -> list[Path]:
    """The table of predictions with the run's frames; one of ratings alone where there is no other."""
    found = _candidates(form, folder)[0] or _of_form(form, _predictions(folder))
    return _only(fitting(found, frames) or of_frames(found, frames, folder), folder)


def _candidates(form: str, folder: Path) -> list[list[Path]]:
    """The tables of predictions of a form, those left out whose names say that they were asked in another way."""
    return [[path for path in _of_form(form, _predictions(folder)) if vlmevalkit.could_be(path, form)]]


def _predictions(folder: Path) -> list[Path]:
    """All tables of predictions; those of ratings alone where there are no others."""
    return _tables(folder, rated=False) or _tables(folder, rated=True)


def _of_form(form: str, tables: Sequence[Path]) -> list[Path]:
    """Those that the harness names after the form's data set; else those that it names after none of ours."""
    named = [path for path in tables if DATA_SETS[form].search(path.stem)]
    return named or [path for path in tables if not any(one.search(path.stem) for one in DATA_SETS.values())]


def rating_files(folder: Path) -> list[Path]:
    """The table of ratings: the one that the harness calls `..._score`, else the only one."""
    return _only(_of_form("unpacked", _tables(folder, rated=True) or _tables(folder, rated=False)), folder)


def ratings_beside(predictions: Path, names: Sequence[str]) -> list[Path]:
    """`<predictions>_<judge>_score`, as the harness names it; the table of predictions itself if it is called so."""
    endings = [f"_{name}_score" for name in names]
    if predictions.stem.endswith(tuple(endings)):
        return [predictions]
    paths = (predictions.with_name(predictions.stem + ending + kind) for ending in endings for kind in TYPES)
    return [path for path in paths if path.is_file()][:1]


def _tables(folder: Path, *, rated: bool) -> list[Path]:
    """Tables of questions. The harness's `..._rating.json` holds means, `..._result` predictions that it rewrote."""
    tables = [path for path in sorted(folder.iterdir()) if path.suffix in TYPES]
    found = [path for path in tables if not path.stem.endswith(("_rating", "_result")) and path.stem != "status"]
    return [path for path in found if path.stem.endswith("_score") == rated]


def _only(found: Sequence[Path], folder: Path) -> list[Path]:
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UserError(f"{folder}: found {names}; one table of answers is expected. Keep one in a folder of its own.")
    return list(found)


def _read_unpacked(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Answers by index."""
    by_index = _by_index(files, items)
    asked = requests.select("request_id", "item_id").iter_rows()
    answers = {request: by_index.answers.get(item, Answer(error=NO_ANSWER)) for request, item in asked}
    return ImportedAnswers(answers, by_index.problems)


def _read_packed(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Answers by index, those of one video packed into one reply."""
    by_index = _by_index(files, items)
    of_clip: dict[str, list[str]] = {}
    for item, clip in items.select("item_id", "clip_id").iter_rows():
        of_clip.setdefault(clip, []).append(item)
    asked = requests.select("request_id", "clip_id").iter_rows()
    answers = {
        request: _packed({item: by_index.answers.get(item, Answer(error=NO_ANSWER)) for item in of_clip.get(clip, ())})
        for request, clip in asked
    }
    return ImportedAnswers(answers, by_index.problems)


def _by_index(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Answers by the ids of items, not yet by requests."""
    imported, found = ImportedAnswers(), ImportedAnswers()
    for item, place, column, cell in _cells(files, items, PREDICTIONS, imported):
        found.add(item, _predicted(cell) if column == "prediction" else Answer(error=RATED_ONLY), place)
    return ImportedAnswers(found.answers, imported.problems + found.problems)


def _predicted(cell: str) -> Answer:
    if FAILED in cell:
        return Answer(error=FAILED_ELSEWHERE)
    return Answer(text=cell) if cell.strip() else Answer(error=NO_ANSWER)


def _read_choices(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Answers about images. A rotation is known by the letter that is right in it, whichever way the options turned."""
    known = {
        (row["item_id"].split("/")[1], row["expected"]): row["request_id"] for row in requests.iter_rows(named=True)
    }
    imported = ImportedAnswers()
    for path in files:
        columns, records = read_records(path, "prediction")
        if not columns:
            imported.note(Place(path, 0, ""), EMPTY_FILE)
            continue
        need_columns(path, columns, CHOICES)
        for record in records:
            index = re.sub(r"^(\d+)\.0+$", r"\1", record.cells["index"].strip())
            place = Place(path, record.line, index)
            first = str(int(index) % ROTATION_STEP) if index.isdigit() else index
            request = known.get((first, record.cells["answer"].strip()))
            if request is None:
                imported.note(place, UNKNOWN_ID)
            else:
                imported.add(request, _predicted(record.cells["prediction"]), place)
    return imported


def _packed(answers: dict[str, Answer]) -> Answer:
    """One reply made of the answers that did not fail."""
    texts = {index: answer.text for index, answer in answers.items() if not answer.error}
    if texts:
        return Answer(text=json.dumps(texts, ensure_ascii=False))
    errors = {answer.error for answer in answers.values()}
    return Answer(error=errors.pop() if len(errors) == 1 else NO_ANSWER)


def read_ratings(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Ratings by index, as the replies of a judge; the harness writes -1 where its judge gave none."""
    imported = ImportedAnswers()
    for item, place, _, cell in _cells(files, items, RATINGS, imported):
        imported.add(item, Answer(text=re.sub(r"^(-?\d+)\.0+$", r"\1", cell.strip())), place)
    return imported


def _cells(
    files: Sequence[Path], items: pl.DataFrame, choices: Sequence[Sequence[str]], imported: ImportedAnswers
) -> Iterator[tuple[str, Place, str, str]]:
    """Item, place, column and cell of every row about a question of the release."""
    for path in files:
        columns, records = read_records(path, choices[0][1])
        if not columns:
            imported.note(Place(path, 0, ""), EMPTY_FILE)
            continue
        column = need_columns(path, columns, *choices)[1]
        questions = Questions(items, attrgetter("unit"))
        for record in records:
            place = Place(path, record.line, re.sub(r"^(\d+)\.0+$", r"\1", record.cells["index"].strip()))
            said = Said(place.id, record.cells.get("question", ""), record.cells.get("video", ""))
            item = questions.match(said, place, imported)
            if item is not None:
                yield item, place, column, record.cells[column]
        if "question" in columns:
            questions.need_a_match("MMBench-Video")


def _write_unpacked(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    return [_write_sheet(folder / f"{name}_MMBench-Video.xlsx", _question_rows(items, answered))]


def _write_choices(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    data_set = answered["item_id"][0].split("/")[0]
    return [_write_sheet(folder / f"{name}_{data_set}.xlsx", _choice_rows(answered))]


def _write_sheet(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """The harness's table; a failed answer is blank. Control characters are dropped."""
    from openpyxl import Workbook

    book = Workbook(write_only=False)
    sheet = book.active
    for number, row in enumerate(rows, start=1):
        for column, text in enumerate(row, start=1):
            sheet.cell(number, column, CONTROL.sub("", text)).data_type = "s"  # never a formula
    with whole_file(path) as temporary:
        book.save(temporary)
    return path


def _question_rows(items: pl.DataFrame, answered: pl.DataFrame) -> list[tuple[str, ...]]:
    texts = {row["item_id"]: row["text"] for row in answered.filter(pl.col("error") == "").iter_rows(named=True)}
    rows: list[tuple[str, ...]] = [("index", "video", "video_type", "question", "answer", "dimensions", "prediction")]
    for item in items_of(items):
        leaves = repr([tag.text for tag in item.tags if tag.name == LEAF])
        known = (item.item_id, item.unit, item.task, item.texts["question"], item.answer, leaves)
        rows.append((*known, texts.get(item.item_id, "")))
    return rows


def _choice_rows(answered: pl.DataFrame) -> list[tuple[str, ...]]:
    """One row per rotation, numbered as the harness does."""
    rows: list[tuple[str, ...]] = [("index", *LETTERS, "answer", "prediction")]
    for row in answered.iter_rows(named=True):
        index, turn = row["item_id"].split("/")[1], int(row["role"].removeprefix("rotation"))
        number = str(int(index) + ROTATION_STEP * turn) if turn else index
        options = [*row["option_texts"], *[""] * (len(LETTERS) - len(row["option_texts"]))]
        rows.append((number, *options, row["expected"], "" if row["error"] else row["text"]))
    return rows


def _answers(form: str, read: Read, write: "Write | None" = None) -> AnswerFiles:
    deviations = partial(vlmevalkit.deviations, form)
    return AnswerFiles(partial(_files, form), partial(_candidates, form), read, write, deviations=deviations)


# The harness has no file format of packed replies, only of the answers in them. It knows no other sets of videos:
# answers about these are read by the ids of their questions.
FORMS = {
    "unpacked": _answers("unpacked", _read_unpacked, _write_unpacked),
    "packed": _answers("packed", _read_packed),
    "set_choice": _answers("set_choice", _read_unpacked),
    "circular": _answers("circular", _read_choices, _write_choices),
    "choice": _answers("choice", _read_choices, _write_choices),
}
