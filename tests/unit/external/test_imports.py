"""Imported answers: which files are read, what is matched, and that everything wrong with them is counted and named."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook
from openpyxl.worksheet.formula import ArrayFormula
from reprise.benchmarks.registry import load_answers
from reprise.benchmarks.rows import chosen_items
from reprise.commands.export import export_run
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Results, Run, Scored
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, write_table
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers, of_frames, read_records, write_problems
from reprise.external.mmbench_video import rating_files, read_ratings
from reprise.models.base import Answer
from reprise.plan.keys import write_keys
from reprise.plan.runs import Plan
from reprise.stages import metrics
from reprise.stages.import_answers import of_answered_tasks, responses
from reprise.stages.import_ratings import replies
from reprise.stages.judge_requests import given_answers
from reprise.stages.judgements import judgements
from reprise.stages.verdicts import verdicts
from reprise.tables.measured import read_problems

from tests.unit.benchmarks.test_authors_scorers import (
    Pairs,
    Questions,
    free_questions,
    requests_of,
    samples,
    write_csvs,
)
from tests.unit.benchmarks.whole import Whole

ROOT = Path(__file__).parents[3]


def found(
    benchmark: str, form: str, items: pl.DataFrame, folder: Path, prompt: str = ""
) -> tuple[ImportedAnswers, pl.DataFrame]:
    """What is read of a folder, and the responses by request id."""
    files = load_importer(benchmark).FORMS[form]
    requests = requests_of(benchmark, form, items, prompt)
    imported = files.read(files.find(folder, None), items, requests)
    return imported, responses(requests, imported, 8, "key")


def said(table: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Request -> text and error, those without an answer left out."""
    rows = table.filter(pl.col("error") != "no_answer").select("request_id", "text", "error").rows()
    return {name: (text, error) for name, text, error in rows}


def problems(imported: ImportedAnswers) -> list[tuple[str, int | None, str, str]]:
    return [(Path(file).name, line, idx, problem) for file, line, idx, problem in imported.problems]


# --- JSON lines: Vinoground and TemporalBench ----------------------------------------------------------------------


def vinoground(folder: Path, *lines: str, pairs: int = 1) -> tuple[ImportedAnswers, pl.DataFrame]:
    items = Pairs(folder, pairs).items
    (folder / "textscore-response.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode())
    return found("vinoground", "questions", items, folder)


@pytest.mark.parametrize(
    ("response", "text", "error", "problem"),
    [
        ('"A"', "A", "", None),
        ('["A"]', "A", "", None),
        ('"A person eats"', "A person eats", "", None),
        ('""', "", "", None),  # an answer that cannot be read, not a lacking one
        ('[""]', '[""]', "", None),
        ('["A", "A"]', "A", "", None),
        ('["A", "B"]', "A", "contradictory", "several texts in one answer"),
        ("null", "", "no_text", "no text"),
        ("5", "", "no_text", "no text"),
        ("true", "", "no_text", "no text"),
        ("[]", "", "no_text", "no text"),
        ("[null]", "", "no_text", "no text"),
        ('{"text": "A"}', "", "no_text", "no text"),
    ],
)
def test_a_response_of_any_kind_is_an_answer_or_a_named_failure(
    tmp_path: Path, response: str, text: str, error: str, problem: str | None
) -> None:
    imported, table = vinoground(tmp_path, f'{{"idx": "0_pos", "response": {response}}}')
    assert said(table)["0_pos/text#text_pos"] == (text, error)
    expected = [("textscore-response.jsonl", 1, "0_pos", problem)] if problem else []
    assert problems(imported) == expected
    assert table.filter(pl.col("error") == "no_answer").height == 3, "the three that the file does not answer"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"idx": "9_pos", "response": "A"}', (2, "9_pos", "unknown id")),
        ('{"idx": "0_pos"', (2, "", "broken line")),
        ("[1, 2]", (2, "", "broken line")),
        ("[" * 100_000, (2, "", "broken line")),
        ('{"idx": "0_neg"}', (2, "0_neg", "no idx or no response")),
        ('{"response": "A"}', (2, "", "no idx or no response")),
        ('{"idx": "0_pos", "response": "A"}', (2, "0_pos", "repeats an answer")),
    ],
)
def test_a_bad_line_is_named_and_the_others_count(tmp_path: Path, line: str, problem: tuple[int, str, str]) -> None:
    imported, table = vinoground(tmp_path, '{"idx": "0_pos", "response": "A"}', line, "")
    assert problems(imported) == [("textscore-response.jsonl", *problem)]
    assert said(table) == {"0_pos/text#text_pos": ("A", "")}


def test_bytes_that_are_no_text_are_a_broken_line(tmp_path: Path) -> None:
    items = Pairs(tmp_path, 1).items
    (tmp_path / "textscore-response.jsonl").write_bytes(b'\xef\xbb\xbf{"idx": "0_pos", "response": "A"}\n\xff\xfe\n')
    imported, table = found("vinoground", "questions", items, tmp_path)
    assert problems(imported) == [("textscore-response.jsonl", 2, "", "broken line")]
    assert said(table) == {"0_pos/text#text_pos": ("A", "")}, "a byte order mark is no part of the first line"


