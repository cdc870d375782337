"""MMBench-Video's answer files in the format of VLMEvalKit: predictions by index, and their ratings.

A name such as `<model>_MMBench_Video_8frame_nopack.xlsx` says that the model received 8 frames (`1fps`: one frame per
second) and one question per prompt (`pack`: all questions of a video in one prompt).
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import to_items
from reprise.benchmarks.mmbench_video.taxonomy import IMAGE_OPTION_LETTERS, LEAF_TAG, ROTATION_STEP
from reprise.core.errors import UserError
from reprise.core.files import atomic_path
from reprise.external import EXTERNAL_FAILURE, NO_ANSWER, RATING_WITHOUT_TEXT, AnswerFiles, AnswerReader, AnswerWriter
from reprise.external.answers import (
    DIFFERENT_FRAMES,
    DIFFERENT_PROMPT,
    UNKNOWN_ID,
    FileLocation,
    ImportedAnswers,
    ImportProblem,
    QuestionMatcher,
    filter_by_frame_count,
    parse_frame_count,
    read_sheet_rows,
    select_by_frame_count,
)
from reprise.models.base import Answer

FILE_SUFFIXES = (".tsv", ".xlsx", ".json")
# Patterns of the data sets in the harness's file names.
MMBENCH_VIDEO_NAME, MMBENCH_NAME, MMSTAR_NAME = (
    re.compile(pattern) for pattern in ("MMBench[-_]Video", "MMBench_(?!Video)", "MMStar")
)
DATA_SETS = {
    "unpacked": MMBENCH_VIDEO_NAME,
    "packed": MMBENCH_VIDEO_NAME,
    "set_choice": MMBENCH_VIDEO_NAME,
    "circular": MMBENCH_NAME,
    "choice": MMSTAR_NAME,
}
RATING_COLUMN_SETS = (("index", "score"), ("index", "rating"))
CHOICE_COLUMNS = ("index", "answer", "prediction")
PREDICTION_COLUMN_SETS = (("index", "prediction"), *RATING_COLUMN_SETS)
# The harness writes this text in place of an answer if an API fails.
FAILURE_TEXT = "Failed to obtain answer via API."
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# A whole number with decimals, as in `7.0`: spreadsheets and pandas write ids and ratings in this way.
WHOLE_NUMBER = re.compile(r"^(-?\d+)\.0+$")
PACKING = re.compile(r"_(nopack|pack)(?=_|$)")
FORM_BY_PACKING = {"nopack": "unpacked", "pack": "packed"}
FRAME_RATE = re.compile(r"_(\d+(?:\.\d+)?fps)(?=_|$)")
# The harness has one prompt for packed questions; its system prompt begins with this sentence.
PACKED_PROMPT = "You are an AI assistant responsible for answering questions about videos."
UNANSWERED = Answer(error=NO_ANSWER)


# --- choice of files -------------------------------------------------------------------------------------------------


def _find_files(form: str, folder: Path, frame_count: int | None) -> list[Path]:
    """Return the table of predictions, or else of ratings, with the run's number of frames."""
    [candidates] = _find_candidates(form, folder)
    # If all names have other numbers, `select_by_frame_count` accepts a single one if the run's number is unknown.
    tables = filter_by_frame_count(candidates, frame_count) or select_by_frame_count(candidates, frame_count, folder)
    return _require_single(tables, folder)


def _find_candidates(form: str, folder: Path) -> list[list[Path]]:
    """Return the tables of predictions, or else of ratings, without those whose names state another packing."""
    tables = _find_tables(form, folder, is_rated=False) or _find_tables(form, folder, is_rated=True)
    packings = {path: PACKING.search(path.stem) for path in tables}
    return [[path for path, packing in packings.items() if packing is None or FORM_BY_PACKING[packing[1]] == form]]


def find_rating_files(folder: Path) -> list[Path]:
    """Return the table of ratings: the harness's `..._score`, or else the only table."""
    return _require_single(
        _find_tables("unpacked", folder, is_rated=True) or _find_tables("unpacked", folder, is_rated=False), folder
    )


def find_judge_ratings(predictions: Path, names: Sequence[str]) -> list[Path]:
    """Return the table `<predictions>_<judge>_score`; it may be the table of predictions itself."""
    endings = [f"_{name}_score" for name in names]
    if predictions.stem.endswith(tuple(endings)):
        return [predictions]
    paths = (predictions.with_name(predictions.stem + ending + kind) for ending in endings for kind in FILE_SUFFIXES)
    return [path for path in paths if path.is_file()][:1]


