"""Imported answers: parsing, matching, named problems, and a round trip through export and import."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import select_items
from reprise.core.errors import UserError
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers, select_by_frames
from reprise.models.base import Answer
from reprise.stages.import_answers import build_responses
from reprise.stages.verdicts import extract_verdicts

from tests.unit.benchmarks import releases as r

Found = tuple[ImportedAnswers, pl.DataFrame]


def import_folder(benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = "") -> Found:
    """Import a folder; return the import and the table of responses."""
    files = load_importer(benchmark).FORMS[form]
    requests = r.requests_of(benchmark, form, items, prompt)
    imported = files.read(files.find(folder, None), items, requests)
    return imported, build_responses(requests, imported, 8, "key")


def texts_by_request(table: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Map each request with an answer to its text and error."""
    rows = table.filter(pl.col("error") != "no_answer").select("request_id", "text", "error").rows()
    return {name: (text, error) for name, text, error in rows}


def problems(imported: ImportedAnswers) -> list[tuple[int | None, str, str]]:
    return [(line, idx, problem) for _, line, idx, problem in imported.problems]


# --- JSON lines: Vinoground and TemporalBench ----------------------------------------------------------------------


def vinoground(folder: Path, *lines: str | bytes) -> Found:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    items = r.Pairs(folder, 1).items
    (folder / "textscore-response.jsonl").write_bytes(b"".join(line + b"\n" for line in raw))
    return import_folder("vinoground", "questions", items, folder)


NO_TEXT = ("", "no_text", "no text")


@pytest.mark.parametrize(("response", "expected"), [
    ('"A"', ("A", "", "")), ('["A"]', ("A", "", "")), ('"A person eats"', ("A person eats", "", "")),
    ('""', ("", "", "")), ('[""]', ('[""]', "", "")), ('["A", "A"]', ("A", "", "")),  # not lacking, but unreadable
    ('["A", "B"]', ("A", "contradictory", "several texts in one answer")),
    ("null", NO_TEXT), ("5", NO_TEXT), ("true", NO_TEXT), ("[]", NO_TEXT), ("[null]", NO_TEXT), ('{"text": "A"}', NO_TEXT),
])  # fmt: skip
def test_any_response_is_an_answer_or_a_named_failure(tmp_path: Path, response: str, expected: tuple[str, ...]) -> None:
    imported, table = vinoground(tmp_path, f'{{"idx": "0_pos", "response": {response}}}')
    text, error, problem = expected
    assert texts_by_request(table)["0_pos/text#text_pos"] == (text, error)
    assert problems(imported) == ([(1, "0_pos", problem)] if problem else [])
    assert table.filter(pl.col("error") == "no_answer").height == 3, "the three that the file does not answer"


GOOD = '{"idx": "0_pos", "response": "A"}'


@pytest.mark.parametrize(("line", "problem"), [
    ('{"idx": "9_pos", "response": "A"}', ("9_pos", "unknown id")),
    ('{"idx": "0_pos"', ("", "broken line")),
    pytest.param("[" * 100_000, ("", "broken line"), id="deep"),
    (b"\xff\xfe", ("", "broken line")),
    ('{"idx": "0_neg"}', ("0_neg", "no idx or no response")),
    (GOOD, ("0_pos", "repeats an answer")),
])  # fmt: skip
def test_a_bad_line_is_named_and_the_others_count(tmp_path: Path, line: str | bytes, problem: tuple[str, str]) -> None:
    imported, table = vinoground(tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), line, "")  # a byte order mark is none of it
    assert problems(imported) == [(2, *problem)] and texts_by_request(table) == {"0_pos/text#text_pos": ("A", "")}


def test_conflicting_answers_fail_except_for_the_extractor_authors(tmp_path: Path) -> None:
    imported, table = vinoground(tmp_path, GOOD.replace('"A"', '"B"'), GOOD)
    assert problems(imported) == [(2, "0_pos", "disagrees with another answer")]
    assert texts_by_request(table)["0_pos/text#text_pos"] == ("A", "contradictory")
    requests = r.requests_of("vinoground", "questions", r.Pairs(tmp_path, 1).items)
    for extractor, failed, value in (("robust", True, ""), ("authors", False, "A")):
        row = extract_verdicts(requests, table, extractor, "first_character").row(0, named=True)
        assert (row["failed"], row["value"], row["right"]) == (failed, value, not failed)
    imported, table = vinoground(tmp_path)
    assert problems(imported) == [(0, "", "empty file")] and texts_by_request(table) == {} and table.height == 4
    for field, other in (("response", "answer"), ("idx", "id")):
        with pytest.raises(UserError, match=rf"textscore-response.jsonl: no line has '{field}'. Found: .*{other}"):
            vinoground(tmp_path, GOOD.replace(field, other))