def test_answers_that_disagree_fail_and_to_the_authors_the_last_one_counts(tmp_path: Path) -> None:
    lines = [f'{{"idx": "0_pos", "response": "{letter}"}}' for letter in "BA"]
    imported, table = vinoground(tmp_path, *lines)
    assert problems(imported) == [("textscore-response.jsonl", 2, "0_pos", "disagrees with another answer")]
    assert said(table)["0_pos/text#text_pos"] == ("A", "contradictory")
    requests = requests_of("vinoground", "questions", Pairs(tmp_path, 1).items)
    for reader, failed, value in (("robust", True, ""), ("authors", False, "A")):
        row = verdicts(requests, table, reader, "first_character").row(0, named=True)
        assert (row["failed"], row["value"], row["right"]) == (failed, value, not failed)


def test_half_of_a_pair_fails_the_other_half_counts(tmp_path: Path) -> None:
    _, table = vinoground(tmp_path, '{"idx": "0_pos", "response": "A"}')
    robust = verdicts(requests_of("vinoground", "questions", Pairs(tmp_path, 1).items), table, "robust", "plain")
    assert robust.select("role", "right", "failed").rows() == [
        ("text_pos", True, False), ("video_pos", False, True), ("text_neg", False, True), ("video_neg", False, True),
    ]  # fmt: skip


def test_a_file_without_a_line_answers_nothing(tmp_path: Path) -> None:
    imported, table = vinoground(tmp_path)
    assert problems(imported) == [("textscore-response.jsonl", 0, "", "empty file")]
    assert said(table) == {} and table.height == 4


@pytest.mark.parametrize(("field", "other"), [("response", "answer"), ("idx", "id")])
def test_a_file_without_a_column_is_refused(tmp_path: Path, field: str, other: str) -> None:
    line = json.dumps({"idx": "0_pos", "response": "A"}).replace(field, other)
    with pytest.raises(UserError) as error:
        vinoground(tmp_path, line)
    assert f"textscore-response.jsonl: no line has '{field}'. Found: " in str(error.value)
    assert other in str(error.value)


def test_a_question_without_ground_truth_is_named_and_never_right(tmp_path: Path) -> None:
    questions = Questions(tmp_path, 1)
    path = tmp_path / "temporalbench_short_qa.json"
    entries = json.loads(path.read_text())
    entries[0]["GT"] = "C"
    path.write_text(json.dumps(entries))
    files = sorted(tmp_path.glob("*.json"))

    items = chosen_items(Whole("temporalbench").annotations(files, "release", {})[1], "short")
    idx = questions.entries["short"][0]["idx"]
    (tmp_path / "m.jsonl").write_text(json.dumps({"idx": idx, "response": "C"}) + "\n")
    imported, table = found("temporalbench", "short", items, tmp_path)
    assert problems(imported) == [("m.jsonl", 1, idx, "its question has no ground truth")]
    read = verdicts(requests_of("temporalbench", "short", items), table, "authors", "first_character")
    assert read["right"].to_list() == [False] * 5


def test_problems_and_unanswered_questions_are_written_by_name(tmp_path: Path) -> None:
    imported, table = vinoground(tmp_path, '{"idx": "9,pos", "response": "A"}')
    path = tmp_path / "results/s/responses/vinoground/paper/black8/m.problems.csv"
    write_problems(imported.problems, table["request_id"].to_list(), path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0] == {
        "file": str(tmp_path / "textscore-response.jsonl"), "line": "1", "id": "9,pos", "problem": "unknown id",
    }  # fmt: skip
    assert [row["id"] for row in rows[1:]] == table["request_id"].to_list()
    assert {row["problem"] for row in rows[1:]} == {"no_answer"}


# --- which file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "frames", "chosen"),
    [
        ([], 8, []),
        (["textscore-response.jsonl"], 8, ["textscore-response.jsonl"]),
        (["textscore-frame8-response.jsonl"], 8, ["textscore-frame8-response.jsonl"]),
        (["textscore-frame8-response.jsonl"], None, ["textscore-frame8-response.jsonl"]),
        (["textscore-frame8-response.jsonl", "textscore-response.jsonl"], 8, ["textscore-frame8-response.jsonl"]),
        (["textscore-frame8-response.jsonl", "textscore-frame32-response.jsonl"], 32, ["textscore-frame32-response.jsonl"]),
        (["textscore-frame8-response.jsonl"], 32, "is not clear"),
        (["textscore-frame8-response.jsonl", "textscore-response.jsonl"], 32, "shows 32 frames is not clear"),
        (["textscore-frame8-response.jsonl", "textscore-response.jsonl"], None, "depends on the clip is not clear"),
    ],
)  # fmt: skip
def test_a_file_is_chosen_by_its_number_of_frames(
    tmp_path: Path, names: list[str], frames: int | None, chosen: list[str] | str
) -> None:
    paths = [tmp_path / name for name in names]
    if isinstance(chosen, str):
        with pytest.raises(UserError, match=chosen) as error:
            of_frames(paths, frames, tmp_path)
        assert all(name in str(error.value) for name in names)
    else:
        assert [path.name for path in of_frames(paths, frames, tmp_path)] == chosen


