"""Test VLMEvalKit's tables: the file of each run in a result folder, its rows, and deviations from the run."""

import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook
from openpyxl.worksheet.formula import ArrayFormula
from reprise.benchmarks.registry import load_answers
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS
from reprise.external.mmbench_video import FORMS, find_rating_files, read_ratings
from reprise.stages.import_ratings import build_replies
from reprise.stages.judge_requests import collect_answers
from reprise.stages.judgements import extract_judgements

from tests.unit.benchmarks import releases
from tests.unit.benchmarks.test_image_choice import make_row, read_items
from tests.unit.benchmarks.whole import BenchmarkPipeline, write_rows
from tests.unit.external.test_imports import Import, import_folder, list_problems, texts_by_request
from tests.unit.rows import request_table

FILE_PREFIX, JUDGE = "m_MMBench_Video", "gpt-4-turbo"
NAME = f"{FILE_PREFIX}_8frame_nopack.xlsx"
COLUMNS = ("index", "video", "question", "prediction")


RESULT_FILES = (
    "status.json", NAME, f"{FILE_PREFIX}_8frame_nopack_{JUDGE}_score.xlsx", f"{FILE_PREFIX}_8frame_nopack_{JUDGE}_rating.json",
    f"{FILE_PREFIX}_8frame_pack.xlsx", f"{FILE_PREFIX}_64frame_pack.xlsx", f"{FILE_PREFIX}_1fps_nopack.xlsx", "m_MMBench_DEV_EN.xlsx",
    f"m_MMBench_DEV_EN_{JUDGE}_result.xlsx", "m_MMStar.xlsx", "m_Video-MME_8frame.xlsx", f"m_Video-MME_8frame_{JUDGE}_score.xlsx",
)  # fmt: skip


@pytest.mark.parametrize(("form", "frames", "expected"), [
    ("unpacked", 8, NAME),
    ("packed", 8, f"{FILE_PREFIX}_8frame_pack.xlsx"),
    ("packed", 64, f"{FILE_PREFIX}_64frame_pack.xlsx"),
    ("unpacked", None, f"{FILE_PREFIX}_1fps_nopack.xlsx"),
    ("circular", 1, "m_MMBench_DEV_EN.xlsx"),
    ("choice", 1, "m_MMStar.xlsx"),
])  # fmt: skip
def test_the_file_of_each_run_is_found_in_a_result_folder(
    tmp_path: Path, form: str, frames: int | None, expected: str
) -> None:
    for name in RESULT_FILES:
        (tmp_path / name).touch()
    assert [path.name for path in FORMS[form].find(tmp_path, frames)] == [expected]
    assert tmp_path / expected in FORMS[form].find_candidates(tmp_path)[0]
    assert [path.name for path in find_rating_files(tmp_path)] == [f"{FILE_PREFIX}_8frame_nopack_{JUDGE}_score.xlsx"]
    (tmp_path / f"{FILE_PREFIX}_8frame_nopack.tsv").touch()
    with pytest.raises(UserError, match=r"found m_.*, expected one table of answers"):
        FORMS["unpacked"].find(tmp_path, 8)


OTHER_FRAMES = "another number of frames than the sampling's"


@pytest.mark.parametrize(("name", "form", "prompt", "frames", "expected"), [
    (NAME, "unpacked", "unpacked", 8, []),
    (NAME, "unpacked", "unpacked", None, [("8 frames", OTHER_FRAMES)]),
    (f"{FILE_PREFIX}_1fps_nopack.xlsx", "unpacked", "unpacked", 8, [("1fps", OTHER_FRAMES)]),
    (f"{FILE_PREFIX}_8frame_pack.xlsx", "packed", "packed", 8, [("pack", "different prompt")]),
    (f"{FILE_PREFIX}_8frame_pack.xlsx", "packed", "packed.authors", 8, []),
    ("m.xlsx", "packed", "packed", 8, []),
])  # fmt: skip
def test_file_names_that_state_another_run_are_reported(
    tmp_path: Path, name: str, form: str, prompt: str, frames: int | None, expected: list[Any]
) -> None:
    requests = releases.build_request_table(
        "mmbench_video", form, releases.read_mmbench_questions(tmp_path, 4)[0], prompt
    )
    deviations = FORMS[form].find_deviations([tmp_path / name], requests, frames)
    assert [(deviation.file, deviation.id, deviation.problem) for deviation in deviations] == [
        (str(tmp_path / name), *fields) for fields in expected
    ]


