"""MMBench-Video's making: the collection, annotators' rows, the lint, cross-validation and static questions."""

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


def how(**changes: Any) -> Any:
    return w.settings("mmbench_video", **changes)


HOW = how()


def sheet(path: Path, rows: Sequence[w.Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_rows(path, rows[0], *(row.values() for row in rows))


def made(folder: Path, how: Any = HOW) -> w.Tables:
    return w.written(w.pool_of(list_matching_files(folder, how.files), how), lambda _: "", how)


def of_rows(folder: Path, *rows: w.Row, **changes: Any) -> w.Tables:
    sheet(folder / COLLECTION, [VIDEO, VIDEO | {"video": "v2", "duration_s": "20"}])
    sheet(folder / "questions/a.csv", rows)
    return made(folder, how(**changes))


COLLECTED: list[tuple[w.Row, str]] = [
    ({}, ""), ({"video": "../v"}, "bad_name"), ({"video": ""}, "bad_name"),
    ({"video_type": "Newz"}, "unknown_category"), ({"video_type": ""}, "unknown_category"),
    ({"duration_s": "about 40"}, "no_number"), ({"duration_s": "nan"}, "no_number"),
    ({"duration_s": "29.9"}, "too_short"), ({"duration_s": "30"}, ""),
    ({"start_s": "10", "end_s": "10"}, "bad_span"), ({"end_s": "41"}, "bad_span"),
    ({"duration_s": "900", "end_s": "360"}, ""), ({"duration_s": "900", "end_s": "360.5"}, "too_long"),
]  # fmt: skip


def test_a_video_is_collected_or_named(tmp_path: Path) -> None:
    for change, dropped_by in COLLECTED:
        path = sheet(tmp_path / COLLECTION, [VIDEO | change])
        [row] = w.pool_of({COLLECTION: path}, how(categories=["News", "Sports"]))["pool"].to_dicts()
        assert (row["filter"], bool(row["why"])) == (dropped_by, bool(dropped_by)), change
    path = sheet(tmp_path / COLLECTION, [VIDEO, VIDEO | {"end_s": "20"}])
    assert w.names_of(w.pool_of({COLLECTION: path}, HOW)["pool"]) == ["", "duplicate"]
    with pytest.raises(
        UserError, match=r"no file 'collection.csv'. Found: a.csv. Put it into the folder of `annotations:`"
    ):
        w.pool_of({"a.csv": path}, HOW)
    for text, message in (("", "column 'video_type' is missing. Found: video, source."), ("a,b,c\n", "row 1: 3 cells")):
        path.write_text(f"video,source\n{text}")
        with pytest.raises(UserError, match=f"collection.csv: {message}"):
            w.pool_of({COLLECTION: path}, HOW)


ROWS: list[tuple[w.Row, str, str]] = [
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
    for change, dropped_by, why in ROWS:
        here = of_rows(tmp_path, QUESTION | change)
        [row] = here["candidates"].to_dicts()
        assert (row["filter"], row["where"]) == (dropped_by, "questions/a.csv: row 1") and row["why"].startswith(why)
        assert here["samples"].height == (not dropped_by)
    rows = [QUESTION | {"dimensions": ""}, QUESTION, QUESTION | {"question": "WHO runs first?", "annotator": "bob"}]
    assert w.names_of(of_rows(tmp_path, *rows)["candidates"]) == ["no_leaf", "", "duplicate"]


NAMED = (
    "What does he do at 03:20 in the video?", "What happens at 00:01:15?", "What is shown (1:05) on the wall?", "Why does she laugh @0:45?",
    "What happens 01:15 into the video?", "What does he hold at the 12 s?", "What happens at about 20 seconds?", "What falls after 20 seconds?",
    "Who appears in the first 10 seconds?", "Who appears in the first minute?", "What happens between the 3rd and 5th minute?", "What is cut in the third minute?",
    "Who sings twenty seconds into the clip?", "20 seconds in, who sings?", "What happens 5 seconds before the end?", "What is shown at the 2-minute mark?",
    "What happens at second 12?", "What is shown from 5 to 10 seconds?", "What is shown between 5 and 10 seconds?", "What is shown at 1m20s?", "Who talks until 1:05?",
    "After 2 minutes of the video, who leaves?", "1:05 - what is on screen?",
)  # fmt: skip
NOT_NAMED = (
    "Who won by 3 seconds?", "Who makes the last 3-pointer?", "Why does the clock on the wall say 10:30?", "What time is 10:30 on the watch?", "Does the train leave at 10:30 in the morning?",
    "What is the score when it is 21:15?", "How long is the 10-second countdown?", "What changes after 20 minutes of baking?", "What does he do 3 seconds later?",
    "What happens at the end of the video?", "Who scores in the 90th minute of the match?", "Who scores in the last 10 seconds of the game?", "Who catches it at the last second?",
    "Who is the second baseman?", "What is the second 50 dollar bill for?", "How did his time improve from 12 seconds to 10 seconds?", "Who runs at 5 minutes per mile?",
    "How many seconds does the timer show?", "Wait a minute, who is that?", "What is the ratio of 16:9 for?", "What does he say in the last few seconds?",
)  # fmt: skip


def test_video_timestamps_are_distinguished_from_other_times() -> None:
    found = {question: find_timestamp(question) for question in (*NAMED, *NOT_NAMED)}
    assert [question for question in NAMED if not found[question] or found[question] not in question] == []
    assert [question for question in NOT_NAMED if found[question]] == []
    for part in ("9", "at ", "clock ", "1:05 ", "the first ", "score a ", "from 5 ", "9:", " ", "1st "):
        find_timestamp(part * 2000)  # a long question takes no longer than it is


LINTED: list[tuple[w.Row, str, str]] = [
    ({"question": "What happens at 03:20 in the video?"}, "timestamp", "the question contains 'at 03:20'"),
    ({"question": "Who is shown at the end of the video?"}, "", ""), ({"question": "Who won it?"}, "", ""),
    ({"question": "And then?"}, "question_too_short", "2 of at least 3 words"),
    ({"answer": "Yes."}, "answer_too_short", "1 of at least 2 words"),
]  # fmt: skip
WARNED = {
    "Is this a dog?": ["a question of the type 'is / are'"], "Did he win?": ["a question of the type 'does / do'"],
    "What is this?": [], "Tell me what it does.": [],
}  # fmt: skip


def test_guidelines_that_a_text_can_break(tmp_path: Path) -> None:
    here = of_rows(tmp_path, *(QUESTION | change for change, *_ in LINTED), answer_words=2)
    assert here["samples"].select("filter", "why").rows() == [(name, why) for _, name, why in LINTED]
    for answer, more in (("It is.", []), ("Yes.", ["an answer of one word"])):
        rows = of_rows(tmp_path, *(QUESTION | {"question": one, "answer": answer} for one in WARNED))["samples"]
        found = dict(rows.select("question", "warnings").iter_rows())
        assert found == {question: [*warned, *more] for question, warned in WARNED.items()}


def test_annotators_do_not_judge_their_own_questions(tmp_path: Path) -> None:
    here, two = of_rows(tmp_path, QUESTION), how(review={"verdicts": "-", "votes": 2})
    tasks = w.review(here, two).tasks
    own = w.verdicts(tmp_path / "1.csv", tasks, "correct", "Ann ", "bob")
    done = w.review(here, two, own)
    assert [(one.problem, one.where) for one in done.problems] == [("own_question", f"{own}: row 1")]
    assert [(row["filter"], row["votes"]) for row in done.reviewed] == [("not_reviewed", 1)]
    for said, expected in (("correct", ""), ("answer is wrong", "refused")):
        others = w.verdicts(tmp_path / "2.csv", tasks, said, "cy")
        assert w.names_of(w.review(here, two, own, others).reviewed) == [expected]


def rated(*ratings: w.Row) -> list[pl.DataFrame]:
    return [pl.DataFrame([verdict_row(f"{i}#", score=score) for i, score in one.items()], VERDICTS) for one in ratings]


def questions(folder: Path, *names: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Reviewed questions, and the index of each name."""
    here = of_rows(folder, *(QUESTION | {"question": f"Who runs {name}?"} for name in names))
    done = w.review(here, how(review={"verdicts": "-", "undecided": "keep"}))
    table = w.tables("mmbench_video", {"reviewed": done.reviewed})["reviewed"]
    texts = dict(table.select("question", "index").iter_rows())
    return table, {name: texts[f"Who runs {name}?"] for name in names}


def filtered(table: pl.DataFrame, ratings: list[pl.DataFrame], *checks: Path, votes: int = 1) -> ReviewResult:
    return static(table, ratings, checks, how(static=ONE_FRAME, review={"verdicts": "-", "votes": votes}))


def test_a_mean_of_exactly_two_and_a_half_is_dropped(tmp_path: Path) -> None:
    """10/4 is 2.5; 9/4 is 2.25; 3, 3, 3 and a failure are 9/4 too; a question without a rating stays."""
    paper = StaticFilter(model="m")  # appendix C.1
    assert (paper.least, paper.samplings) == (2.5, ["still0", "still1", "still2", "still3"])
    page = (Path(__file__).parents[2] / "docs/benchmarks/mmbench_video.md").read_text()
    assert f"extra_runs:\n  [{paper.protocol}/still0/<model>, ...]" in page, (
        "the page names the runs that are the default"
    )
    table, index = questions(tmp_path, "static", "moving", "failed", "unasked")
    seeds = [(3, 3, 3), (3, 3, 3), (2, 3, 3), (2, 0, None)]
    asked = [index[name] for name in ("static", "moving", "failed")]
    found = filtered(table, rated(*(dict(zip(asked, one, strict=True)) for one in seeds)))
    assert [row["question"] for row in found.reviewed] == [task["question"] for task in found.tasks]
    got = {row["index"]: (row["mean"], row["filter"]) for row in found.reviewed}
    expected = {"static": (2.5, "static"), "moving": (2.25, ""), "failed": (2.25, ""), "unasked": (None, "")}
    assert got == {index[name]: one for name, one in expected.items()}
    assert found.reviewed[0]["why"] == "mean rating 2.5 on one frame, 2.5 or more"
    assert (found.tasks[0]["mean"], found.tasks[0]["ratings"]) == ("2.5", "3 3 2 2") and found.tasks[-1]["mean"] == "-"


def test_manual_checks_take_precedence_over_ratings(tmp_path: Path) -> None:
    table, index = questions(tmp_path, "static", "moving")
    ratings = rated({index["static"]: 3.0, index["moving"]: 0.0})
    listed = filtered(table, ratings).tasks
    assert [task["mean"] for task in listed] == ["3", "0"]
    needs, enough = FRAME_VERDICTS
    one = w.verdicts(tmp_path / "1.csv", listed[:1], needs, "ann")
    other = w.verdicts(tmp_path / "2.csv", listed[1:], enough, "ann")
    assert w.names_of(filtered(table, ratings, one, other).reviewed) == ["", "static_by_hand"]
    assert w.names_of(filtered(table, ratings, one, other, votes=2).reviewed) == ["static", ""]
    all_need = w.verdicts(tmp_path / "3.csv", listed, needs, "ann")
    none_needs = w.verdicts(tmp_path / "4.csv", listed, enough, "bob")
    assert w.names_of(filtered(table, ratings, all_need, none_needs).reviewed) == ["static", ""], "they disagree"


def test_sampled_questions_do_not_depend_on_their_order(tmp_path: Path) -> None:
    rows = [{"video": f"{n}.mp4", "question": "Who?", "answer": "A man.", "options": "x"} for n in range(30)]
    path = sheet(tmp_path / "msvd.csv", [*rows, rows[0]])
    found = draw_questions(path, 10, "0 to 5", 0)
    assert found.height == 10 and found.columns == ["video", "question", "answer", "options", "scoring"]
    sheet(path, [rows[0], *reversed(rows)])
    assert draw_questions(path, 10, "0 to 5", 0).equals(found) and not draw_questions(path, 10, "0 to 5", 1).equals(
        found
    )
    assert sorted(draw_questions(path, 1000, "0 to 5", 0)["video"]) == sorted(row["video"] for row in [*rows, rows[0]])
    assert len(read_video_set(found, path, RESERVED_GROUPS).items) == 10
    one: w.Row = {"video": "1.mp4", "question": "Who?"}
    with pytest.raises(UserError, match=r"msvd.csv: column 'answer' is missing. Found: video, question."):
        draw_questions(sheet(path, [one]), 10, "accuracy", 0)
    with pytest.raises(
        UserError, match=r"msvd.csv: column 'scoring' is reserved: the suite states how a set is scored"
    ):
        draw_questions(sheet(path, [one | {"answer": "a", "scoring": "b"}]), 10, "accuracy", 0)