@pytest.mark.parametrize(
    ("names", "form", "chosen"),
    [
        (["temporalbench_short_qa/m-frame8.jsonl", "temporalbench_long_qa/m-frame8.jsonl"], "long", "temporalbench_long_qa/m-frame8.jsonl"),
        (["m.jsonl"], "caption", "m.jsonl"),
        (["m_short_qa.jsonl", "m_long_qa.jsonl", "m_short_caption.jsonl"], "short", "m_short_qa.jsonl"),
        (["m_short_qa.jsonl", "rest.jsonl"], "long", "rest.jsonl"),
        (["m_short_qa.jsonl"], "long", None),
    ],
)  # fmt: skip
def test_a_temporalbench_file_is_told_by_its_folder_or_name(
    tmp_path: Path, names: list[str], form: str, chosen: str | None
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    files = load_importer("temporalbench").FORMS[form].find(tmp_path, 8)
    assert [str(path.relative_to(tmp_path)) for path in files] == ([chosen] if chosen else [])


def test_two_tables_of_predictions_are_refused(tmp_path: Path) -> None:
    for name in ("a.tsv", "b.xlsx"):
        (tmp_path / name).touch()
    with pytest.raises(UserError, match=r"found a.tsv, b.xlsx; one table of answers is expected"):
        load_importer("mmbench_video").FORMS["unpacked"].find(tmp_path, 8)


def test_the_harness_own_files_lie_side_by_side(tmp_path: Path) -> None:
    for name in ("m.xlsx", "m_gpt-4-turbo_score.xlsx", "m_gpt-4-turbo_rating.json"):
        (tmp_path / name).touch()
    assert [path.name for path in load_importer("mmbench_video").FORMS["packed"].find(tmp_path, 8)] == ["m.xlsx"]
    assert [path.name for path in rating_files(tmp_path)] == ["m_gpt-4-turbo_score.xlsx"]


# --- VELOCITI ------------------------------------------------------------------------------------------------------

SCORES = ("pos_score", "neg_score")


def velociti(
    folder: Path, edit: Callable[[list[str]], list[str]] = lambda lines: lines
) -> tuple[ImportedAnswers, pl.DataFrame]:
    """Three tests of eight samples, two of each event, with scores that tell the rows apart; one csv edited."""
    items, rows = samples(folder, 8)
    made = write_csvs(folder, rows, SCORES, [(f"0.{n + 10}", "0.1") for n in range(len(rows))])
    path = made / "control.csv"
    path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
    return found("velociti", "entail", items, made)


def test_rows_of_an_event_are_matched_in_their_order(tmp_path: Path) -> None:
    imported, table = velociti(tmp_path)
    scores = dict(table.filter(pl.col("role") == "pos").select("item_id", pl.col("scores").list.first()).rows())
    assert [scores[f"control/v0/Ev{event}/{n}"] for event in (1, 2) for n in (1, 2)] == [0.10, 0.11, 0.12, 0.13]
    assert scores["chrono/v0/Ev1-Ev3/1"] == 0.26, "events that are a list match too"
    assert imported.problems == [] and set(table["error"]) == {""}


def test_a_moved_event_matches_all_the_same(tmp_path: Path) -> None:
    _, before = velociti(tmp_path)
    (tmp_path / "moved").mkdir()
    _, after = velociti(tmp_path / "moved", lambda lines: [lines[0], *lines[3:], *lines[1:3]])
    assert before.equals(after)


def test_unequal_counts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        velociti(tmp_path, lambda lines: [lines[0], *lines[2:]])
    message = str(error.value)
    assert "control.csv: line 2: 1 rows for control/v0/Ev1, but there are 2 such samples in the release" in message
    assert "the counts must be equal" in message


def test_an_event_without_any_row_is_unanswered(tmp_path: Path) -> None:
    imported, table = velociti(tmp_path, lambda lines: [lines[0], *lines[3:]])
    assert table.filter(pl.col("error") == "no_answer")["item_id"].unique().sort().to_list() == [
        "control/v0/Ev1/1",
        "control/v0/Ev1/2",
    ]
    assert imported.problems == []


def test_a_test_without_a_file_was_not_asked(tmp_path: Path) -> None:
    """One test imported: the others, and the average over all, have no number, least of all 0.0."""
    items, rows = samples(tmp_path, 8)
    made = write_csvs(tmp_path, rows, SCORES, [("0.9", "0.1")] * len(rows))
    for path in made.glob("*.csv"):
        if path.stem != "chrono":
            path.unlink()
    form = load_importer("velociti").FORMS["entail"]
    requests = requests_of("velociti", "entail", items)
    imported = form.read(form.find(made, None), items, requests)
    asked = of_answered_tasks(items, requests, imported, made)
    others = set(items["task"]) - {"chrono"}
    assert {(one.id, one.problem) for one in imported.problems} == {
        (test, "test without a file, not asked") for test in others
    }
    responded = responses(asked, imported, 8, "key")
    assert responded["error"].unique().to_list() == [""]
    read = verdicts(requests, responded, "robust", "plain")
    mine = metrics.of_answered_tasks(items, read)
    found = Whole("velociti").measured("entail", mine, read, 0.95)
    strict = {one.group: (one.value, one.asked, one.missing) for one in found if one.metric == "strict"}
    assert strict["chrono"] == (100.0, 8, 0)
    assert {strict[test] for test in others} == {(None, 0, 0)}
    assert strict["average"] == (None, 8, 0)


def test_a_file_of_the_subset_matches_the_subset(tmp_path: Path) -> None:
    items, rows = samples(tmp_path, 8)
    is_second = pl.col("item_id").str.contains("/[24]$")
    made = write_csvs(tmp_path, rows[::2], SCORES, [("0.9", "0.1")] * len(rows[::2]))
    requests = requests_of("velociti", "entail", items.filter(is_second))
    files = load_importer("velociti").FORMS["entail"]
    imported = files.read(files.find(made, None), items, requests)
    assert set(imported.answers) == set(requests["request_id"]) and imported.problems == []
    with pytest.raises(UserError, match="there are 2 such samples in the release and 2 in this run"):
        files.read(files.find(made, None), items, requests_of("velociti", "entail", items))


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda line: line.replace("v0", "v9"), "unknown id"),
        (lambda line: line.replace("control", "contral"), "unknown id"),
        (lambda line: line.replace(",Ev1,", ",[Ev1,"), "unknown id"),
    ],
)
def test_a_row_of_no_sample_is_named(tmp_path: Path, edit: Callable[[str], str], problem: str) -> None:
    imported, _ = velociti(tmp_path, lambda lines: [*lines, edit(lines[1])])
    assert [(line, what) for _, line, _, what in problems(imported)] == [(10, problem)]


