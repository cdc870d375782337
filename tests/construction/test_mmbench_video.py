"""Test MMBench-Video's construction: the collection, annotators' rows, guidelines, cross-validation, static questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from construction.mmbench_video.making import COLLECTION, COLUMNS, VIDEO_COLUMNS
from construction.mmbench_video.review import FRAME_VERDICTS, static
from construction.mmbench_video.timestamps import find_timestamp
from construction.review import ReviewResult
from construction.settings import StaticFilter
from construction.stages.draw import draw_questions
from reprise.benchmarks.mmbench_video.taxonomy import RESERVED_GROUPS
from reprise.benchmarks.mmbench_video.video_sets import read_video_set
from reprise.core.errors import UserError
from reprise.core.files import list_matching_files
from reprise.core.schemas import VERDICTS

from tests.construction import worlds as w
from tests.unit.benchmarks.whole import write_rows
from tests.unit.rows import verdict_row

VIDEO = dict(zip(VIDEO_COLUMNS, ("v1", "source", "News", "40", "0", "10"), strict=True))
QUESTION = dict(zip(COLUMNS, ("v1", "Who runs first?", "The man in red.", "OCR; Counting", "ann", "", ""), strict=True))
ONE_FRAME = {"model": "m"}


def settings_with(**changes: Any) -> Any:
    return w.construction_settings("mmbench_video", **changes)


SETTINGS = settings_with()


def write_sheet(path: Path, rows: Sequence[w.Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_rows(path, rows[0], *(row.values() for row in rows))


def build_from_folder(folder: Path, settings: Any = SETTINGS) -> w.Tables:
    return w.run_rounds(w.collect_pool(list_matching_files(folder, settings.files), settings), lambda _: "", settings)


def build_from_rows(folder: Path, *rows: w.Row, **changes: Any) -> w.Tables:
    write_sheet(folder / COLLECTION, [VIDEO, VIDEO | {"video": "v2", "duration_s": "20"}])
    write_sheet(folder / "questions/a.csv", rows)
    return build_from_folder(folder, settings_with(**changes))


VIDEO_CASES: list[tuple[w.Row, str]] = [
    ({}, ""), ({"video": "../v"}, "bad_name"), ({"video": ""}, "bad_name"),
    ({"video_type": "Newz"}, "unknown_category"), ({"video_type": ""}, "unknown_category"),
    ({"duration_s": "about 40"}, "no_number"), ({"duration_s": "nan"}, "no_number"),
    ({"duration_s": "29.9"}, "too_short"), ({"duration_s": "30"}, ""),
    ({"start_s": "10", "end_s": "10"}, "bad_span"), ({"end_s": "41"}, "bad_span"),
    ({"duration_s": "900", "end_s": "360"}, ""), ({"duration_s": "900", "end_s": "360.5"}, "too_long"),
]  # fmt: skip


def test_a_video_is_collected_or_its_filter_is_named(tmp_path: Path) -> None:
    for change, dropped_by in VIDEO_CASES:
        path = write_sheet(tmp_path / COLLECTION, [VIDEO | change])
        [row] = w.collect_pool({COLLECTION: path}, settings_with(categories=["News", "Sports"]))["pool"].to_dicts()
        assert (row["filter"], bool(row["why"])) == (dropped_by, bool(dropped_by)), change
    path = write_sheet(tmp_path / COLLECTION, [VIDEO, VIDEO | {"end_s": "20"}])
    assert w.filter_names(w.collect_pool({COLLECTION: path}, SETTINGS)["pool"]) == ["", "duplicate"]
    with pytest.raises(
        UserError, match=r"no file 'collection.csv'. Found: a.csv. Put it into the folder of `annotations:`"
    ):
        w.collect_pool({"a.csv": path}, SETTINGS)
    for content, message in (
        ("", "column 'video_type' is missing. Found: video, source."),
        ("a,b,c\n", "row 1: 3 cells"),
    ):
        path.write_text(f"video,source\n{content}")
        with pytest.raises(UserError, match=f"collection.csv: {message}"):
            w.collect_pool({COLLECTION: path}, SETTINGS)


QUESTION_CASES: list[tuple[w.Row, str, str]] = [
    ({}, "", ""), ({"start_s": "2", "end_s": "10"}, "", ""), ({"video": "v9"}, "unknown_video", "no video 'v9'."),
    ({"video": "v2"}, "video_dropped", "too_short: 20 s"), ({"question": " "}, "empty", "no question"),
    ({"answer": ""}, "empty", "no answer"), ({"dimensions": " ; "}, "no_leaf", "no ability is named"),
    ({"dimensions": "OCR; Countin"}, "unknown_leaf", "no leaf 'Countin'. Did you mean 'Counting'?"),
    ({"dimensions": "perception"}, "unknown_leaf", "no leaf 'perception'."),
    ({"dimensions": "OCR\x07"}, "unprintable", "control characters"),
    ({"annotator": ""}, "no_annotator", "no annotator is named"),
    ({"start_s": "2", "end_s": "11"}, "bad_span", "2 to 11 of 10 s"), ({"start_s": "2"}, "bad_span", "only start_s is stated"),
    ({"start_s": "2", "end_s": "0:05"}, "bad_span", "'2' or '0:05' is not a number"),
]  # fmt: skip


def test_an_unusable_row_is_reported_and_becomes_no_sample(tmp_path: Path) -> None:
    for change, dropped_by, why in QUESTION_CASES:
        tables = build_from_rows(tmp_path, QUESTION | change)
        [row] = tables["candidates"].to_dicts()
        assert (row["filter"], row["where"]) == (dropped_by, "questions/a.csv: row 1") and row["why"].startswith(why)
        assert tables["samples"].height == (not dropped_by)
    rows = [QUESTION | {"dimensions": ""}, QUESTION, QUESTION | {"question": "WHO runs first?", "annotator": "bob"}]
    assert w.filter_names(build_from_rows(tmp_path, *rows)["candidates"]) == ["no_leaf", "", "duplicate"]


WITH_TIMESTAMP = (
    "What does he do at 03:20 in the video?", "What happens at 00:01:15?", "What is shown (1:05) on the wall?", "Why does she laugh @0:45?",
    "What happens 01:15 into the video?", "What does he hold at the 12 s?", "What happens at about 20 seconds?", "What falls after 20 seconds?",
    "Who appears in the first 10 seconds?", "Who appears in the first minute?", "What happens between the 3rd and 5th minute?", "What is cut in the third minute?",
    "Who sings twenty seconds into the clip?", "20 seconds in, who sings?", "What happens 5 seconds before the end?", "What is shown at the 2-minute mark?",
    "What happens at second 12?", "What is shown from 5 to 10 seconds?", "What is shown between 5 and 10 seconds?", "What is shown at 1m20s?", "Who talks until 1:05?",
    "After 2 minutes of the video, who leaves?", "1:05 - what is on screen?",
)  # fmt: skip
WITHOUT_TIMESTAMP = (
    "Who won by 3 seconds?", "Who makes the last 3-pointer?", "Why does the clock on the wall say 10:30?", "What time is 10:30 on the watch?", "Does the train leave at 10:30 in the morning?",
    "What is the score when it is 21:15?", "How long is the 10-second countdown?", "What changes after 20 minutes of baking?", "What does he do 3 seconds later?",
    "What happens at the end of the video?", "Who scores in the 90th minute of the match?", "Who scores in the last 10 seconds of the game?", "Who catches it at the last second?",
    "Who is the second baseman?", "What is the second 50 dollar bill for?", "How did his time improve from 12 seconds to 10 seconds?", "Who runs at 5 minutes per mile?",
    "How many seconds does the timer show?", "Wait a minute, who is that?", "What is the ratio of 16:9 for?", "What does he say in the last few seconds?",
)  # fmt: skip


def test_video_timestamps_are_distinguished_from_other_times() -> None:
    timestamp_by_question = {question: find_timestamp(question) for question in (*WITH_TIMESTAMP, *WITHOUT_TIMESTAMP)}
    assert [
        question
        for question in WITH_TIMESTAMP
        if not timestamp_by_question[question] or timestamp_by_question[question] not in question
    ] == []
    assert [question for question in WITHOUT_TIMESTAMP if timestamp_by_question[question]] == []
    for part in ("9", "at ", "clock ", "1:05 ", "the first ", "score a ", "from 5 ", "9:", " ", "1st "):
        find_timestamp(part * 2000)  # The time must stay linear in the length of the question.


GUIDELINE_CASES: list[tuple[w.Row, str, str]] = [
    ({"question": "What happens at 03:20 in the video?"}, "timestamp", "the question contains 'at 03:20'"),
    ({"question": "Who is shown at the end of the video?"}, "", ""), ({"question": "Who won it?"}, "", ""),
    ({"question": "And then?"}, "question_too_short", "2 of at least 3 words"),
    ({"answer": "Yes."}, "answer_too_short", "1 of at least 2 words"),
]  # fmt: skip
WARNINGS_BY_QUESTION = {
    "Is this a dog?": ["a question of the type 'is / are'"], "Did he win?": ["a question of the type 'does / do'"],
    "What is this?": [], "Tell me what it does.": [],
}  # fmt: skip


def test_questions_must_follow_the_guidelines(tmp_path: Path) -> None:
    tables = build_from_rows(tmp_path, *(QUESTION | change for change, *_ in GUIDELINE_CASES), answer_words=2)
    assert tables["samples"].select("filter", "why").rows() == [(name, why) for _, name, why in GUIDELINE_CASES]
    for answer, answer_warnings in (("It is.", []), ("Yes.", ["an answer of one word"])):
        rows = build_from_rows(
            tmp_path, *(QUESTION | {"question": question, "answer": answer} for question in WARNINGS_BY_QUESTION)
        )["samples"]
        warnings = dict(rows.select("question", "warnings").iter_rows())
        assert warnings == {
            question: [*question_warnings, *answer_warnings]
            for question, question_warnings in WARNINGS_BY_QUESTION.items()
        }


def test_annotators_do_not_judge_their_own_questions(tmp_path: Path) -> None:
    tables, settings = build_from_rows(tmp_path, QUESTION), settings_with(review={"verdicts": "-", "votes": 2})
    tasks = w.review(tables, settings).tasks
    own_verdicts = w.write_verdicts(tmp_path / "1.csv", tasks, "correct", "Ann ", "bob")
    result = w.review(tables, settings, own_verdicts)
    assert [(problem.problem, problem.location) for problem in result.problems] == [
        ("own_question", f"{own_verdicts}: row 1")
    ]
    assert [(row["filter"], row["votes"]) for row in result.reviewed] == [("not_reviewed", 1)]
    for verdict, expected in (("correct", ""), ("answer is wrong", "refused")):
        other_verdicts = w.write_verdicts(tmp_path / "2.csv", tasks, verdict, "cy")
        assert w.filter_names(w.review(tables, settings, own_verdicts, other_verdicts).reviewed) == [expected]


def rating_tables(*ratings: w.Row) -> list[pl.DataFrame]:
    return [
        pl.DataFrame([verdict_row(f"{index}#", score=score) for index, score in score_by_index.items()], VERDICTS)
        for score_by_index in ratings
    ]


def reviewed_questions(folder: Path, *names: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return reviewed questions, and the index of each name."""
    tables = build_from_rows(folder, *(QUESTION | {"question": f"Who runs {name}?"} for name in names))
    result = w.review(tables, settings_with(review={"verdicts": "-", "undecided": "keep"}))
    table = w.build_tables("mmbench_video", {"reviewed": result.reviewed})["reviewed"]
    index_by_question = dict(table.select("question", "index").iter_rows())
    return table, {name: index_by_question[f"Who runs {name}?"] for name in names}