def write_prediction_table(path: Path, *rows: tuple[object, ...]) -> Path:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".xlsx":
        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    elif path.suffix == ".tsv":
        write_rows(path, *rows)
    else:
        path.write_text(json.dumps([dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]]))
    return path


def import_predictions(
    folder: Path, count: int, name: str, *rows: tuple[object, ...], form: str = "unpacked"
) -> Import:
    """Import a table about `count` questions, two per video; without `rows`, the file exists already."""
    items, _ = releases.read_mmbench_questions(folder, count)
    path = write_prediction_table(folder / "m" / name, *rows) if rows else folder / "m" / name
    return import_folder("mmbench_video", form, items, path.parent, form)


def collect_rated_answers(folder: Path, count: int, table: pl.DataFrame, form: str = "unpacked") -> pl.DataFrame:
    """Return the answers that a judge rates."""
    items, _ = releases.read_mmbench_questions(folder, count)
    requests = releases.build_request_table("mmbench_video", form, items, form)
    return collect_answers(load_answers("mmbench_video")[form], items, requests, table, "key")


@pytest.mark.parametrize("kind", ["tsv", "xlsx", "json"])
def test_predictions_are_the_same_for_any_file_type(tmp_path: Path, kind: str) -> None:
    name, rows = f"answers.{kind}", [("index", "prediction"), (0, 'two\nlines, "quoted"'), (1, 5), (2, ""), (9, "x")]
    imported, table = import_predictions(tmp_path, 4, name, *rows)
    assert texts_by_request(table) == {"0#unpacked": ('two\nlines, "quoted"', ""), "1#unpacked": ("5", "")}
    assert [(idx, problem) for _, idx, problem in list_problems(imported)] == [("9", "unknown id")]
    assert table["error"].to_list() == ["", "", "no_answer", "no_answer"]
    with pytest.raises(UserError, match=rf"{name}: column 'prediction' is missing. Found: index, answer. Needed: "):
        import_predictions(tmp_path, 2, name, ("index", "answer"), (0, "a"))
    if kind == "json":  # an object that maps the index to the prediction
        (tmp_path / "m" / name).write_text('{"0": "a hat", "1": null}')
        assert texts_by_request(import_predictions(tmp_path, 2, name)[1]) == {"0#unpacked": ("a hat", "")}
    else:
        write_prediction_table(tmp_path / "m" / name)
        imported, table = import_predictions(tmp_path, 2, name)
        assert list_problems(imported) == [(0, "", "empty file")] and set(table["error"]) == {"no_answer"}


def test_formulas_are_texts_and_failed_or_conflicting_answers_are_named(tmp_path: Path) -> None:
    """Formulas are never computed; other tools write a text that begins with = as a formula without a value."""
    formulas = [(0, '=cmd|"/C calc"!A0'), (1, "=2+1"), (2, ArrayFormula("B4", "=A2:A3"))]
    _, table = import_predictions(tmp_path, 3, "m.xlsx", ("index", "prediction"), *formulas)
    assert table["text"].to_list() == ['=cmd|"/C calc"!A0', "=2+1", "=A2:A3"]
    failed = [(0, "Failed to obtain answer via API."), (1, "a"), (1, "b"), ("1.0", "b")]
    imported, table = import_predictions(tmp_path / "m", 2, "m.tsv", ("index", "prediction"), *failed)
    assert table["error"].to_list() == ["failed_elsewhere", "contradictory"]
    assert Counter(problem for *_, problem in list_problems(imported)) == {"disagrees with another answer": 2}