def test_a_score_that_is_no_number_is_named_and_no_answer(tmp_path: Path) -> None:
    imported, table = velociti(tmp_path, lambda lines: [lines[0], lines[1].replace("0.10", "high"), *lines[2:]])
    assert [(line, idx, what) for _, line, idx, what in problems(imported)] == [
        (2, "control/v0/Ev1 pos_score", "no number")
    ]
    items, _ = samples(tmp_path, 8)
    row = verdicts(requests_of("velociti", "entail", items), table, "robust", "plain").row(0, named=True)
    assert (row["unparsed"], row["failed"], row["score"]) == (True, False, None)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("test_name,video_id,event,pos,neg\n", "control.csv: column 'pos_score' is missing. Found: test_name, video_id, event, pos, neg. Needed: "),
        ("test,video_id,event,pos_score,neg_score\n", "column 'test_name' is missing."),
        ("test_name,test_name,event,pos_score,neg_score,video_id\n", "control.csv: duplicate column 'test_name'. Found: "),
        ("test_name,video_id,event,gt_A,gt_B\n", "pos_score, neg_score; or test_name, video_id, event, pos_pred, neg_pred"),
    ],
)  # fmt: skip
def test_a_csv_without_its_columns_is_refused(tmp_path: Path, header: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        velociti(tmp_path, lambda lines: [header, *lines[1:]])
    assert message in str(error.value)


def test_an_empty_csv_answers_nothing(tmp_path: Path) -> None:
    imported, table = velociti(tmp_path, lambda _: [])
    assert problems(imported) == [("control.csv", 0, "", "empty file")]
    assert table.filter(pl.col("error") == "no_answer").height == 16


# --- MMBench-Video -------------------------------------------------------------------------------------------------


def sheet(path: Path, *rows: tuple[object, ...]) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def write_table_of(folder: Path, kind: str, rows: list[tuple[object, ...]]) -> Path:
    path = folder / f"answers.{kind}"
    if kind == "xlsx":
        sheet(path, *rows)
    elif kind == "tsv":
        with path.open("w", newline="") as stream:
            csv.writer(stream, delimiter="\t").writerows(rows)
    else:
        path.write_text(json.dumps([dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]]))
    return path


@pytest.mark.parametrize("kind", ["tsv", "xlsx", "json"])
def test_predictions_of_any_file_type_read_the_same(tmp_path: Path, kind: str) -> None:
    items, _ = free_questions(tmp_path, 4)
    folder = tmp_path / "m"
    folder.mkdir()
    write_table_of(folder, kind, [("index", "prediction"), (0, 'two\nlines, "quoted"'), (1, 5), (2, ""), (9, "x")])
    imported, table = found("mmbench_video", "unpacked", items, folder, "unpacked")
    assert said(table) == {"0#unpacked": ('two\nlines, "quoted"', ""), "1#unpacked": ("5", "")}
    assert [(idx, what) for _, _, idx, what in problems(imported)] == [("9", "unknown id")]
    assert table["error"].to_list() == ["", "", "no_answer", "no_answer"]


