"""Test judges: their requests, the extraction of their replies, failed answers and judgements, and local judges."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError
from reprise.benchmarks.human_ratings import measure_judge_error, read_ratings
from reprise.benchmarks.question_forms import select_all_answers
from reprise.benchmarks.scoring import Convention
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, RESPONSES, VERDICTS
from reprise.extraction.extractors import extract_rating_by_authors
from reprise.models.base import ClipFrames
from reprise.models.local.baselines.lastletter import LastLetter
from reprise.models.local.baselines.wordmatch import WordMatch
from reprise.stages.judge_requests import build_judge_requests, collect_answers
from reprise.stages.judgements import extract_judgements

from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.requests import NO_FRAMES, make_request, model_spec
from tests.unit.rows import item_row, request_table, response_row, verdict_row

mmbench_video = BenchmarkPipeline("mmbench_video")

JUDGE = mmbench_video.prompts["judge"]
LEVEL = 0.95


@pytest.mark.parametrize(("reply", "rating"), [
    ("3", 3), (" 2\n", 2), ("0", 0), ("03", None), ("5", 5),  # the harness accepts any whole number
    ("3.", None), ("Score: 3", None), ("**2**", None), ("two", None), ("", None), ("-1", None), ("2/3", None),
    ("2+1", None), ("True", None),  # the harness evaluates these texts and then fails
])  # fmt: skip
def test_the_authors_rating_is_a_bare_whole_number(reply: str, rating: int | None) -> None:
    assert extract_rating_by_authors(reply) == rating


def make_items(count: int) -> pl.DataFrame:
    rows = []
    for i in range(count):
        texts = [{"name": "question", "text": f"Question {i}?"}, {"name": "subtitles", "text": ""}]
        fields = {"clip_id": f"v{i // 2}.whole", "cluster": f"v{i // 2}", "task": "News", "groups": ["hl"]}
        rows.append(item_row(str(i), texts=texts, answer=f"the answer {i}", **fields))
    return pl.DataFrame(rows, schema=ITEMS)


def make_response(item: int, text: str, error: str = "") -> dict[str, Any]:
    return response_row(f"{item}#unpacked", text, frames_shown=8, tokens_in=0, tokens_out=0, error=error, key="run")


def make_requests(items: pl.DataFrame, responses: list[dict[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the answers and the judge's requests of an unpacked run."""
    rows = mmbench_video.requests(items, "unpacked", "unpacked")
    requests, response_table = request_table(rows, "write", 9), pl.DataFrame(responses, schema=RESPONSES)
    answers = collect_answers(select_all_answers, items, requests, response_table, "run")
    return answers, build_judge_requests(answers, items, JUDGE, 64)


def test_a_judge_receives_question_reference_and_answer() -> None:
    _, requests = make_requests(make_items(1), [make_response(0, "an answer")])
    row = requests.filter(pl.col("request_id") == "0#robust").row(0, named=True)
    prompt = "Question: Question 0?\nGroundtruth answer: the answer 0\nCandidate answer: an answer\nYour response:"
    assert row["prompt"] == prompt
    assert "single integer from 0, 1, 2, or 3" in row["system"]
    assert (row["request_type"], row["options"], row["expected"]) == ("write", ["0", "1", "2", "3"], "")


def make_reply(request_id: str, text: str, error: str = "") -> dict[str, Any]:
    return make_response(0, text, error) | {"request_id": request_id, "key": "judge"}


@pytest.mark.parametrize(
    ("extractor", "convention", "ratings"),
    [("robust", "fixed", [None, None, None, 3, 3, 2, None]), ("authors", "authors", [None] * 7)],
)
def test_failed_answers_and_failed_judgements_are_counted_separately_and_never_dropped(
    extractor: str, convention: Convention, ratings: list[float | None]
) -> None:
    """Extract ratings from "3.", "Score: 3", "two" and "": `robust` extracts three, and the harness none of them."""
    items, expected_failed = make_items(7), [True, *[False] * 6]
    answers, requests = make_requests(
        items, [make_response(0, "", "timeout"), *(make_response(i, "x") for i in range(1, 7))]
    )
    assert sorted(set(requests["item_id"])) == list("123456"), "failed answers are not judged"
    texts = (("1", "", "rate_limited"), ("3", "3."), ("4", "Score: 3"), ("5", "two"), ("6", ""))  # no reply to item 2
    replies = [make_reply(f"{item}#{extractor}", *reply_fields) for item, *reply_fields in texts]
    verdicts = extract_judgements(answers, pl.DataFrame(replies, schema=RESPONSES), extractor, "j")
    assert verdicts["score"].to_list() == ratings and verdicts["failed"].to_list() == expected_failed
    unparsed = [rating is None and not is_failed for rating, is_failed in zip(ratings, expected_failed, strict=True)]
    assert verdicts["unparsed"].to_list() == unparsed
    overall = mmbench_video.numbers("unpacked", items, verdicts, convention)["mean", "overall"]
    scored = ratings.count(3) + ratings.count(2)
    assert (overall.requested, overall.scored, overall.failed, overall.unparsed) == (7, scored, 1, sum(unparsed))
    assert overall.value == sum(rating or 0 for rating in ratings) / 7


