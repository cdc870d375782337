"""Imported answers: what is read and matched, that everything wrong with them is named, and that they go out and in."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook
from openpyxl.worksheet.formula import ArrayFormula
from reprise.benchmarks.mmbench_video.release import read_images
from reprise.benchmarks.registry import load_answers
from reprise.benchmarks.rows import chosen_items
from reprise.core.errors import UserError
from reprise.core.paths import Results
from reprise.core.schemas import ITEMS
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers, of_frames, write_problems
from reprise.external.mmbench_video import FORMS, rating_files, read_ratings
from reprise.models.base import Answer
from reprise.stages.import_answers import responses
from reprise.stages.import_ratings import replies
from reprise.stages.judge_requests import given_answers
from reprise.stages.judgements import judgements
from reprise.stages.verdicts import verdicts
from reprise.tables.measured import read_problems

from tests.unit.benchmarks import releases as r
from tests.unit.benchmarks.whole import Whole, write_rows
from tests.unit.rows import request_table

Found = tuple[ImportedAnswers, pl.DataFrame]


def found(benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = "") -> Found:
    """What is read of a folder, and the responses by request id."""
    files = load_importer(benchmark).FORMS[form]
    requests = r.requests_of(benchmark, form, items, prompt)
    imported = files.read(files.find(folder, None), items, requests)
    return imported, responses(requests, imported, 8, "key")


def said(table: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Request -> text and error, those without an answer left out."""
    rows = table.filter(pl.col("error") != "no_answer").select("request_id", "text", "error").rows()
    return {name: (text, error) for name, text, error in rows}


def problems(imported: ImportedAnswers) -> list[tuple[int | None, str, str]]:
    return [(line, idx, problem) for _, line, idx, problem in imported.problems]


# --- JSON lines: Vinoground and TemporalBench ----------------------------------------------------------------------


def vinoground(folder: Path, *lines: str | bytes) -> Found:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    items = r.Pairs(folder, 1).items
    (folder / "textscore-response.jsonl").write_bytes(b"".join(line + b"\n" for line in raw))
    return found("vinoground", "questions", items, folder)


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
    assert said(table)["0_pos/text#text_pos"] == (text, error)
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
    assert problems(imported) == [(2, *problem)] and said(table) == {"0_pos/text#text_pos": ("A", "")}


def test_answers_that_disagree_fail_and_to_the_authors_the_last_one_counts(tmp_path: Path) -> None:
    imported, table = vinoground(tmp_path, GOOD.replace('"A"', '"B"'), GOOD)
    assert problems(imported) == [(2, "0_pos", "disagrees with another answer")]
    assert said(table)["0_pos/text#text_pos"] == ("A", "contradictory")
    requests = r.requests_of("vinoground", "questions", r.Pairs(tmp_path, 1).items)
    for reader, failed, value in (("robust", True, ""), ("authors", False, "A")):
        row = verdicts(requests, table, reader, "first_character").row(0, named=True)
        assert (row["failed"], row["value"], row["right"]) == (failed, value, not failed)
    imported, table = vinoground(tmp_path)
    assert problems(imported) == [(0, "", "empty file")] and said(table) == {} and table.height == 4
    for field, other in (("response", "answer"), ("idx", "id")):
        with pytest.raises(UserError, match=rf"textscore-response.jsonl: no line has '{field}'. Found: .*{other}"):
            vinoground(tmp_path, GOOD.replace(field, other))


def test_a_question_without_ground_truth_is_named_and_never_right(tmp_path: Path) -> None:
    one = r.question(r.clip_name(0), 0, "C")
    items = chosen_items(Whole("temporalbench").annotations(r.temporalbench_release(tmp_path, [one]))[1], "short")
    (tmp_path / "m.jsonl").write_text(json.dumps({"idx": one["idx"], "response": "C"}))
    imported, table = found("temporalbench", "short", items, tmp_path)
    assert problems(imported) == [(1, one["idx"], "its question has no ground truth")]
    read = verdicts(r.requests_of("temporalbench", "short", items), table, "authors", "first_character")
    assert read["right"].to_list() == [False]