def test_an_answer_that_looks_like_a_formula_is_its_text(tmp_path: Path) -> None:
    """Never computed; other tools write a text that begins with = as a formula without a value."""
    items, _ = free_questions(tmp_path, 3)
    folder = tmp_path / "m"
    folder.mkdir()
    sheet(
        folder / "m.xlsx",
        ("index", "prediction"),
        (0, '=cmd|"/C calc"!A0'),
        (1, "=2+1"),
        (2, ArrayFormula("B4", "=A2:A3")),
    )
    _, table = found("mmbench_video", "unpacked", items, folder, "unpacked")
    assert table["text"].to_list() == ['=cmd|"/C calc"!A0', "=2+1", "=A2:A3"]


def test_an_object_of_index_and_answer_reads_as_well(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 2)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/m.json").write_text('{"0": "a hat", "1": null}')
    _, table = found("mmbench_video", "unpacked", items, tmp_path / "m", "unpacked")
    assert said(table) == {"0#unpacked": ("a hat", "")}


def test_a_failure_message_is_a_failure_and_answers_that_disagree_are_one(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 2)
    folder = tmp_path / "m"
    folder.mkdir()
    rows = [("index", "prediction"), (0, "Failed to obtain answer via API."), (1, "a"), (1, "b"), ("1.0", "b")]
    write_table_of(folder, "tsv", rows)
    imported, table = found("mmbench_video", "unpacked", items, folder, "unpacked")
    assert table["error"].to_list() == ["failed_elsewhere", "contradictory"]
    assert Counter(what for *_, what in problems(imported)) == {"disagrees with another answer": 2}


def test_predictions_of_a_video_are_packed_into_one_reply(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 6)  # two a video
    folder = tmp_path / "m"
    folder.mkdir()
    write_table_of(folder, "tsv", [("index", "prediction"), (0, "a"), (1, "b"), (2, "c"), (3, "")])
    _, table = found("mmbench_video", "packed", items, folder, "packed")
    assert table.select("text", "error").rows() == [('{"0": "a", "1": "b"}', ""), ('{"2": "c"}', ""), ("", "no_answer")]
    for reader in ("authors", "robust"):
        requests = requests_of("mmbench_video", "packed", items, "packed")
        answers = given_answers(load_answers("mmbench_video")["packed"], items, requests, table, "key")
        mine = answers.filter(pl.col("reader") == reader)
        assert mine["text"].to_list() == ["a", "b", "c", "", "", ""]
        assert mine["error"].to_list() == ["", "", "", "unreadable", "no_answer", "no_answer"]


@pytest.mark.parametrize("kind", ["tsv", "xlsx", "json"])
def test_a_table_without_predictions_or_ratings_is_refused(tmp_path: Path, kind: str) -> None:
    items, _ = free_questions(tmp_path, 2)
    (tmp_path / "m").mkdir()
    write_table_of(tmp_path / "m", kind, [("index", "answer"), (0, "a")])
    with pytest.raises(UserError) as error:
        found("mmbench_video", "unpacked", items, tmp_path / "m", "unpacked")
    assert f"answers.{kind}: column 'prediction' is missing. Found: index, answer. Needed: " in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.xlsx", b"no zip", "m.xlsx: not readable as xlsx: "),
        ("m.json", b"{", "m.json: not readable as json: "),
        (
            "m.json",
            b'{"coarse_all": {"CP": "1.0"}}',
            "expected a list of objects, or an object of index and prediction",
        ),
        ("m.tsv", b"\xff\xfe", "m.tsv: not readable as tsv: "),
        ("m.csv", b"index,prediction\n1,a\n2,a man, walking\n", "line 3: 3 cells for 2 columns (index, prediction)"),
        ("m.csv", b'index,prediction\n1,"a\n2,b\n3,c\n', "line 2: unexpected end of data; a quote that begins there"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        read_records(tmp_path / name, "prediction")
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["m.tsv", "m.xlsx"])
def test_an_empty_table_answers_nothing(tmp_path: Path, name: str) -> None:
    items, _ = free_questions(tmp_path, 2)
    folder = tmp_path / "m"
    folder.mkdir()
    sheet(folder / name) if name.endswith("xlsx") else (folder / name).touch()
    imported, table = found("mmbench_video", "unpacked", items, folder, "unpacked")
    assert problems(imported) == [(name, 0, "", "empty file")] and set(table["error"]) == {"no_answer"}