# --- which file ----------------------------------------------------------------------------------------------------

T, T8, T32 = "textscore-response.jsonl", "textscore-frame8-response.jsonl", "textscore-frame32-response.jsonl"


@pytest.mark.parametrize(("names", "frames", "chosen"), [
    ([], 8, []), ([T], 8, [T]), ([T8], 8, [T8]), ([T8], None, [T8]), ([T8, T], 8, [T8]), ([T8, T32], 32, [T32]),
    ([T8], 32, "it is unclear"), ([T8, T], 32, "a run with 32 frames"), ([T8, T], None, "depends on the clip"),
])  # fmt: skip
def test_a_file_is_chosen_by_its_frames(tmp_path: Path, names: list[str], frames: int | None, chosen: Any) -> None:
    paths = [tmp_path / name for name in names]
    if isinstance(chosen, list):
        assert [path.name for path in select_by_frames(paths, frames, tmp_path)] == chosen
    else:
        with pytest.raises(UserError, match=f"{names[0]}.*{chosen}|{chosen}.*{names[0]}"):
            select_by_frames(paths, frames, tmp_path)


@pytest.mark.parametrize(("names", "form", "chosen"), [
    (["temporalbench_short_qa/m-frame8.jsonl", "temporalbench_long_qa/m-frame8.jsonl"], "long", ["temporalbench_long_qa/m-frame8.jsonl"]),
    (["m_short_qa.jsonl", "m_long_qa.jsonl", "m_short_caption.jsonl"], "short", ["m_short_qa.jsonl"]),
    (["m_short_qa.jsonl", "rest.jsonl"], "long", ["rest.jsonl"]),
])  # fmt: skip
def test_the_form_of_a_file_follows_from_its_name(tmp_path: Path, names: list[str], form: str, chosen: Any) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    files = load_importer("temporalbench").FORMS[form].find(tmp_path, 8)
    assert [str(path.relative_to(tmp_path)) for path in files] == chosen


# --- VELOCITI ------------------------------------------------------------------------------------------------------

SCORES = ("pos_score", "neg_score")
Edit = Callable[[list[str]], list[str]]


def velociti(folder: Path, edit: Edit = lambda lines: lines) -> Found:
    """Three tests of eight samples, two of each event, with scores that tell the rows apart; one csv edited."""
    folder.mkdir(exist_ok=True)
    items, rows = r.samples(folder, 8)
    made = r.write_csvs(folder, rows, SCORES, [(f"0.{n + 10}", "0.1") for n in range(len(rows))])
    path = made / "control.csv"
    path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
    return import_folder("velociti", "entail", items, made)


def test_rows_of_an_event_are_matched_in_their_order(tmp_path: Path) -> None:
    imported, table = velociti(tmp_path)
    scores = dict(table.filter(pl.col("role") == "pos").select("item_id", pl.col("scores").list.first()).rows())
    assert [scores[f"control/v0/Ev{event}/{n}"] for event in (1, 2) for n in (1, 2)] == [0.10, 0.11, 0.12, 0.13]
    assert scores["chrono/v0/Ev1-Ev3/1"] == 0.26, "events that are a list match too"
    assert imported.problems == [] and set(table["error"]) == {""}
    assert velociti(tmp_path / "moved", lambda lines: [lines[0], *lines[3:], *lines[1:3]])[1].equals(table)
    imported, table = velociti(tmp_path / "half", lambda lines: [lines[0], *lines[3:]])
    unanswered = sorted(set(table.filter(pl.col("error") == "no_answer")["item_id"]))
    assert unanswered == ["control/v0/Ev1/1", "control/v0/Ev1/2"] and imported.problems == []
    imported, table = velociti(tmp_path / "empty", lambda _: [])
    assert problems(imported) == [(0, "", "empty file")]
    assert table.filter(pl.col("error") == "no_answer").height == 16


