"""Test imported predictions: parsing, matching, named problems, and a round trip through export and import."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import select_items
from reprise.core.errors import UserError
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers, select_by_frame_count
from reprise.models.base import Answer
from reprise.stages.import_answers import build_responses
from reprise.stages.verdicts import extract_verdicts

from tests.unit.benchmarks import releases

Import = tuple[ImportedAnswers, pl.DataFrame]


def import_folder(benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = "") -> Import:
    """Import a folder; return the import and the table of responses."""
    importer = load_importer(benchmark).FORMS[form]
    requests = releases.build_request_table(benchmark, form, items, prompt)
    imported = importer.read(importer.find(folder, None), items, requests)
    return imported, build_responses(requests, imported, 8, "key")


def texts_by_request(table: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Map each request with an answer to its text and error."""
    rows = table.filter(pl.col("error") != "no_answer").select("request_id", "text", "error").rows()
    return {name: (text, error) for name, text, error in rows}


def list_problems(imported: ImportedAnswers) -> list[tuple[int | None, str, str]]:
    return [(line, idx, problem) for _, line, idx, problem in imported.problems]


# --- JSON lines: Vinoground and TemporalBench ----------------------------------------------------------------------


def import_vinoground(folder: Path, *lines: str | bytes) -> Import:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    items = releases.VinogroundRelease(folder, 1).items
    (folder / "textscore-response.jsonl").write_bytes(b"".join(line + b"\n" for line in raw))
    return import_folder("vinoground", "questions", items, folder)


NO_TEXT_FAILURE = ("", "no_text", "no text")


@pytest.mark.parametrize(("response", "expected"), [
    ('"A"', ("A", "", "")), ('["A"]', ("A", "", "")), ('"A person eats"', ("A person eats", "", "")),
    ('""', ("", "", "")), ('[""]', ('[""]', "", "")), ('["A", "A"]', ("A", "", "")),  # present, but no text
    ('["A", "B"]', ("A", "contradictory", "several texts in one answer")),
    ("null", NO_TEXT_FAILURE), ("5", NO_TEXT_FAILURE), ("true", NO_TEXT_FAILURE), ("[]", NO_TEXT_FAILURE), ("[null]", NO_TEXT_FAILURE), ('{"text": "A"}', NO_TEXT_FAILURE),
])  # fmt: skip
def test_any_response_is_an_answer_or_a_named_failure(tmp_path: Path, response: str, expected: tuple[str, ...]) -> None:
    imported, table = import_vinoground(tmp_path, f'{{"idx": "0_pos", "response": {response}}}')
    text, error, problem = expected
    assert texts_by_request(table)["0_pos/text#text_pos"] == (text, error)
    assert list_problems(imported) == ([(1, "0_pos", problem)] if problem else [])
    assert table.filter(pl.col("error") == "no_answer").height == 3, (
        "the file has no answer to the other three requests"
    )


GOOD_LINE = '{"idx": "0_pos", "response": "A"}'


@pytest.mark.parametrize(("line", "problem"), [
    ('{"idx": "9_pos", "response": "A"}', ("9_pos", "unknown id")),
    ('{"idx": "0_pos"', ("", "broken line")),
    pytest.param("[" * 100_000, ("", "broken line"), id="deep"),
    (b"\xff\xfe", ("", "broken line")),
    ('{"idx": "0_neg"}', ("0_neg", "no idx or no response")),
    (GOOD_LINE, ("0_pos", "repeats an answer")),
])  # fmt: skip
def test_a_bad_line_is_named_and_the_others_count(tmp_path: Path, line: str | bytes, problem: tuple[str, str]) -> None:
    imported, table = import_vinoground(
        tmp_path, b"\xef\xbb\xbf" + GOOD_LINE.encode(), line, ""
    )  # the byte order mark is ignored
    assert list_problems(imported) == [(2, *problem)] and texts_by_request(table) == {"0_pos/text#text_pos": ("A", "")}


def test_conflicting_answers_fail_except_for_the_extractor_authors(tmp_path: Path) -> None:
    imported, table = import_vinoground(tmp_path, GOOD_LINE.replace('"A"', '"B"'), GOOD_LINE)
    assert list_problems(imported) == [(2, "0_pos", "disagrees with another answer")]
    assert texts_by_request(table)["0_pos/text#text_pos"] == ("A", "contradictory")
    requests = releases.build_request_table("vinoground", "questions", releases.VinogroundRelease(tmp_path, 1).items)
    for extractor, failed, value in (("robust", True, ""), ("authors", False, "A")):
        row = extract_verdicts(requests, table, extractor, "first_character").row(0, named=True)
        assert (row["failed"], row["value"], row["right"]) == (failed, value, not failed)
    imported, table = import_vinoground(tmp_path)
    assert list_problems(imported) == [(0, "", "empty file")] and texts_by_request(table) == {} and table.height == 4
    for field, wrong_field in (("response", "answer"), ("idx", "id")):
        with pytest.raises(
            UserError, match=rf"textscore-response.jsonl: no line has '{field}'. Found: .*{wrong_field}"
        ):
            import_vinoground(tmp_path, GOOD_LINE.replace(field, wrong_field))