def rated(folder: Path, items: pl.DataFrame, cells: list[tuple[object, ...]], reader: str) -> pl.DataFrame:
    """Verdicts of a folder that holds one table of predictions, ratings or both."""
    folder.mkdir(exist_ok=True)
    write_table_of(folder, "xlsx", cells)
    _, table = found("mmbench_video", "unpacked", items, folder, "unpacked")
    requests = requests_of("mmbench_video", "unpacked", items, "unpacked")
    answers = given_answers(load_answers("mmbench_video")["unpacked"], items, requests, table, "key")
    return judgements(answers, replies(answers, read_ratings(rating_files(folder), items), "judge"), reader)


def test_ratings_are_the_replies_of_a_judge(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 6)
    cells = [
        ("index", "prediction", "score"),
        (0, "a", 3),
        (1, "b", 2.0),
        (2, "c", -1),
        (3, "d", "Score: 1"),
        (4, "", -1),
    ]
    robust = rated(tmp_path / "m", items, cells, "robust")
    assert robust["score"].to_list() == [3, 2, None, 1, None, None]
    assert robust["failed"].to_list() == [False] * 4 + [True, True]
    authors = rated(tmp_path / "m", items, cells, "authors")
    assert authors["score"].to_list() == [3, 2, None, None, None, None]
    assert authors["failed"].to_list() == [False] * 6, "a blank prediction was never rated, so it leaves VALID"


def test_a_rating_counts_without_the_text_that_was_rated(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 3)
    for reader in ("robust", "authors"):
        verdict = rated(tmp_path / "m", items, [("index", "rating"), (0, 3), (1, 0)], reader)
        assert verdict["score"].to_list() == [3, 0, None]
    _, table = found("mmbench_video", "unpacked", items, tmp_path / "m", "unpacked")
    assert table["error"].to_list() == ["rated_only", "rated_only", "no_answer"], (
        "no other judge is asked about nothing"
    )


def test_ratings_that_disagree_are_none(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 1)
    verdict = rated(tmp_path / "m", items, [("index", "prediction", "rating"), (0, "a", 3), (0, "a", 1)], "robust")
    assert (verdict["score"].to_list(), verdict["unparsed"].to_list()) == ([None], [True])


# --- out and in again ----------------------------------------------------------------------------------------------


def round_trip(
    benchmark: str, form: str, items: pl.DataFrame, table: pl.DataFrame, folder: Path, prompt: str = ""
) -> None:
    """What is written is read again: same texts, same scores, same failures."""
    requests = requests_of(benchmark, form, items, prompt)
    answered = requests.join(table.select("request_id", "text", "scores", "error"), on="request_id", how="left")
    files = load_importer(benchmark).FORMS[form]
    assert files.write is not None and all(path.is_file() for path in files.write(folder, "m-frame8", items, answered))
    imported = files.read(files.find(folder, 8), items, requests)
    again = responses(requests, imported, 8, "key")
    assert imported.problems == []
    assert again.select("request_id", "text").equals(table.select("request_id", "text"))
    assert again["scores"].list.first().to_list() == pytest.approx(table["scores"].list.first().to_list(), abs=0)
    assert (again["error"] != "").to_list() == (table["error"] != "").to_list()


def table_of(requests: pl.DataFrame, texts: Iterator[str], scores: bool = False) -> pl.DataFrame:
    imported = ImportedAnswers()
    for number, request in enumerate(requests["request_id"].to_list()):
        share = (number % 7 + 1) / 9
        imported.answers[request] = Answer(scores=(share, 1 - share)) if scores else Answer(text=next(texts))
    return responses(requests, imported, 8, "key")


def endless(*texts: str) -> Iterator[str]:
    while True:
        yield from texts


STYLES = ("A", "B.", "(A)", "", "A person, “quoted”, eats\nand\u2028sleeps", '["A"]', " B")


@pytest.mark.parametrize("lacking", [0, 2])
def test_vinoground_and_temporalbench_come_back_as_they_went(tmp_path: Path, lacking: int) -> None:
    cases = [
        ("vinoground", "questions", Pairs(tmp_path, 3).items),
        ("temporalbench", "short", chosen_items(Questions(tmp_path, 2).items, "short")),
        ("temporalbench", "caption", chosen_items(Questions(tmp_path, 2).items, "caption")),
    ]
    for benchmark, form, items in cases:
        table = table_of(requests_of(benchmark, form, items), endless(*STYLES))
        if lacking and form != "caption":
            gone = pl.int_range(pl.len()) < lacking
            table = table.with_columns(
                text=pl.when(gone).then(pl.lit("")).otherwise("text"), error=pl.when(gone).then(pl.lit("oom")).otherwise("error")
            )  # fmt: skip
        round_trip(benchmark, form, items, table, tmp_path / benchmark / form)


@pytest.mark.parametrize(("form", "texts", "scores"), [("entail", (), True), ("entail", ("Yes", "No"), False), ("mc", STYLES[:3], False)])  # fmt: skip
def test_velociti_comes_back_as_it_went(tmp_path: Path, form: str, texts: tuple[str, ...], scores: bool) -> None:
    items, _ = samples(tmp_path, 8)
    prompt = "mc" if form == "mc" else ""
    table = table_of(requests_of("velociti", form, items, prompt), endless(*texts), scores)
    round_trip("velociti", form, items, table, tmp_path / "out", prompt)