def filter_static(table: pl.DataFrame, ratings: list[pl.DataFrame], *checks: Path, votes: int = 1) -> ReviewResult:
    return static(table, ratings, checks, settings_with(static=ONE_FRAME, review={"verdicts": "-", "votes": votes}))


def test_a_mean_of_exactly_two_and_a_half_is_dropped(tmp_path: Path) -> None:
    """Check means derived by hand: 10/4 is 2.5, 9/4 is 2.25. A failed rating counts as 0. Unrated questions are kept."""
    paper_filter = StaticFilter(model="m")  # appendix C.1
    assert (paper_filter.least, paper_filter.samplings) == (2.5, ["still0", "still1", "still2", "still3"])
    page = (Path(__file__).parents[2] / "docs/benchmarks/mmbench_video.md").read_text()
    assert f"extra_runs:\n  [{paper_filter.protocol}/still0/<model>, ...]" in page, "the page names the default runs"
    table, index_by_name = reviewed_questions(tmp_path, "static", "moving", "failed", "unasked")
    ratings_by_run = [(3, 3, 3), (3, 3, 3), (2, 3, 3), (2, 0, None)]
    rated_indices = [index_by_name[name] for name in ("static", "moving", "failed")]
    result = filter_static(
        table, rating_tables(*(dict(zip(rated_indices, ratings, strict=True)) for ratings in ratings_by_run))
    )
    assert [row["question"] for row in result.reviewed] == [task["question"] for task in result.tasks]
    outcome_by_index = {row["index"]: (row["mean"], row["filter"]) for row in result.reviewed}
    expected = {"static": (2.5, "static"), "moving": (2.25, ""), "failed": (2.25, ""), "unasked": (None, "")}
    assert outcome_by_index == {index_by_name[name]: outcome for name, outcome in expected.items()}
    assert result.reviewed[0]["why"] == "mean rating 2.5 on one frame, 2.5 or more"
    assert (result.tasks[0]["mean"], result.tasks[0]["ratings"]) == ("2.5", "3 3 2 2") and result.tasks[-1][
        "mean"
    ] == "-"