def _find_tables(form: str, folder: Path, *, is_rated: bool) -> list[Path]:
    """Return the tables whose names contain the form's data set, or else those whose names contain no data set.

    The harness's files `..._rating.json` (means), `..._result` (rewritten predictions) and `status` are skipped.
    """
    tables = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in FILE_SUFFIXES and not path.stem.endswith(("_rating", "_result")) and path.stem != "status"
        if path.stem.endswith("_score") == is_rated
    ]
    matches = [path for path in tables if DATA_SETS[form].search(path.stem)]
    return matches or [path for path in tables if not any(pattern.search(path.stem) for pattern in DATA_SETS.values())]


def _require_single(tables: Sequence[Path], folder: Path) -> list[Path]:
    """Return the tables unchanged, or raise a UserError if there are several."""
    if len(tables) > 1:
        names = ", ".join(path.name for path in tables)
        raise UserError(f"{folder}: found {names}, expected one table of answers. Keep each table in its own folder.")
    return list(tables)


def _find_deviations(
    form: str, files: Sequence[Path], requests: pl.DataFrame, frame_count: int | None
) -> list[ImportProblem]:
    """Return the deviations from a run, according to the file names."""
    deviations = []
    for path in files:
        packing, frame_rate = PACKING.search(path.stem), FRAME_RATE.search(path.stem)
        file_frame_count = parse_frame_count(path)
        if packing and form == "packed" and not requests["system"].str.contains(PACKED_PROMPT, literal=True).all():
            deviations.append((path, packing[1], DIFFERENT_PROMPT))
        if frame_rate and frame_count is not None:
            deviations.append((path, frame_rate[1], DIFFERENT_FRAMES))
        if file_frame_count is not None and file_frame_count != frame_count:
            deviations.append((path, f"{file_frame_count} frames", DIFFERENT_FRAMES))
    return [ImportProblem(str(path), None, detail, problem) for path, detail, problem in deviations]


# --- reading ---------------------------------------------------------------------------------------------------------


