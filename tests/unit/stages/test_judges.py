"""Judges: what they are asked, how their replies are read, what a failed answer or judgement counts, and the local one."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError
from reprise.benchmarks.asking import answers_as_given
from reprise.benchmarks.human_ratings import agreement, read_ratings
from reprise.benchmarks.scoring import Convention
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, RESPONSES, VERDICTS
from reprise.models.base import Clip
from reprise.models.local.stand_ins.lastletter import LastLetter
from reprise.models.local.stand_ins.wordmatch import WordMatch
from reprise.reading.readers import read_rating_authors
from reprise.stages.judge_requests import given_answers, judge_requests
from reprise.stages.judgements import judgements

from tests.unit.asked import BLIND, request, spec
from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import item_row, request_table, response_row, verdict_row

mmbench_video = Whole("mmbench_video")

JUDGE = mmbench_video.prompts["judge"]
LEVEL = 0.95


@pytest.mark.parametrize(("reply", "authors"), [
    ("3", 3), (" 2\n", 2), ("0", 0), ("03", None), ("5", 5),  # the harness takes any whole number
    ("3.", None), ("Score: 3", None), ("**2**", None), ("two", None), ("", None), ("-1", None), ("2/3", None),
    ("2+1", None), ("True", None),  # the harness evaluates these and then stops
])  # fmt: skip
def test_the_authors_rating_is_a_bare_whole_number(reply: str, authors: int | None) -> None:
    assert read_rating_authors(reply) == authors


def items_of(count: int) -> pl.DataFrame:
    rows = []
    for i in range(count):
        texts = [{"name": "question", "text": f"Question {i}?"}, {"name": "subtitles", "text": ""}]
        known = {"clip_id": f"v{i // 2}.whole", "unit": f"v{i // 2}", "task": "News", "groups": ["hl"]}
        rows.append(item_row(str(i), texts=texts, answer=f"the answer {i}", **known))
    return pl.DataFrame(rows, schema=ITEMS)


def response(item: int, text: str, error: str = "") -> dict[str, Any]:
    return response_row(f"{item}#unpacked", text, frames_shown=8, tokens_in=0, tokens_out=0, error=error, key="run")


def asked(items: pl.DataFrame, responses: list[dict[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers and judge's requests of an unpacked run."""
    rows = mmbench_video.requests(items, "unpacked", "unpacked")
    requests, said = request_table(rows, "write", 9), pl.DataFrame(responses, schema=RESPONSES)
    answers = given_answers(answers_as_given, items, requests, said, "run")
    return answers, judge_requests(answers, items, JUDGE, 64)


def test_a_judge_is_shown_question_reference_and_answer() -> None:
    _, requests = asked(items_of(1), [response(0, "an answer")])
    row = requests.filter(pl.col("request_id") == "0#robust").row(0, named=True)
    shown = "Question: Question 0?\nGroundtruth answer: the answer 0\nCandidate answer: an answer\nYour response:"
    assert row["prompt"] == shown
    assert "single integer from 0, 1, 2, or 3" in row["system"]
    assert (row["ask"], row["options"], row["expected"]) == ("write", ["0", "1", "2", "3"], "")


def reply(request_id: str, text: str, error: str = "") -> dict[str, Any]:
    return response(0, text, error) | {"request_id": request_id, "key": "judge"}


@pytest.mark.parametrize(
    ("reader", "convention", "ratings"),
    [("robust", "fixed", [None, None, None, 3, 3, 2, None]), ("authors", "authors", [None] * 7)],
)
def test_failed_answers_and_failed_judgements_are_counted_apart_and_never_dropped(
    reader: str, convention: Convention, ratings: list[float | None]
) -> None:
    """Of "3.", "Score: 3", "two", nothing: a person reads three; the harness reads none, and calls all four failed."""
    items, failed = items_of(7), [True, *[False] * 6]
    answers, requests = asked(items, [response(0, "", "timeout"), *(response(i, "x") for i in range(1, 7))])
    assert sorted(set(requests["item_id"])) == list("123456"), "what failed is not judged"
    said = (("1", "", "rate_limited"), ("3", "3."), ("4", "Score: 3"), ("5", "two"), ("6", ""))  # and to 2 nothing
    replies = [reply(f"{item}#{reader}", *words) for item, *words in said]
    frame = judgements(answers, pl.DataFrame(replies, schema=RESPONSES), reader, "j")
    assert frame["score"].to_list() == ratings and frame["failed"].to_list() == failed
    unread = [rating is None and not is_failed for rating, is_failed in zip(ratings, failed, strict=True)]
    assert frame["unparsed"].to_list() == unread
    whole = mmbench_video.numbers("unpacked", items, frame, convention)["mean", "overall"]
    scored = ratings.count(3) + ratings.count(2)
    assert (whole.asked, whole.scored, whole.failed, whole.unparsed) == (7, scored, 1, sum(unread))
    assert whole.value == sum(rating or 0 for rating in ratings) / 7