def test_manual_checks_take_precedence_over_ratings(tmp_path: Path) -> None:
    table, index_by_name = reviewed_questions(tmp_path, "static", "moving")
    ratings = rating_tables({index_by_name["static"]: 3.0, index_by_name["moving"]: 0.0})
    tasks = filter_static(table, ratings).tasks
    assert [task["mean"] for task in tasks] == ["3", "0"]
    needs_video, frame_is_enough = FRAME_VERDICTS
    first_check = w.write_verdicts(tmp_path / "1.csv", tasks[:1], needs_video, "ann")
    second_check = w.write_verdicts(tmp_path / "2.csv", tasks[1:], frame_is_enough, "ann")
    assert w.filter_names(filter_static(table, ratings, first_check, second_check).reviewed) == ["", "static_by_hand"]
    assert w.filter_names(filter_static(table, ratings, first_check, second_check, votes=2).reviewed) == ["static", ""]
    all_need_video = w.write_verdicts(tmp_path / "3.csv", tasks, needs_video, "ann")
    all_static = w.write_verdicts(tmp_path / "4.csv", tasks, frame_is_enough, "bob")
    assert w.filter_names(filter_static(table, ratings, all_need_video, all_static).reviewed) == ["static", ""], (
        "they disagree"
    )


def test_sampling_ignores_the_order_of_questions(tmp_path: Path) -> None:
    rows = [{"video": f"{n}.mp4", "question": "Who?", "answer": "A man.", "options": "x"} for n in range(30)]
    path = write_sheet(tmp_path / "msvd.csv", [*rows, rows[0]])
    sampled = draw_questions(path, 10, "0 to 5", 0)
    assert sampled.height == 10 and sampled.columns == ["video", "question", "answer", "options", "scoring"]
    write_sheet(path, [rows[0], *reversed(rows)])
    assert draw_questions(path, 10, "0 to 5", 0).equals(sampled) and not draw_questions(path, 10, "0 to 5", 1).equals(
        sampled
    )
    assert sorted(draw_questions(path, 1000, "0 to 5", 0)["video"]) == sorted(row["video"] for row in [*rows, rows[0]])
    assert len(read_video_set(sampled, path, RESERVED_GROUPS).items) == 10
    incomplete_row: w.Row = {"video": "1.mp4", "question": "Who?"}
    with pytest.raises(UserError, match=r"msvd.csv: column 'answer' is missing. Found: video, question."):
        draw_questions(write_sheet(path, [incomplete_row]), 10, "accuracy", 0)
    with pytest.raises(
        UserError, match=r"msvd.csv: column 'scoring' is reserved: the suite states how a set is scored"
    ):
        draw_questions(write_sheet(path, [incomplete_row | {"answer": "a", "scoring": "b"}]), 10, "accuracy", 0)