# --- choice of the file --------------------------------------------------------------------------------------------

TEXT_FILE, TEXT_FILE_8, TEXT_FILE_32 = (
    "textscore-response.jsonl",
    "textscore-frame8-response.jsonl",
    "textscore-frame32-response.jsonl",
)


@pytest.mark.parametrize(("names", "frames", "expected"), [
    ([], 8, []), ([TEXT_FILE], 8, [TEXT_FILE]), ([TEXT_FILE_8], 8, [TEXT_FILE_8]), ([TEXT_FILE_8], None, [TEXT_FILE_8]), ([TEXT_FILE_8, TEXT_FILE], 8, [TEXT_FILE_8]), ([TEXT_FILE_8, TEXT_FILE_32], 32, [TEXT_FILE_32]),
    ([TEXT_FILE_8], 32, "it is unclear"), ([TEXT_FILE_8, TEXT_FILE], 32, "a run with 32 frames"), ([TEXT_FILE_8, TEXT_FILE], None, "depends on the clip"),
])  # fmt: skip
def test_a_file_is_chosen_by_its_frames(tmp_path: Path, names: list[str], frames: int | None, expected: Any) -> None:
    paths = [tmp_path / name for name in names]
    if isinstance(expected, list):
        assert [path.name for path in select_by_frame_count(paths, frames, tmp_path)] == expected
    else:
        with pytest.raises(UserError, match=f"{names[0]}.*{expected}|{expected}.*{names[0]}"):
            select_by_frame_count(paths, frames, tmp_path)


@pytest.mark.parametrize(("names", "form", "expected"), [
    (["temporalbench_short_qa/m-frame8.jsonl", "temporalbench_long_qa/m-frame8.jsonl"], "long", ["temporalbench_long_qa/m-frame8.jsonl"]),
    (["m_short_qa.jsonl", "m_long_qa.jsonl", "m_short_caption.jsonl"], "short", ["m_short_qa.jsonl"]),
    (["m_short_qa.jsonl", "rest.jsonl"], "long", ["rest.jsonl"]),
])  # fmt: skip
def test_the_form_of_a_file_follows_from_its_name(tmp_path: Path, names: list[str], form: str, expected: Any) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    importer = load_importer("temporalbench").FORMS[form].find(tmp_path, 8)
    assert [str(path.relative_to(tmp_path)) for path in importer] == expected


# --- VELOCITI ------------------------------------------------------------------------------------------------------

SCORES = ("pos_score", "neg_score")
Edit = Callable[[list[str]], list[str]]


def import_velociti(folder: Path, edit: Edit = lambda lines: lines) -> Import:
    """Import three tests of eight samples, two per event, with different scores; `edit` changes the lines of one csv."""
    folder.mkdir(exist_ok=True)
    items, rows = releases.read_velociti_samples(folder, 8)
    answers_folder = releases.write_velociti_answers(
        folder, rows, SCORES, [(f"0.{n + 10}", "0.1") for n in range(len(rows))]
    )
    path = answers_folder / "control.csv"
    path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
    return import_folder("velociti", "entail", items, answers_folder)


def test_rows_of_an_event_are_matched_in_their_order(tmp_path: Path) -> None:
    imported, table = import_velociti(tmp_path)
    scores = dict(table.filter(pl.col("role") == "pos").select("item_id", pl.col("scores").list.first()).rows())
    assert [scores[f"control/v0/Ev{event}/{n}"] for event in (1, 2) for n in (1, 2)] == [0.10, 0.11, 0.12, 0.13]
    assert scores["chrono/v0/Ev1-Ev3/1"] == 0.26, "lists of events match too"
    assert imported.problems == [] and set(table["error"]) == {""}
    assert import_velociti(tmp_path / "moved", lambda lines: [lines[0], *lines[3:], *lines[1:3]])[1].equals(table)
    imported, table = import_velociti(tmp_path / "half", lambda lines: [lines[0], *lines[3:]])
    unanswered_items = sorted(set(table.filter(pl.col("error") == "no_answer")["item_id"]))
    assert unanswered_items == ["control/v0/Ev1/1", "control/v0/Ev1/2"] and imported.problems == []
    imported, table = import_velociti(tmp_path / "empty", lambda _: [])
    assert list_problems(imported) == [(0, "", "empty file")]
    assert table.filter(pl.col("error") == "no_answer").height == 16