def rate_with_wordmatch(text: str, **settings: Any) -> str:
    prompt = f"Question: Q\nGroundtruth answer: the red circle\nCandidate answer: {text}\nYour response:"
    requests = [make_request(prompt, "write", max_tokens=64)]
    return next(iter(WordMatch(model_spec(**settings)).answers(ClipFrames("v", None, (), ()), requests))).text


def test_the_local_judge_rates_the_answer_in_the_prompt() -> None:
    assert [rate_with_wordmatch(text) for text in ("a red circle", "red circle it spins", "red", "no")] == [
        "3",
        "2",
        "2",
        "0",
    ]
    assert rate_with_wordmatch("a red circle,\nI think, of two shapes", measure="recall") == "3"
    with pytest.raises(UserError, match="wordmatch needs a judge's prompt with the lines"):
        next(
            iter(
                WordMatch(model_spec()).answers(ClipFrames("v", None, (), ()), [make_request("Does it fit?", "write")])
            )
        )
    with pytest.raises(ValidationError, match="should be 'f1' or 'recall', found 'bleu'"):
        WordMatch(model_spec(measure="bleu"))


def test_the_local_judge_of_letters_names_the_last_separate_letter() -> None:
    requests = [make_request(f"Q: C\n===== {text} =====", "write", ("A", "B")) for text in ("A or\nB? A.", "Both", "C")]
    assert [answer.text for answer in LastLetter(model_spec()).answers(NO_FRAMES, requests)] == ["A", "", ""]
    with pytest.raises(UserError, match="lastletter needs a prompt that quotes the response"):
        list(LastLetter(model_spec()).answers(NO_FRAMES, [make_request("A or B?", "write", ("A",))]))


def test_mean_absolute_error_of_a_judge_against_annotators(tmp_path: Path) -> None:
    """The errors are |3-2.5|, |0-1| and |0-3|, because an answer without a judge's rating counts as 0.

    The authors' convention leaves that answer out. Annotators did not rate the fourth answer.
    """
    path = tmp_path / "ratings.csv"
    path.write_text("run,item_id,rating\nr,0,2\nr,0,3\nr,1,1\nr,2,3\nother,3,0\n")
    scores = [3, 0, None, 1]
    rows = [verdict_row("", item_id=str(i), score=score, unparsed=score is None) for i, score in enumerate(scores)]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    for convention, error in (("fixed", 1.5), ("authors", 0.75)):
        (measure,) = measure_judge_error(verdicts, make_items(4), read_ratings(path), "r", LEVEL, convention)  # type: ignore[arg-type]
        assert (measure.value, measure.requested, measure.unparsed) == (pytest.approx(error), 3, 1), convention
    assert measure_judge_error(verdicts, make_items(4), read_ratings(path), "unrated", LEVEL, "fixed") == []
    with pytest.raises(UserError, match="no item '2'"):
        measure_judge_error(verdicts, make_items(2), read_ratings(path), "r", LEVEL, "fixed")
    (measure,) = measure_judge_error(
        verdicts[:2], make_items(2), read_ratings(path), "r", LEVEL, "fixed", is_sample=True
    )
    assert (measure.value, measure.requested) == (0.75, 2), "a sample of the items"


@pytest.mark.parametrize(("rows", "message"), [
    ("run,item_id,rating\nr,0,good\n", "line 2: rating 'good'"),
    ("run,item_id,rating\nr,0,2\nr,1,4\n", "line 3: rating '4' is not a num"),
    ("run,item,rating\nr,0,2\n", r"found columns \['run', 'item', 'rating'\], expected run, item_id"),
])  # fmt: skip
def test_invalid_ratings_are_rejected(rows: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(rows)
    with pytest.raises(UserError, match=message):
        read_ratings(tmp_path / "ratings.csv")


def test_a_scale_applies_only_to_its_own_runs(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("run,item_id,rating\nfive,0,5\nthree,0,3\n")
    assert read_ratings(path, "five", 5)["rating"].to_list() == [5, 3] and read_ratings(path, "three", 3).height == 2