def rate(text: str, **settings: Any) -> str:
    prompt = f"Question: Q\nGroundtruth answer: the red circle\nCandidate answer: {text}\nYour response:"
    asked = request(prompt, "write", max_tokens=64)
    return next(iter(WordMatch(spec(**settings)).answers(Clip("v", None, (), ()), [asked]))).text


def test_the_local_judge_rates_what_the_prompt_shows() -> None:
    assert [rate(text) for text in ("a red circle", "red circle it spins", "red", "no")] == ["3", "2", "2", "0"]
    assert rate("a red circle,\nI think, of two shapes", measure="recall") == "3"
    with pytest.raises(UserError, match="wordmatch needs the lines"):
        next(iter(WordMatch(spec()).answers(Clip("v", None, (), ()), [request("Does it fit?", "write")])))
    with pytest.raises(ValidationError, match="should be 'f1' or 'recall', found 'bleu'"):
        WordMatch(spec(measure="bleu"))


def test_the_local_judge_of_letters_names_the_last_one_that_stands_alone() -> None:
    asked = [request(f"Q: C\n===== {text} =====", "write", ("A", "B")) for text in ("A or\nB? A.", "Both", "C")]
    assert [one.text for one in LastLetter(spec()).answers(BLIND, asked)] == ["A", "", ""]
    with pytest.raises(UserError, match="lastletter needs a response from a line"):
        list(LastLetter(spec()).answers(BLIND, [request("A or B?", "write", ("A",))]))


def test_mean_absolute_error_against_people(tmp_path: Path) -> None:
    """|3-2.5|, |0-1| and, where the judge gave no rating, |0-3|: as in the means it counts as 0. The authors' convention
    leaves that answer out. The fourth has no rating by people."""
    path = tmp_path / "ratings.csv"
    path.write_text("run,item_id,rating\nr,0,2\nr,0,3\nr,1,1\nr,2,3\nother,3,0\n")
    scores = [3, 0, None, 1]
    rows = [verdict_row("", item_id=str(i), score=score, unparsed=score is None) for i, score in enumerate(scores)]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    for convention, error in (("fixed", 1.5), ("authors", 0.75)):
        (found,) = agreement(verdicts, items_of(4), read_ratings(path), "r", LEVEL, convention)  # type: ignore[arg-type]
        assert (found.value, found.asked, found.unparsed) == (pytest.approx(error), 3, 1), convention
    assert agreement(verdicts, items_of(4), read_ratings(path), "unrated", LEVEL, "fixed") == []
    with pytest.raises(UserError, match="no item '2'"):
        agreement(verdicts, items_of(2), read_ratings(path), "r", LEVEL, "fixed")
    (found,) = agreement(verdicts[:2], items_of(2), read_ratings(path), "r", LEVEL, "fixed", is_part=True)
    assert (found.value, found.asked) == (0.75, 2), "of a part of the items"


@pytest.mark.parametrize(("rows", "message"), [
    ("run,item_id,rating\nr,0,good\n", "line 2: rating 'good'"),
    ("run,item_id,rating\nr,0,2\nr,1,4\n", "line 3: rating '4' is not a num"),
    ("run,item,rating\nr,0,2\n", r"found columns \['run', 'item', 'rating'\], expected run, item_id"),
])  # fmt: skip
def test_broken_ratings_are_refused(rows: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(rows)
    with pytest.raises(UserError, match=message):
        read_ratings(tmp_path / "ratings.csv")


def test_ratings_of_another_scale_are_those_of_its_runs_alone(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("run,item_id,rating\nfive,0,5\nthree,0,3\n")
    assert read_ratings(path, "five", 5)["rating"].to_list() == [5, 3] and read_ratings(path, "three", 3).height == 2