@pytest.mark.parametrize(("name", "content", "message"), [
    ("m.xlsx", b"no zip", "m.xlsx: not readable as xlsx: "),
    ("m.json", b"{", "m.json: not readable as json: "),
    ("m.json", b'{"coarse_all": {"CP": "1.0"}}', "expected a list of objects, or an object of index and prediction"),
    ("m.tsv", b'index\tprediction\n1\t"a\n2\tb\n', "row 1: not readable as csv: unexpected end of data. A quote there may be unclosed"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(message)):
        import_predictions(tmp_path, 2, name)


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
WIDE_ROW = '<row r="1"><c r="XFD1"><v>1</v></c></row>'
MANY_ROWS = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(2, 2000))
ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet><sheetData><row>&a;</row></sheetData></worksheet>'
)


@pytest.mark.parametrize(("sheet", "size", "message"), [
    (" ", 2**29 + 1, "m.xlsx: not readable as xlsx: .* bytes after unpacking, more than the allowed 536870912"),
    (SHEET.format(WIDE_ROW + MANY_ROWS), None, "m.xlsx: not readable as xlsx: more than 5000000 cells"),
    (ENTITIES, None, "m.xlsx"),
])  # fmt: skip
def test_a_workbook_that_is_too_large_or_refers_to_another_file_is_rejected(
    tmp_path: Path, sheet: str, size: int | None, message: str
) -> None:
    """It is rejected by its stated size in the zip, its number of cells, or its external entity."""
    (tmp_path / "m").mkdir()
    Workbook().save(tmp_path / "whole.xlsx")
    name = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as original, zipfile.ZipFile(tmp_path / "m/m.xlsx", "w") as changed:
        for part in original.namelist():
            changed.writestr(part, sheet if part == name else original.read(part))
        changed.getinfo(name).file_size = size or changed.getinfo(name).file_size
    with pytest.raises(UserError, match=message) as caught:
        import_predictions(tmp_path, 2, "m.xlsx")
    assert "root:" not in str(caught.value)


def test_predictions_of_a_video_are_packed_into_one_reply(tmp_path: Path) -> None:
    rows = [("index", "prediction"), (0, "a"), (1, "b"), (2, "c"), (3, "")]
    _, table = import_predictions(tmp_path, 6, "m.tsv", *rows, form="packed")
    assert table.select("text", "error").rows() == [('{"0": "a", "1": "b"}', ""), ('{"2": "c"}', ""), ("", "no_answer")]
    for _, extractor_answers in collect_rated_answers(tmp_path, 6, table, "packed").group_by("extractor"):
        assert extractor_answers["text"].to_list() == ["a", "b", "c", "", "", ""]
        assert extractor_answers["error"].to_list() == ["", "", "", "unreadable", "no_answer", "no_answer"]