@pytest.mark.parametrize(("edit", "message"), [
    (lambda lines: [lines[0], *lines[2:]], "control.csv: line 2: 1 rows for control/v0/Ev1, but the release has 2 such samples"),
    (lambda lines: ["test_name,video_id,event,pos,neg\n", *lines[1:]], "control.csv: column 'pos_score' is missing. Found: test_name, video_id, event, pos, neg. Needed: "),
    (lambda lines: ["test_name,video_id,event,gt_A,gt_B\n", *lines[1:]], "pos_score, neg_score; or test_name, video_id, event, pos_pred, neg_pred"),
])  # fmt: skip
def test_a_csv_that_cannot_be_matched_is_rejected(tmp_path: Path, edit: Edit, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        import_velociti(tmp_path, edit)


def test_an_unknown_row_and_an_invalid_score_are_named(tmp_path: Path) -> None:
    imported, _ = import_velociti(tmp_path / "unknown", lambda lines: [*lines, lines[1].replace("v0", "v9")])
    assert [(line, problem) for line, _, problem in list_problems(imported)] == [(10, "unknown id")]
    imported, table = import_velociti(tmp_path, lambda lines: [lines[0], lines[1].replace("0.10", "high"), *lines[2:]])
    assert list_problems(imported) == [(2, "control/v0/Ev1 pos_score", "no number")]
    requests = releases.build_request_table("velociti", "entail", releases.read_velociti_samples(tmp_path, 8)[0])
    row = extract_verdicts(requests, table, "robust", "plain").row(0, named=True)
    assert (row["unparsed"], row["failed"], row["score"]) == (True, False, None)


def test_a_file_with_the_subset_matches_requests_of_the_subset(tmp_path: Path) -> None:
    items, rows = releases.read_velociti_samples(tmp_path, 8)
    answers_folder = releases.write_velociti_answers(tmp_path, rows[::2], SCORES, [("0.9", "0.1")] * len(rows[::2]))
    requests = releases.build_request_table(
        "velociti", "entail", items.filter(pl.col("item_id").str.contains("/[24]$"))
    )
    importer = load_importer("velociti").FORMS["entail"]
    imported = importer.read(importer.find(answers_folder, None), items, requests)
    assert set(imported.answers) == set(requests["request_id"]) and imported.problems == []
    with pytest.raises(UserError, match="the release has 2 such samples and this run has 2"):
        importer.read(
            importer.find(answers_folder, None), items, releases.build_request_table("velociti", "entail", items)
        )


# --- export and import ---------------------------------------------------------------------------------------------

ANSWER_TEXTS = ("A", "B.", "(A)", "", "A person, “quoted”, eats\nand\u2028sleeps", '["A"]', " B")
FREE_TEXTS = ("=1+1", "5", "two\nlines", "1.0", '"quoted"', "ü – 中")


def make_scores(number: int) -> tuple[float, float]:
    return (number % 7 + 1) / 9, 1 - (number % 7 + 1) / 9


def make_items(benchmark: str, form: str, folder: Path) -> pl.DataFrame:
    if benchmark == "vinoground":
        return releases.VinogroundRelease(folder, 3).items
    if benchmark == "temporalbench":
        return select_items(releases.TemporalBenchRelease(folder, 2).items, form)
    return (
        releases.read_velociti_samples(folder, 8)
        if benchmark == "velociti"
        else releases.read_mmbench_questions(folder, 6)
    )[0]


@pytest.mark.parametrize(("benchmark", "form", "prompt", "answers", "failed_count"), [
    ("vinoground", "questions", "", ANSWER_TEXTS, 0), ("vinoground", "questions", "", ANSWER_TEXTS, 2),
    ("temporalbench", "short", "", ANSWER_TEXTS, 2), ("temporalbench", "caption", "", ANSWER_TEXTS, 0),
    ("velociti", "entail", "", make_scores, 0), ("velociti", "entail", "", ("Yes", "No"), 0),
    ("velociti", "mc", "mc", ANSWER_TEXTS[:3], 0),
    # The authors' script for contrastive models writes cosines, which may be negative.
    ("velociti", "similarity", "caption", lambda number: (number % 7 / 9 - 0.3,), 0),
    ("mmbench_video", "unpacked", "unpacked", FREE_TEXTS, 0),
])  # fmt: skip
def test_exported_answers_can_be_imported_again(
    tmp_path: Path, benchmark: str, form: str, prompt: str, answers: Any, failed_count: int
) -> None:
    """The round trip keeps texts, scores and failures."""
    items = make_items(benchmark, form, tmp_path)
    requests, imported = releases.build_request_table(benchmark, form, items, prompt), ImportedAnswers()
    for number, request in enumerate(requests["request_id"]):
        answer = Answer(scores=answers(number)) if callable(answers) else Answer(text=answers[number % len(answers)])
        imported.answers[request] = Answer(error="oom") if number < failed_count else answer
    table = build_responses(requests, imported, 8, "key")
    answered = requests.join(table.select("request_id", "text", "scores", "error"), on="request_id", how="left")
    importer = load_importer(benchmark).FORMS[form]
    assert importer.write is not None
    assert all(path.is_file() for path in importer.write(tmp_path / "out", "m-frame8", items, answered))
    reimported = importer.read(importer.find(tmp_path / "out", 8), items, requests)
    reimported_table = build_responses(requests, reimported, 8, "key")
    assert reimported.problems == [] and reimported_table.select("request_id", "text").equals(
        table.select("request_id", "text")
    )
    assert reimported_table["scores"].list.first().to_list() == pytest.approx(
        table["scores"].list.first().to_list(), abs=0
    )
    assert (reimported_table["error"] != "").to_list() == (table["error"] != "").to_list()
