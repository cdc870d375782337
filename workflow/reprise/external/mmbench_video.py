"""MMBench-Video's answer files in the format of VLMEvalKit: predictions by index, and their ratings.

The name `<model>_MMBench_Video_8frame_nopack.xlsx` means 8 frames (`1fps`: one frame per second) and one question per
prompt (`pack`: all questions of a video in one prompt).
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from reprise.benchmarks.mmbench_video.taxonomy import LEAF, LETTERS, ROTATION_STEP
from reprise.benchmarks.rows import items_of
from reprise.core.errors import UserError
from reprise.core.files import whole_file
from reprise.external import FAILED_ELSEWHERE, NO_ANSWER, RATED_ONLY, AnswerFiles, Read, Write
from reprise.external.answers import (
    OTHER_FRAMES,
    OTHER_PROMPT,
    UNKNOWN_ID,
    ImportedAnswers,
    Place,
    Problem,
    Questions,
    fitting,
    frames_in_name,
    of_frames,
    read_records,
)
from reprise.models.base import Answer

TYPES = (".tsv", ".xlsx", ".json")
# Patterns of the data set of each form of question in the harness's file names.
VIDEO, BENCH, STAR = (re.compile(pattern) for pattern in ("MMBench[-_]Video", "MMBench_(?!Video)", "MMStar"))
DATA_SETS = {"unpacked": VIDEO, "packed": VIDEO, "set_choice": VIDEO, "circular": BENCH, "choice": STAR}
RATINGS = (("index", "score"), ("index", "rating"))
CHOICES = ("index", "answer", "prediction")
PREDICTIONS = (("index", "prediction"), *RATINGS)
# The harness writes this text in place of an answer if an API fails.
FAILED = "Failed to obtain answer via API."
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
WHOLE = re.compile(r"^(-?\d+)\.0+$")
PACKING, FORM = re.compile(r"_(nopack|pack)(?=_|$)"), {"nopack": "unpacked", "pack": "packed"}
RATE = re.compile(r"_(\d+(?:\.\d+)?fps)(?=_|$)")
# The harness has one prompt for packed questions; its system prompt begins with this sentence.
PACKED_PROMPT = "You are an AI assistant responsible for answering questions about videos."
UNANSWERED = Answer(error=NO_ANSWER)


# --- choice of files -------------------------------------------------------------------------------------------------


def _files(form: str, folder: Path, frames: int | None) -> list[Path]:
    """Return the table of predictions with the run's number of frames, or a table of ratings if there is no other."""
    [candidates] = _candidates(form, folder)
    return _only(fitting(candidates, frames) or of_frames(candidates, frames, folder), folder)


def _candidates(form: str, folder: Path) -> list[list[Path]]:
    """Return the tables of predictions of a form, or else of ratings, except names with another kind of packing."""
    tables = _tables(form, folder, is_rated=False) or _tables(form, folder, is_rated=True)
    packings = {path: PACKING.search(path.stem) for path in tables}
    return [[path for path, packing in packings.items() if packing is None or FORM[packing[1]] == form]]


def rating_files(folder: Path) -> list[Path]:
    """Return the table of ratings: the one that the harness names `..._score`, or else the only one."""
    return _only(_tables("unpacked", folder, is_rated=True) or _tables("unpacked", folder, is_rated=False), folder)


def ratings_beside(predictions: Path, names: Sequence[str]) -> list[Path]:
    """Return the table `<predictions>_<judge>_score`, or the table of predictions itself if it has this name."""
    endings = [f"_{name}_score" for name in names]
    if predictions.stem.endswith(tuple(endings)):
        return [predictions]
    paths = (predictions.with_name(predictions.stem + ending + kind) for ending in endings for kind in TYPES)
    return [path for path in paths if path.is_file()][:1]


def _tables(form: str, folder: Path, *, is_rated: bool) -> list[Path]:
    """Return the tables with the form's data set in their names, or else those without the name of any data set.

    The harness's files `..._rating.json` (means) and `..._result` (rewritten predictions) are skipped.
    """
    tables = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in TYPES and not path.stem.endswith(("_rating", "_result")) and path.stem != "status"
        if path.stem.endswith("_score") == is_rated
    ]
    matches = [path for path in tables if DATA_SETS[form].search(path.stem)]
    return matches or [path for path in tables if not any(pattern.search(path.stem) for pattern in DATA_SETS.values())]


def _only(tables: Sequence[Path], folder: Path) -> list[Path]:
    if len(tables) > 1:
        names = ", ".join(path.name for path in tables)
        raise UserError(f"{folder}: found {names}; one table of answers is expected. Keep one in a folder of its own.")
    return list(tables)


def _deviations(form: str, files: Sequence[Path], requests: pl.DataFrame, frames: int | None) -> list[Problem]:
    """Return the deviations from a run with this number of frames per clip, according to the file names."""
    deviations = []
    for path in files:
        packing, rate, number = PACKING.search(path.stem), RATE.search(path.stem), frames_in_name(path)
        if packing and form == "packed" and not requests["system"].str.contains(PACKED_PROMPT, literal=True).all():
            deviations.append((path, packing[1], OTHER_PROMPT))
        if rate and frames is not None:
            deviations.append((path, rate[1], OTHER_FRAMES))
        if number is not None and number != frames:
            deviations.append((path, f"{number} frames", OTHER_FRAMES))
    return [Problem(str(path), None, detail, problem) for path, detail, problem in deviations]


# --- reading ---------------------------------------------------------------------------------------------------------