def test_problems_and_unanswered_are_written_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported, _ = vinoground(tmp_path, '{"idx": "9,pos", "response": "A"}', "{", "{")
    monkeypatch.chdir(tmp_path)
    path = Path("results/s/responses/vinoground/paper/black8/m.problems.csv")
    write_problems(imported.problems, ["0_pos/text#text_pos"], path)
    with path.open(newline="") as stream:
        *_, third, last = csv.DictReader(stream)
    file = str(tmp_path / "textscore-response.jsonl")
    assert third == {"file": file, "line": "1", "id": "9,pos", "problem": "unknown id"}
    assert (last["id"], last["problem"]) == ("0_pos/text#text_pos", "no_answer")
    counts = Counter({"broken line": 2, "unknown id": 1})
    assert read_problems([path], Results("s")) == {"vinoground/paper/black8/m": counts}


# --- which file ----------------------------------------------------------------------------------------------------

T, T8, T32 = "textscore-response.jsonl", "textscore-frame8-response.jsonl", "textscore-frame32-response.jsonl"


@pytest.mark.parametrize(("names", "frames", "chosen"), [
    ([], 8, []), ([T], 8, [T]), ([T8], 8, [T8]), ([T8], None, [T8]), ([T8, T], 8, [T8]), ([T8, T32], 32, [T32]),
    ([T8], 32, "is not clear"), ([T8, T], 32, "shows 32 frames is not clear"), ([T8, T], None, "depends on the clip is not clear"),
])  # fmt: skip
def test_a_file_is_chosen_by_its_frames(tmp_path: Path, names: list[str], frames: int | None, chosen: Any) -> None:
    paths = [tmp_path / name for name in names]
    if isinstance(chosen, list):
        assert [path.name for path in of_frames(paths, frames, tmp_path)] == chosen
    else:
        with pytest.raises(UserError, match=f"{names[0]}.*{chosen}|{chosen}.*{names[0]}"):
            of_frames(paths, frames, tmp_path)