def _read_unpacked(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return one answer per question."""
    imported = _read_answers_by_item(files, items)
    request_items = requests.select("request_id", "item_id").iter_rows()
    answers = {request_id: imported.answers.get(item_id, UNANSWERED) for request_id, item_id in request_items}
    return ImportedAnswers(answers, imported.problems)


def _read_packed(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return one answer per video, made of the answers to its questions; it counts as failed if all of them failed."""
    imported = _read_answers_by_item(files, items)
    items_by_clip = dict(items.group_by("clip_id").agg("item_id").iter_rows())
    answers = {}
    for request_id, clip_id in requests.select("request_id", "clip_id").iter_rows():
        clip_answers = {item: imported.answers.get(item, UNANSWERED) for item in items_by_clip.get(clip_id, ())}
        texts = {item: answer.text for item, answer in clip_answers.items() if not answer.error}
        errors = {answer.error for answer in clip_answers.values()}
        failed_answer = Answer(error=errors.pop() if len(errors) == 1 else NO_ANSWER)
        answers[request_id] = Answer(text=json.dumps(texts, ensure_ascii=False)) if texts else failed_answer
    return ImportedAnswers(answers, imported.problems)


def _read_answers_by_item(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Return the answers by item id instead of by request."""
    imported = ImportedAnswers()
    for location, column, cell in _read_cells(files, items, PREDICTION_COLUMN_SETS, imported):
        imported.add_answer(
            location.id, _parse_answer(cell) if column == "prediction" else Answer(error=RATING_WITHOUT_TEXT), location
        )
    return imported


def _parse_answer(cell: str) -> Answer:
    """Return the answer in a cell; an empty cell, or the failure text of the harness, is a failed answer."""
    if FAILURE_TEXT in cell:
        return Answer(error=EXTERNAL_FAILURE)
    return Answer(text=cell) if cell.strip() else UNANSWERED


def _read_choices(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Return answers about images, by question and right letter.

    The right letter differs between the rotations of a question's options. It therefore identifies the request, in
    whichever direction the harness rotates.
    """
    # Index of a question in the release, and right letter of one of its rotations -> id of the request.
    requests_by_key = {
        (row["item_id"].split("/")[1], row["expected"]): row["request_id"] for row in requests.iter_rows(named=True)
    }
    imported = ImportedAnswers()
    for path in files:
        _, rows = read_sheet_rows(path, imported, CHOICE_COLUMNS, value_column="prediction")
        for row in rows:
            location = FileLocation(path, row.line, WHOLE_NUMBER.sub(r"\1", row.cells["index"].strip()))
            question_index = str(int(location.id) % ROTATION_STEP) if location.id.isdigit() else location.id
            request = requests_by_key.get((question_index, row.cells["answer"].strip()))
            if request is None:
                imported.add_problems(location, UNKNOWN_ID)
            else:
                imported.add_answer(request, _parse_answer(row.cells["prediction"]), location)
    return imported


def read_ratings(files: Sequence[Path], items: pl.DataFrame) -> ImportedAnswers:
    """Return the ratings by index as replies of a judge; the harness writes -1 for a missing rating."""
    imported = ImportedAnswers()
    for location, _, cell in _read_cells(files, items, RATING_COLUMN_SETS, imported):
        imported.add_answer(location.id, Answer(text=WHOLE_NUMBER.sub(r"\1", cell.strip())), location)
    return imported


def _read_cells(
    files: Sequence[Path], items: pl.DataFrame, column_sets: Sequence[Sequence[str]], imported: ImportedAnswers
) -> Iterator[tuple[FileLocation, str, str]]:
    """Yield location (with the item's id), column and cell of every row that matches a question of the release."""
    for path in files:
        # Each set of columns is the index and the column to read.
        columns, rows = read_sheet_rows(path, imported, *column_sets, value_column=column_sets[0][1])
        questions = QuestionMatcher(items)
        for row in rows:
            location = FileLocation(path, row.line, WHOLE_NUMBER.sub(r"\1", row.cells["index"].strip()))
            if questions.match(location, row.cells.get("question", ""), imported):
                yield location, columns[1], row.cells[columns[1]]
        questions.require_match("MMBench-Video")


# --- writing ---------------------------------------------------------------------------------------------------------


def _write_unpacked(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    """Write the questions with a run's answers in the harness's format, and return the file."""
    texts = {
        row["item_id"]: row["text"] for row in answered_requests.filter(pl.col("error") == "").iter_rows(named=True)
    }
    rows: list[Sequence[str]] = [("index", "video", "video_type", "question", "answer", "dimensions", "prediction")]
    for item in to_items(items):
        leaves = repr([tag.text for tag in item.tags if tag.name == LEAF_TAG])
        cells = (item.item_id, item.cluster, item.task, item.texts["question"], item.answer, leaves)
        rows.append((*cells, texts.get(item.item_id, "")))
    return [_write_sheet(folder / f"{name}_MMBench-Video.xlsx", rows)]


def _write_choices(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
    """Write the rotations of image questions with a run's answers in the harness's format, and return the file."""
    rows: list[Sequence[str]] = [("index", *IMAGE_OPTION_LETTERS, "answer", "prediction")]
    for row in answered_requests.iter_rows(named=True):
        index, rotation = row["item_id"].split("/")[1], int(row["role"].removeprefix("rotation"))
        row_index = str(int(index) + ROTATION_STEP * rotation) if rotation else index
        options = [*row["option_texts"], *[""] * (len(IMAGE_OPTION_LETTERS) - len(row["option_texts"]))]
        rows.append((row_index, *options, row["expected"], "" if row["error"] else row["text"]))
    data_set, _, _ = answered_requests["item_id"][0].partition("/")
    return [_write_sheet(folder / f"{name}_{data_set}.xlsx", rows)]


def _write_sheet(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """Write a table in the harness's format, without control characters."""
    from openpyxl import Workbook

    book = Workbook(write_only=False)
    for row_number, row in enumerate(rows, start=1):
        for column_number, text in enumerate(row, start=1):
            # Store every cell as text, so that no answer becomes a formula.
            book.active.cell(row_number, column_number, CONTROL_CHARACTERS.sub("", text)).data_type = "s"
    with atomic_path(path) as temporary:
        book.save(temporary)
    return path


def _create_answer_files(form: str, read: AnswerReader, write: "AnswerWriter | None" = None) -> AnswerFiles:
    """Return the functions that find, read and write the files of a form of question."""
    find_deviations = partial(_find_deviations, form)
    return AnswerFiles(
        partial(_find_files, form), partial(_find_candidates, form), read, write, find_deviations=find_deviations
    )


# The harness has no file format for packed replies, only for the answers in them. It does not support other sets of
# videos; their answers are matched by question id.
FORMS = {
    "unpacked": _create_answer_files("unpacked", _read_unpacked, _write_unpacked),
    "packed": _create_answer_files("packed", _read_packed),
    "set_choice": _create_answer_files("set_choice", _read_unpacked),
    "circular": _create_answer_files("circular", _read_choices, _write_choices),
    "choice": _create_answer_files("choice", _read_choices, _write_choices),
}