@pytest.mark.parametrize(("edit", "message"), [
    (lambda lines: [lines[0], *lines[2:]], "control.csv: line 2: 1 rows for control/v0/Ev1, but the release has 2 such samples"),
    (lambda lines: ["test_name,video_id,event,pos,neg\n", *lines[1:]], "control.csv: column 'pos_score' is missing. Found: test_name, video_id, event, pos, neg. Needed: "),
    (lambda lines: ["test_name,video_id,event,gt_A,gt_B\n", *lines[1:]], "pos_score, neg_score; or test_name, video_id, event, pos_pred, neg_pred"),
])  # fmt: skip
def test_a_csv_that_cannot_be_matched_is_refused(tmp_path: Path, edit: Edit, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        velociti(tmp_path, edit)


def test_an_unknown_row_and_an_invalid_score_are_named(tmp_path: Path) -> None:
    imported, _ = velociti(tmp_path / "unknown", lambda lines: [*lines, lines[1].replace("v0", "v9")])
    assert [(line, what) for line, _, what in problems(imported)] == [(10, "unknown id")]
    imported, table = velociti(tmp_path, lambda lines: [lines[0], lines[1].replace("0.10", "high"), *lines[2:]])
    assert problems(imported) == [(2, "control/v0/Ev1 pos_score", "no number")]
    requests = r.requests_of("velociti", "entail", r.samples(tmp_path, 8)[0])
    row = extract_verdicts(requests, table, "robust", "plain").row(0, named=True)
    assert (row["unparsed"], row["failed"], row["score"]) == (True, False, None)


def test_a_file_of_the_subset_matches_the_subset(tmp_path: Path) -> None:
    items, rows = r.samples(tmp_path, 8)
    made = r.write_csvs(tmp_path, rows[::2], SCORES, [("0.9", "0.1")] * len(rows[::2]))
    requests = r.requests_of("velociti", "entail", items.filter(pl.col("item_id").str.contains("/[24]$")))
    files = load_importer("velociti").FORMS["entail"]
    imported = files.read(files.find(made, None), items, requests)
    assert set(imported.answers) == set(requests["request_id"]) and imported.problems == []
    with pytest.raises(UserError, match="the release has 2 such samples and this run has 2"):
        files.read(files.find(made, None), items, r.requests_of("velociti", "entail", items))


# --- out and in again ----------------------------------------------------------------------------------------------

STYLES = ("A", "B.", "(A)", "", "A person, “quoted”, eats\nand\u2028sleeps", '["A"]', " B")
TEXTS = ("=1+1", "5", "two\nlines", "1.0", '"quoted"', "ü – 中")


def score(number: int) -> tuple[float, float]:
    return (number % 7 + 1) / 9, 1 - (number % 7 + 1) / 9


def items_of(benchmark: str, form: str, folder: Path) -> pl.DataFrame:
    if benchmark == "vinoground":
        return r.Pairs(folder, 3).items
    if benchmark == "temporalbench":
        return select_items(r.Questions(folder, 2).items, form)
    return (r.samples(folder, 8) if benchmark == "velociti" else r.free_questions(folder, 6))[0]


@pytest.mark.parametrize(("benchmark", "form", "prompt", "answers", "lacking"), [
    ("vinoground", "questions", "", STYLES, 0), ("vinoground", "questions", "", STYLES, 2),
    ("temporalbench", "short", "", STYLES, 2), ("temporalbench", "caption", "", STYLES, 0),
    ("velociti", "entail", "", score, 0), ("velociti", "entail", "", ("Yes", "No"), 0),
    ("velociti", "mc", "mc", STYLES[:3], 0),
    # What the authors' script of contrastive models writes may be below zero.
    ("velociti", "similarity", "caption", lambda number: (number % 7 / 9 - 0.3,), 0),
    ("mmbench_video", "unpacked", "unpacked", TEXTS, 0),
])  # fmt: skip
def test_written_answers_can_be_imported_again(
    tmp_path: Path, benchmark: str, form: str, prompt: str, answers: Any, lacking: int
) -> None:
    """The same texts, the same scores, the same failures."""
    items = items_of(benchmark, form, tmp_path)
    requests, imported = r.requests_of(benchmark, form, items, prompt), ImportedAnswers()
    for number, request in enumerate(requests["request_id"]):
        answer = Answer(scores=answers(number)) if callable(answers) else Answer(text=answers[number % len(answers)])
        imported.answers[request] = Answer(error="oom") if number < lacking else answer
    table = build_responses(requests, imported, 8, "key")
    answered = requests.join(table.select("request_id", "text", "scores", "error"), on="request_id", how="left")
    files = load_importer(benchmark).FORMS[form]
    assert files.write is not None
    assert all(path.is_file() for path in files.write(tmp_path / "out", "m-frame8", items, answered))
    read = files.read(files.find(tmp_path / "out", 8), items, requests)
    again = build_responses(requests, read, 8, "key")
    assert read.problems == [] and again.select("request_id", "text").equals(table.select("request_id", "text"))
    assert again["scores"].list.first().to_list() == pytest.approx(table["scores"].list.first().to_list(), abs=0)
    assert (again["error"] != "").to_list() == (table["error"] != "").to_list()