def _read_unpacked(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    by_index = _by_index(files, items)
    request_items = requests.select("request_id", "item_id").iter_rows()
    answers = {request: by_index.answers.get(item, UNANSWERED) for request, item in request_items}
    return ImportedAnswers(answers, by_index.problems)


def _read_packed(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return the answers, those of one video packed into one reply; it fails only if all of them failed."""
    by_index, items_by_clip = _by_index(files, items), dict(items.group_by("clip_id").agg("item_id").iter_rows())
    answers = {}
    for request, clip in requests.select("request_id", "clip_id").iter_rows():
        clip_answers = {item: by_index.answers.get(item, UNANSWERED) for item in items_by_clip.get(clip, ())}
        texts = {item: answer.text for item, answer in clip_answers.items() if not answer.error}
        errors = {answer.error for answer in clip_answers.values()}
        failed = Answer(error=errors.pop() if len(errors) == 1 else NO_ANSWER)
        answers[request] = Answer(text=json.dumps(texts, ensure_ascii=False)) if texts else failed
    return ImportedAnswers(answers, by_index.problems)


def _by_index(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Return the answers by item id instead of by request."""
    imported = ImportedAnswers()
    for place, column, cell in _cells(files, items, PREDICTIONS, imported):
        imported.add(place.id, _as_answer(cell) if column == "prediction" else Answer(error=RATED_ONLY), place)
    return imported


def _as_answer(cell: str) -> Answer:
    if FAILED in cell:
        return Answer(error=FAILED_ELSEWHERE)
    return Answer(text=cell) if cell.strip() else UNANSWERED


def _read_choices(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return answers about images; the correct letter identifies a rotation, whatever its direction."""
    requests_by_key = {
        (row["item_id"].split("/")[1], row["expected"]): row["request_id"] for row in requests.iter_rows(named=True)
    }
    imported = ImportedAnswers()
    for path in files:
        for record in read_records(path, imported, CHOICES, value="prediction")[1]:
            place = Place(path, record.line, WHOLE.sub(r"\1", record.cells["index"].strip()))
            first_index = str(int(place.id) % ROTATION_STEP) if place.id.isdigit() else place.id
            request = requests_by_key.get((first_index, record.cells["answer"].strip()))
            if request is None:
                imported.note(place, UNKNOWN_ID)
            else:
                imported.add(request, _as_answer(record.cells["prediction"]), place)
    return imported


def read_ratings(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Return the ratings by index as replies of a judge; the harness writes -1 for a missing rating."""
    imported = ImportedAnswers()
    for place, _, cell in _cells(files, items, RATINGS, imported):
        imported.add(place.id, Answer(text=WHOLE.sub(r"\1", cell.strip())), place)
    return imported


def _cells(
    files: Sequence[Path], items: pl.DataFrame, choices: Sequence[Sequence[str]], imported: ImportedAnswers
) -> Iterator[tuple[Place, str, str]]:
    """Yield place (with the item's id), column and cell of every row that matches a question of the release."""
    for path in files:
        columns, records = read_records(path, imported, *choices, value=choices[0][1])
        questions = Questions(items)
        for record in records:
            place = Place(path, record.line, WHOLE.sub(r"\1", record.cells["index"].strip()))
            if questions.match(place, record.cells.get("question", ""), imported):
                yield place, columns[1], record.cells[columns[1]]
        questions.require_match("MMBench-Video")


# --- writing ---------------------------------------------------------------------------------------------------------


def _write_unpacked(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    texts = {
        row["item_id"]: row["text"] for row in answered_requests.filter(pl.col("error") == "").iter_rows(named=True)
    }
    rows: list[Sequence[str]] = [("index", "video", "video_type", "question", "answer", "dimensions", "prediction")]
    for item in items_of(items):
        leaves = repr([tag.text for tag in item.tags if tag.name == LEAF])
        cells = (item.item_id, item.unit, item.task, item.texts["question"], item.answer, leaves)
        rows.append((*cells, texts.get(item.item_id, "")))
    return [_write_sheet(folder / f"{name}_MMBench-Video.xlsx", rows)]


def _write_choices(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    rows: list[Sequence[str]] = [("index", *LETTERS, "answer", "prediction")]
    for row in answered_requests.iter_rows(named=True):
        index, turn = row["item_id"].split("/")[1], int(row["role"].removeprefix("rotation"))
        number = str(int(index) + ROTATION_STEP * turn) if turn else index
        options = [*row["option_texts"], *[""] * (len(LETTERS) - len(row["option_texts"]))]
        rows.append((number, *options, row["expected"], "" if row["error"] else row["text"]))
    return [_write_sheet(folder / f"{name}_{answered_requests['item_id'][0].split('/')[0]}.xlsx", rows)]


def _write_sheet(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """Write the harness's table without control characters; the cell of a failed answer is blank."""
    from openpyxl import Workbook

    book = Workbook(write_only=False)
    for number, row in enumerate(rows, start=1):
        for column, text in enumerate(row, start=1):
            # Store every cell as text, so that no answer becomes a formula.
            book.active.cell(number, column, CONTROL.sub("", text)).data_type = "s"
    with whole_file(path) as temporary:
        book.save(temporary)
    return path


def _answers(form: str, read: Read, write: "Write | None" = None) -> AnswerFiles:
    deviations = partial(_deviations, form)
    return AnswerFiles(partial(_files, form), partial(_candidates, form), read, write, deviations=deviations)


# The harness has no file format for packed replies, only for the answers in them. It does not support other sets of
# videos, so answers about these are read by question id.
FORMS = {
    "unpacked": _answers("unpacked", _read_unpacked, _write_unpacked),
    "packed": _answers("packed", _read_packed),
    "set_choice": _answers("set_choice", _read_unpacked),
    "circular": _answers("circular", _read_choices, _write_choices),
    "choice": _answers("choice", _read_choices, _write_choices),
}