def test_similarities_of_velociti_come_back_as_they_went(tmp_path: Path) -> None:
    """Cosines, which the authors' script of contrastive models writes, may be below zero."""
    items, _ = samples(tmp_path, 8)
    requests = requests_of("velociti", "similarity", items, "caption")
    imported = ImportedAnswers()
    for number, request in enumerate(requests["request_id"]):
        imported.answers[request] = Answer(scores=(number % 7 / 9 - 0.3,))
    table = responses(requests, imported, 8, "key")
    round_trip("velociti", "similarity", items, table, tmp_path / "out", "caption")


def test_mmbench_video_comes_back_as_it_went(tmp_path: Path) -> None:
    items, _ = free_questions(tmp_path, 6)
    texts = endless("=1+1", "5", "two\nlines", "1.0", '"quoted"', "ü – 中")
    table = table_of(requests_of("mmbench_video", "unpacked", items, "unpacked"), texts)
    round_trip("mmbench_video", "unpacked", items, table, tmp_path / "out", "unpacked")


# --- the plan ------------------------------------------------------------------------------------------------------

RUN = Run("vinoground", "paper", "black8", "random-imported")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose configuration and imports a test may change."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "resources").mkdir()
    for path in (ROOT / "resources").iterdir():
        if path.name == "imports":
            shutil.copytree(path, tmp_path / "resources/imports")
        elif path.name != "store":
            (tmp_path / "resources" / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model_file(root: Path, settings: str) -> None:
    (root / "config/models/random-imported.yaml").write_text(f"label: L\nadapter: import\nsettings:\n{settings}")


def key(root: Path, run: str) -> str:
    return str(json.loads((root / f"results/demo/keys/{run}.json").read_text())["key"])


def test_an_imported_run_is_there_if_its_files_are(root: Path) -> None:
    assert RUN in Plan(load(root)).runs()
    shutil.rmtree(root / "resources/imports/vinoground")
    plan = Plan(load(root))
    assert RUN not in plan.runs() and "random-imported" in plan.models
    assert Run("velociti", "entail.subset", "fps1", "random-imported") in plan.runs()


def test_an_imported_run_needs_no_video(root: Path) -> None:
    suite = root / "config/suites/demo.yaml"
    suite.write_text(suite.read_text().replace("run: [local]", "run: [random-imported]"))
    plan = Plan(load(root))
    assert len(plan.runs()) == 2 and plan.data_benchmarks() == []


def test_a_changed_file_changes_the_key_of_its_run_alone(root: Path) -> None:
    write_keys(Plan(load(root)))
    names = [run.name for run in Plan(load(root)).runs()]
    before = {name: key(root, name) for name in names}
    path = root / "resources/imports/vinoground/random-imported/textscore-response.jsonl"
    path.write_text(path.read_text().replace('"A"', '"B"', 1))
    write_keys(Plan(load(root)))
    assert [name for name in names if key(root, name) != before[name]] == [RUN.name]


def test_a_log_counts_with_the_settings_beside_it(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = root / "resources/imports/vinoground/random-imported"
    for path in folder.iterdir():
        path.unlink()
    names = ("20260818_101112_samples_vinoground.jsonl", "20260818_101112_results.json")
    for name in (*names, "20260101_101112_results.json"):
        (folder / name).touch()
    plan = Plan(load(root))
    assert [path.name for path in plan.imports.answer_files(RUN)] == list(names)
    plan.imports.warn_of_unused(frozenset({"random-imported"}))
    assert "20260101_101112_results.json: not used" in caplog.text


def test_a_run_that_is_named_beside_the_tables_must_have_its_files(root: Path) -> None:
    suite = root / "config/suites/demo.yaml"
    suite.write_text(
        suite.read_text().replace(
            "    subset: {per", "    extra_runs: [entail/fps1/random-imported]\n    subset: {per", 1
        )
    )
    model_file(
        root, "  runs: {vinoground/paper/black8: ., velociti/entail.subset/fps1: ., velociti/entail/fps1: whole}\n"
    )
    with pytest.raises(UserError, match=r"velociti/entail/fps1/random-imported: no answers found. Put the files"):
        write_keys(Plan(load(root)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("  folder: x\n", "settings.folder: unknown key. Allowed: names, ratings, runs."),
        ("  runs: {vinoground/paper: .}\n", "settings.runs: 'vinoground/paper': a run is named <benchmark>/<protocol>/<sampling>."),
        ("  runs: {vinograund/paper/black8: .}\n", "answers to 'vinograund' cannot be imported"),
        ("  runs: {vinoground/papr/black8: .}\n", "unknown protocol 'papr'. Did you mean 'paper'?"),
        ("  runs: {vinoground/paper/blak8: .}\n", "unknown sampling 'blak8'. Did you mean 'black8'?"),
        ("  runs: {vinoground/similarity/black8: .}\n", "the authors' files hold no answers to form 'similarity'. Forms: questions."),
        ("  runs: {vinoground/paper/black8: ../oracle}\n", "settings.runs: 'vinoground/paper/black8': '../oracle' is not inside resources/imports/vinoground/random-imported."),
        ("  runs: {vinoground/paper/black8: /etc}\n", "'/etc' is not inside"),
        ("  ratings: {vinoground/paper/black8/oracle: .}\n", "answers to 'vinoground' are not rated by a judge."),
        ("  ratings: {mmbench_video/packed/interior8/oracel: .}\n", "unknown model 'oracel'. Did you mean 'oracle'?"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_imported_models_file_is_named(root: Path, settings: str, message: str) -> None:
    model_file(root, settings)
    with pytest.raises(UserError) as error:
        load(root)
    assert message in str(error.value)


def test_an_imported_judge_rates_the_runs_whose_ratings_are_there(root: Path) -> None:
    run = "mmbench_video/packed/interior8/oracle"
    (root / "config/models/people.yaml").write_text(
        f"label: People\nadapter: import\nsettings:\n  ratings: {{{run}: .}}\n"
    )
    suite = root / "config/suites/demo.yaml"
    suite.write_text(suite.read_text().replace("judges: [wordmatch,", "judges: [people, wordmatch,"))
    assert not any(one.judge == "people" for one in judged(Plan(load(root))))
    folder = root / "resources/imports/mmbench_video/people"
    folder.mkdir(parents=True)
    (folder / "ratings.tsv").write_text("index\trating\n0\t3\n")
    plan = Plan(load(root))
    write_keys(plan)
    assert {one.name for one in judged(plan) if one.judge == "people"} == {f"{run}/people"}
    assert all(plan.is_imported(one) for one in judged(plan) if one.judge == "people")
    name = root / "results/demo/keys/judges/mmbench_video/packed/people.json"
    before = name.read_text()
    (folder / "ratings.tsv").write_text("index\trating\n0\t2\n")
    write_keys(Plan(load(root)))
    assert name.read_text() != before


def judged(plan: Plan) -> list[Scored]:
    return [one for benchmark, table, _ in plan.tables() for one in plan.table_scored(benchmark, table)]


def test_the_demos_imports_fit_the_toy_world(tmp_path: Path) -> None:
    from synthetic.toyworld.plugin import write_release

    for benchmark, form in (("vinoground", "questions"), ("velociti", "entail")):
        release = tmp_path / benchmark
        release.mkdir()
        write_release(benchmark, release)
        subset = {"subset": {"per_test": 40, "seed": 0}} if benchmark == "velociti" else {}
        items = Whole(benchmark).annotations(sorted(release.iterdir()), "ids", subset)[1]
        asked = chosen_items(items, "subset" if subset else None)
        requests = requests_of(benchmark, form, asked)
        files = load_importer(benchmark).FORMS[form]
        folder = ROOT / "resources/imports" / benchmark / "random-imported"
        imported = files.read(files.find(folder, 8), items, requests)
        assert imported.problems == [] and set(imported.answers) == set(requests["request_id"]), benchmark


def test_export_says_what_it_cannot_do(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run, message in (
        (
            "vinoground/paper/black8/rndom",
            "no run 'vinoground/paper/black8/rndom' in suite 'demo'. Did you mean",
        ),
        (
            "vinoground/similarity/black8/random",
            "the authors of vinoground have no file format of answers to form 'similarity'",
        ),
        (
            "vinoground/paper/black8/random",
            "responses/vinoground/paper/black8/random.parquet not found. Make it first",
        ),
    ):
        with pytest.raises(UserError) as error:
            export_run(run, root / "out")
        assert message in str(error.value)
    items = Pairs(root, 2).items
    requests = requests_of("vinoground", "questions", items)
    results = root / "results/demo"
    write_table(items, results / "annotations/vinoground/items.parquet", ITEMS)
    write_table(requests, results / "requests/vinoground/paper.parquet", REQUESTS)
    said = table_of(requests, endless("A", "B")).head(7)  # the clip of the last question is missing
    write_table(said, results / "responses/vinoground/paper/black8/random.parquet", RESPONSES)
    export_run("vinoground/paper/black8/random", root / "out")
    assert capsys.readouterr().out.split() == [
        str(root / f"out/{kind}score-response.jsonl") for kind in ("text", "video")
    ]
    lines = [len((root / f"out/{kind}score-response.jsonl").read_text().splitlines()) for kind in ("text", "video")]
    assert sum(lines) == 7


def test_problems_of_a_table_are_counted_by_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported, _ = vinoground(tmp_path, '{"idx": "9_pos", "response": "A"}', "{", "{")
    monkeypatch.chdir(tmp_path)
    path = Path("results/s/responses/vinoground/paper/black8/m.problems.csv")
    write_problems(imported.problems, ["0_pos/text#text_pos"], path)
    assert read_problems([path], Results("s")) == {
        "vinoground/paper/black8/m": Counter({"broken line": 2, "unknown id": 1})
    }