def extract_ratings(folder: Path, count: int, extractor: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    """Return the verdicts for a folder with one table of predictions, ratings or both."""
    answers = collect_rated_answers(folder, count, import_predictions(folder, count, "answers.xlsx", *rows)[1])
    ratings = read_ratings(find_rating_files(folder / "m"), releases.read_mmbench_questions(folder, count)[0])
    return extract_judgements(answers, build_replies(answers, ratings, "judge"), extractor)


def test_ratings_are_the_replies_of_a_judge(tmp_path: Path) -> None:
    rows = [
        ("index", "prediction", "score"),
        (0, "a", 3),
        (1, "b", 2.0),
        (2, "c", -1),
        (3, "d", "Score: 1"),
        (4, "", -1),
    ]
    robust, authors = (extract_ratings(tmp_path, 6, extractor, *rows) for extractor in ("robust", "authors"))
    assert robust["score"].to_list() == [3, 2, None, 1, None, None]
    assert robust["failed"].to_list() == [False] * 4 + [True, True]
    assert authors["score"].to_list() == [3, 2, None, None, None, None]
    assert authors["failed"].to_list() == [False] * 6, (
        "a blank prediction was never rated, so the column VALID excludes it"
    )
    ratings_only = ("index", "rating"), (0, 3), (1, 0)  # a rating counts without the rated text
    assert extract_ratings(tmp_path, 3, "robust", *ratings_only)["score"].to_list() == [3, 0, None]
    _, table = import_predictions(tmp_path, 3, "answers.xlsx", *ratings_only)
    assert table["error"].to_list() == ["rated_only", "rated_only", "no_answer"], (
        "no other judge can rate these answers"
    )
    conflicting = extract_ratings(tmp_path, 1, "robust", ("index", "prediction", "rating"), (0, "a", 3), (0, "a", 1))
    assert (conflicting["score"].to_list(), conflicting["unparsed"].to_list()) == ([None], [True]), (
        "conflicting ratings are unparsed"
    )


def make_image_requests(folder: Path) -> pl.DataFrame:
    """Return requests about images: three rotations of question 7 and two of question 8."""
    items = read_items(folder, [make_row("7", ["p", "q", "r"], "B"), make_row("8", ["p", "q"], "A")])
    return request_table(BenchmarkPipeline("mmbench_video").requests(items, "circular", "image"), "choose", 9)


def test_a_rotation_is_identified_by_its_correct_letter(tmp_path: Path) -> None:
    """The released file rotates the options in the other direction: B, C, A instead of our B, A, C."""
    requests, no_items = make_image_requests(tmp_path), pl.DataFrame(schema=ITEMS)
    failure_text = "Failed to obtain answer via API."
    rows = [(7, "B", "B."), (1000007, "C", "C"), (2000007, "A", failure_text), (8, "A", "A"), (1000008, "B", ""), (9, "A", "A"), (7, "D", "D")]  # fmt: skip
    path = write_prediction_table(tmp_path / "answers.tsv", ("index", "answer", "prediction"), *rows)
    imported = FORMS["circular"].read([path], no_items, requests)
    assert {request: answer.text or answer.error for request, answer in imported.answers.items()} == {
        "mmbench/7#rotation0": "B.", "mmbench/7#rotation2": "C", "mmbench/7#rotation1": "failed_elsewhere",
        "mmbench/8#rotation0": "A", "mmbench/8#rotation1": "no_answer",
    }  # fmt: skip
    assert [(problem.id, problem.problem) for problem in imported.problems] == [
        ("9", "unknown id"),
        ("7", "unknown id"),
    ]
    answered = requests.with_columns(text=pl.col("expected"), error=pl.Series(["", "", "timeout", "", ""]))
    write = FORMS["circular"].write
    assert write is not None
    (path,) = write(tmp_path, "model", no_items, answered)
    reimported = FORMS["circular"].read([path], no_items, requests)
    assert path.name == "model_mmbench.xlsx" and not reimported.problems
    assert [reimported.answers[request].text for request in requests["request_id"]] == ["B", "A", "", "A", "B"]
    with pytest.raises(UserError, match="column 'answer' is missing"):
        path = write_prediction_table(tmp_path / "answers.tsv", ("index", "prediction"), (7, "B"))
        FORMS["circular"].read([path], no_items, requests)


def test_rows_are_checked_by_their_question(tmp_path: Path) -> None:
    matching_row = (0, "v0", ' "q0" ', "right")  # quotes and spaces may differ from the release
    other_rows = (3, "v1", "Who?", "of no question"), (8, "v0", "Q3?", "of another video")
    imported, table = import_predictions(tmp_path, 4, NAME, COLUMNS, matching_row, *other_rows)
    assert table.select("text", "error").rows() == [("right", ""), *[("", "no_answer")] * 3]
    assert list_problems(imported) == [(3, "3", "another question under a known id"), (4, "8", "unknown id")]
    rows = [(n, "fFjv93ACGo8", f"Which {n}?", "A") for n in range(4)]
    message = "none of its 4 rows matches a question of MMBench-Video in this suite. The first: line 2, id '0'"
    with pytest.raises(UserError, match=message):
        import_predictions(tmp_path, 4, NAME, COLUMNS, *rows)