@pytest.mark.parametrize(("benchmark", "names", "form", "chosen"), [
    ("temporalbench", ["temporalbench_short_qa/m-frame8.jsonl", "temporalbench_long_qa/m-frame8.jsonl"], "long", ["temporalbench_long_qa/m-frame8.jsonl"]),
    ("temporalbench", ["m.jsonl"], "caption", ["m.jsonl"]),
    ("temporalbench", ["m_short_qa.jsonl", "m_long_qa.jsonl", "m_short_caption.jsonl"], "short", ["m_short_qa.jsonl"]),
    ("temporalbench", ["m_short_qa.jsonl", "rest.jsonl"], "long", ["rest.jsonl"]),
    ("temporalbench", ["m_short_qa.jsonl"], "long", []),
    ("mmbench_video", ["m.xlsx", "m_gpt-4-turbo_score.xlsx", "m_gpt-4-turbo_rating.json"], "packed", ["m.xlsx"]),
])  # fmt: skip
def test_a_file_is_told_by_its_name(tmp_path: Path, benchmark: str, names: list[str], form: str, chosen: Any) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    files = load_importer(benchmark).FORMS[form].find(tmp_path, 8)
    assert [str(path.relative_to(tmp_path)) for path in files] == chosen
    if benchmark == "mmbench_video":
        assert [path.name for path in rating_files(tmp_path)] == ["m_gpt-4-turbo_score.xlsx"]
        (tmp_path / "b.tsv").touch()
        with pytest.raises(UserError, match=r"found b.tsv, m.xlsx; one table of answers is expected"):
            FORMS["unpacked"].find(tmp_path, 8)


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
    return found("velociti", "entail", items, made)


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
    (lambda lines: [lines[0], *lines[2:]], "control.csv: line 2: 1 rows for control/v0/Ev1, but there are 2 such samples in the release"),
    (lambda lines: ["test_name,video_id,event,pos,neg\n", *lines[1:]], "control.csv: column 'pos_score' is missing. Found: test_name, video_id, event, pos, neg. Needed: "),
    (lambda lines: ["test_name,test_name,event,pos_score,neg_score\n", *lines[1:]], "control.csv: duplicate column 'test_name'. Found: "),
    (lambda lines: ["test_name,video_id,event,gt_A,gt_B\n", *lines[1:]], "pos_score, neg_score; or test_name, video_id, event, pos_pred, neg_pred"),
])  # fmt: skip
def test_a_csv_that_cannot_be_matched_is_refused(tmp_path: Path, edit: Edit, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        velociti(tmp_path, edit)


def test_a_row_of_no_sample_and_a_score_that_is_no_number_are_named(tmp_path: Path) -> None:
    for number, (old, new) in enumerate((("v0", "v9"), ("control", "contral"), (",Ev1,", ",[Ev1,"))):
        imported, _ = velociti(
            tmp_path / f"{number}", lambda lines, old=old, new=new: [*lines, lines[1].replace(old, new)]
        )  # type: ignore[misc]
        assert [(line, what) for line, _, what in problems(imported)] == [(10, "unknown id")]
    imported, table = velociti(tmp_path, lambda lines: [lines[0], lines[1].replace("0.10", "high"), *lines[2:]])
    assert problems(imported) == [(2, "control/v0/Ev1 pos_score", "no number")]
    requests = r.requests_of("velociti", "entail", r.samples(tmp_path, 8)[0])
    row = verdicts(requests, table, "robust", "plain").row(0, named=True)
    assert (row["unparsed"], row["failed"], row["score"]) == (True, False, None)


def test_a_file_of_the_subset_matches_the_subset(tmp_path: Path) -> None:
    items, rows = r.samples(tmp_path, 8)
    made = r.write_csvs(tmp_path, rows[::2], SCORES, [("0.9", "0.1")] * len(rows[::2]))
    requests = r.requests_of("velociti", "entail", items.filter(pl.col("item_id").str.contains("/[24]$")))
    files = load_importer("velociti").FORMS["entail"]
    imported = files.read(files.find(made, None), items, requests)
    assert set(imported.answers) == set(requests["request_id"]) and imported.problems == []
    with pytest.raises(UserError, match="there are 2 such samples in the release and 2 in this run"):
        files.read(files.find(made, None), items, r.requests_of("velociti", "entail", items))


# --- MMBench-Video -------------------------------------------------------------------------------------------------


def write_table_of(path: Path, *rows: tuple[object, ...]) -> Path:
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


def predicted(folder: Path, count: int, name: str, *rows: tuple[object, ...], form: str = "unpacked") -> Found:
    """A table of predictions of so many questions, two a video."""
    items, _ = r.free_questions(folder, count)
    write_table_of(folder / "m" / name, *rows)
    return found("mmbench_video", form, items, folder / "m", form)


@pytest.mark.parametrize("kind", ["tsv", "xlsx", "json"])
def test_predictions_of_any_file_type_read_the_same(tmp_path: Path, kind: str) -> None:
    name, rows = f"answers.{kind}", [("index", "prediction"), (0, 'two\nlines, "quoted"'), (1, 5), (2, ""), (9, "x")]
    imported, table = predicted(tmp_path, 4, name, *rows)
    assert said(table) == {"0#unpacked": ('two\nlines, "quoted"', ""), "1#unpacked": ("5", "")}
    assert [(idx, what) for _, idx, what in problems(imported)] == [("9", "unknown id")]
    assert table["error"].to_list() == ["", "", "no_answer", "no_answer"]
    with pytest.raises(UserError, match=rf"{name}: column 'prediction' is missing. Found: index, answer. Needed: "):
        predicted(tmp_path, 2, name, ("index", "answer"), (0, "a"))
    if kind == "json":  # an object of index and prediction
        (tmp_path / "m" / name).write_text('{"0": "a hat", "1": null}')
        items, _ = r.free_questions(tmp_path, 2)
        assert said(found("mmbench_video", "unpacked", items, tmp_path / "m", "unpacked")[1]) == {
            "0#unpacked": ("a hat", "")
        }
    else:
        imported, table = predicted(tmp_path, 2, name)
        assert problems(imported) == [(0, "", "empty file")] and set(table["error"]) == {"no_answer"}


def test_answers_that_look_like_formulas_fail_or_disagree(tmp_path: Path) -> None:
    """Never computed; other tools write a text that begins with = as a formula without a value."""
    formulas = [(0, '=cmd|"/C calc"!A0'), (1, "=2+1"), (2, ArrayFormula("B4", "=A2:A3"))]
    _, table = predicted(tmp_path, 3, "m.xlsx", ("index", "prediction"), *formulas)
    assert table["text"].to_list() == ['=cmd|"/C calc"!A0', "=2+1", "=A2:A3"]
    failed = [(0, "Failed to obtain answer via API."), (1, "a"), (1, "b"), ("1.0", "b")]
    imported, table = predicted(tmp_path / "m", 2, "m.tsv", ("index", "prediction"), *failed)
    assert table["error"].to_list() == ["failed_elsewhere", "contradictory"]
    assert Counter(what for *_, what in problems(imported)) == {"disagrees with another answer": 2}


@pytest.mark.parametrize(("name", "content", "message"), [
    ("m.xlsx", b"no zip", "m.xlsx: not readable as xlsx: "),
    ("m.json", b"{", "m.json: not readable as json: "),
    ("m.json", b'{"coarse_all": {"CP": "1.0"}}', "expected a list of objects, or an object of index and prediction"),
    ("m.tsv", b'index\tprediction\n1\t"a\n2\tb\n', "row 1: not readable as csv: unexpected end of data. A quote that begins there"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    items, _ = r.free_questions(tmp_path, 2)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(message)):
        FORMS["unpacked"].read([tmp_path / name], items, r.requests_of("mmbench_video", "unpacked", items, "unpacked"))


def test_predictions_of_a_video_are_packed_into_one_reply(tmp_path: Path) -> None:
    rows = [("index", "prediction"), (0, "a"), (1, "b"), (2, "c"), (3, "")]
    _, table = predicted(tmp_path, 6, "m.tsv", *rows, form="packed")
    assert table.select("text", "error").rows() == [('{"0": "a", "1": "b"}', ""), ('{"2": "c"}', ""), ("", "no_answer")]
    items, _ = r.free_questions(tmp_path, 6)
    requests = r.requests_of("mmbench_video", "packed", items, "packed")
    answers = given_answers(load_answers("mmbench_video")["packed"], items, requests, table, "key")
    for reader in ("authors", "robust"):
        mine = answers.filter(reader=reader)
        assert mine["text"].to_list() == ["a", "b", "c", "", "", ""]
        assert mine["error"].to_list() == ["", "", "", "unreadable", "no_answer", "no_answer"]


def rated(folder: Path, count: int, reader: str, *cells: tuple[object, ...]) -> pl.DataFrame:
    """Verdicts of a folder that holds one table of predictions, ratings or both."""
    _, table = predicted(folder, count, "answers.xlsx", *cells)
    items, _ = r.free_questions(folder, count)
    requests = r.requests_of("mmbench_video", "unpacked", items, "unpacked")
    answers = given_answers(load_answers("mmbench_video")["unpacked"], items, requests, table, "key")
    return judgements(answers, replies(answers, read_ratings(rating_files(folder / "m"), items), "judge"), reader)


def test_ratings_are_the_replies_of_a_judge(tmp_path: Path) -> None:
    cells = [
        ("index", "prediction", "score"),
        (0, "a", 3),
        (1, "b", 2.0),
        (2, "c", -1),
        (3, "d", "Score: 1"),
        (4, "", -1),
    ]
    robust, authors = (rated(tmp_path, 6, reader, *cells) for reader in ("robust", "authors"))
    assert robust["score"].to_list() == [3, 2, None, 1, None, None]
    assert robust["failed"].to_list() == [False] * 4 + [True, True]
    assert authors["score"].to_list() == [3, 2, None, None, None, None]
    assert authors["failed"].to_list() == [False] * 6, "a blank prediction was never rated, so it leaves VALID"
    alone = ("index", "rating"), (0, 3), (1, 0)  # a rating counts without the text that was rated
    assert rated(tmp_path, 3, "robust", *alone)["score"].to_list() == [3, 0, None]
    _, table = predicted(tmp_path, 3, "answers.xlsx", *alone)
    assert table["error"].to_list() == ["rated_only", "rated_only", "no_answer"], "no other judge is asked about these"
    one = rated(tmp_path, 1, "robust", ("index", "prediction", "rating"), (0, "a", 3), (0, "a", 1))
    assert (one["score"].to_list(), one["unparsed"].to_list()) == ([None], [True]), "ratings that disagree are none"


def images(folder: Path) -> pl.DataFrame:
    """Requests about images: three rotations of question 7, two of question 8."""
    header = "index\tquestion\timage\tA\tB\tC\tanswer\tl2-category\n"
    rows = "7\tWhy?\t{0}\tp\tq\tr\tB\tlogic_reasoning\n8\tWhy?\t{0}\tp\tq\t\tA\tlogic_reasoning\n".format("x" * 99)
    (folder / "MMBench_DEV_EN.tsv").write_text(header + rows)
    _, items = read_images(folder / "MMBench_DEV_EN.tsv", "mmbench").tables()
    return request_table(Whole("mmbench_video").requests(items, "circular", "image"), "choose", 9)


def test_a_rotation_is_known_by_its_right_letter_and_comes_back(tmp_path: Path) -> None:
    """The released file turns the options the other way: B, C, A where we have B, A, C."""
    requests, none = images(tmp_path), pl.DataFrame(schema=ITEMS)
    failed = "Failed to obtain answer via API."
    rows = [(7, "B", "B."), (1000007, "C", "C"), (2000007, "A", failed), (8, "A", "A"), (1000008, "B", ""), (9, "A", "A"), (7, "D", "D")]  # fmt: skip
    path = write_table_of(tmp_path / "answers.tsv", ("index", "answer", "prediction"), *rows)
    imported = FORMS["circular"].read([path], none, requests)
    assert {request: answer.text or answer.error for request, answer in imported.answers.items()} == {
        "mmbench/7#rotation0": "B.", "mmbench/7#rotation2": "C", "mmbench/7#rotation1": "failed_elsewhere",
        "mmbench/8#rotation0": "A", "mmbench/8#rotation1": "no_answer",
    }  # fmt: skip
    assert [(one.id, one.problem) for one in imported.problems] == [("9", "unknown id"), ("7", "unknown id")]
    answered = requests.with_columns(text=pl.col("expected"), error=pl.Series(["", "", "timeout", "", ""]))
    write = FORMS["circular"].write
    assert write is not None
    (path,) = write(tmp_path, "model", none, answered)
    again = FORMS["circular"].read([path], none, requests)
    assert path.name == "model_mmbench.xlsx" and not again.problems
    assert [again.answers[request].text for request in requests["request_id"]] == ["B", "A", "", "A", "B"]
    with pytest.raises(UserError, match="column 'answer' is missing"):
        path = write_table_of(tmp_path / "answers.tsv", ("index", "prediction"), (7, "B"))
        FORMS["circular"].read([path], none, requests)


# --- out and in again ----------------------------------------------------------------------------------------------

STYLES = ("A", "B.", "(A)", "", "A person, “quoted”, eats\nand\u2028sleeps", '["A"]', " B")
TEXTS = ("=1+1", "5", "two\nlines", "1.0", '"quoted"', "ü – 中")


def score(number: int) -> tuple[float, float]:
    return (number % 7 + 1) / 9, 1 - (number % 7 + 1) / 9


def cosine(number: int) -> tuple[float]:
    return (number % 7 / 9 - 0.3,)  # what the authors' script of contrastive models writes may be below zero


def items_of(benchmark: str, form: str, folder: Path) -> pl.DataFrame:
    if benchmark == "vinoground":
        return r.Pairs(folder, 3).items
    if benchmark == "temporalbench":
        return chosen_items(r.Questions(folder, 2).items, form)
    return (r.samples(folder, 8) if benchmark == "velociti" else r.free_questions(folder, 6))[0]


@pytest.mark.parametrize(("benchmark", "form", "prompt", "answers", "lacking"), [
    ("vinoground", "questions", "", STYLES, 0), ("vinoground", "questions", "", STYLES, 2),
    ("temporalbench", "short", "", STYLES, 2), ("temporalbench", "caption", "", STYLES, 0),
    ("velociti", "entail", "", score, 0), ("velociti", "entail", "", ("Yes", "No"), 0),
    ("velociti", "mc", "mc", STYLES[:3], 0), ("velociti", "similarity", "caption", cosine, 0),
    ("mmbench_video", "unpacked", "unpacked", TEXTS, 0),
])  # fmt: skip
def test_what_is_written_is_read_again(
    tmp_path: Path, benchmark: str, form: str, prompt: str, answers: Any, lacking: int
) -> None:
    """The same texts, the same scores, the same failures."""
    items = items_of(benchmark, form, tmp_path)
    requests, imported = r.requests_of(benchmark, form, items, prompt), ImportedAnswers()
    for number, request in enumerate(requests["request_id"]):
        answer = Answer(scores=answers(number)) if callable(answers) else Answer(text=answers[number % len(answers)])
        imported.answers[request] = Answer(error="oom") if number < lacking else answer
    table = responses(requests, imported, 8, "key")
    answered = requests.join(table.select("request_id", "text", "scores", "error"), on="request_id", how="left")
    files = load_importer(benchmark).FORMS[form]
    assert files.write is not None
    assert all(path.is_file() for path in files.write(tmp_path / "out", "m-frame8", items, answered))
    read = files.read(files.find(tmp_path / "out", 8), items, requests)
    again = responses(requests, read, 8, "key")
    assert read.problems == [] and again.select("request_id", "text").equals(table.select("request_id", "text"))
    assert again["scores"].list.first().to_list() == pytest.approx(table["scores"].list.first().to_list(), abs=0)
    assert (again["error"] != "").to_list() == (table["error"] != "").to_list()
