"""Test the health of a run: examples of each number by hand, and when a run looks broken."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks import health
from reprise.benchmarks.health import (
    ANSWERS,
    OPTION,
    REPLIES,
    RIGHT_OPTION,
    compute_health_metrics,
    find_problems,
    is_degenerate,
    summarize_health,
)
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS

from tests.unit.rows import Row, request_row, response_row, verdict_row

TEXT_REQUEST: Row = {"request_type": "write", "options": [], "expected": "", "max_tokens": 10}


def compute_numbers(
    requests: Sequence[Row], responses: Sequence[Row], verdicts: Sequence[Row] | None, group: str = ANSWERS
) -> list[Row]:
    """Return the health metrics for the rows of the three tables; the rows get consecutive ids."""

    def make_table(make_row: Callable[..., Row], rows: Sequence[Row], schema: pl.Schema) -> pl.DataFrame:
        return pl.DataFrame([make_row(f"i{index}#pos", **row) for index, row in enumerate(rows)], schema=schema)

    verdict_table = None if verdicts is None else make_table(verdict_row, verdicts, VERDICTS)
    request_table = make_table(request_row, requests, REQUESTS)
    return list(
        compute_health_metrics(request_table, make_table(response_row, responses, RESPONSES), verdict_table, group)
    )


def list_values(rows: Sequence[Row]) -> dict[str, tuple[float | None, int]]:
    """Return value and sample size by metric, or by metric and option."""
    row_by_name = {row["metric"] + row["group"].removeprefix(ANSWERS).removeprefix(REPLIES): row for row in rows}
    return {name: (row["value"], row["requested"]) for name, row in row_by_name.items()}


def compute_text_numbers(*texts: str, **fields: Any) -> list[Row]:
    """Return the metrics of free-form responses, which extractors do not change."""
    responses = [{"text": text, **fields} for text in texts]
    return compute_numbers([TEXT_REQUEST] * len(texts), responses, [{"value": text} for text in texts])


def compute_option_numbers(*options: str, expected: str = "Yes") -> list[Row]:
    """Return the metrics of responses that each name one option."""
    requests = [{"expected": expected}] * len(options)
    responses = [{"text": option} for option in options]
    return compute_numbers(requests, responses, [{"value": option} for option in options])


def compute_judge_numbers(*verdicts: Row) -> list[Row]:
    """Return the metrics of a judge's replies with these verdicts."""
    responses = [{"text": row.get("value", "")} for row in verdicts]
    return compute_numbers([TEXT_REQUEST] * len(verdicts), responses, verdicts, REPLIES)


def test_the_share_of_an_option_is_among_parsed_answers_that_offer_it() -> None:
    requests = [{"options": ["A", "B"], "expected": "A"}] * 3 + [{"options": ["A", "B", "C"], "expected": "C"}] * 2
    verdicts = [{"value": "A"}, {"value": "B"}, {"unparsed": True}, {"value": "A"}, {"value": "C"}]
    metrics = list_values(compute_numbers(requests, [{"text": "x"}] * 5, verdicts))
    assert [metrics[f"{OPTION}: {option}"] for option in "ABC"] == [(50.0, 4), (25.0, 4), (50.0, 2)]
    assert [metrics[f"{RIGHT_OPTION}: {option}"] for option in "ABC"] == [(50.0, 4), (0.0, 4), (100.0, 2)]
    assert metrics[health.UNPARSED] == (20.0, 5)
    single_option = compute_numbers(
        [{"request_type": "similarity", "options": ["match"]}], [{"scores": [0.5]}], [{"value": "match"}]
    )
    assert not [row for row in single_option if row["metric"] == OPTION], "a single option is not a choice"


def test_a_failed_answer_is_neither_parsed_nor_unparsed() -> None:
    responses = [{"text": "Yes"}, {"error": "timeout"}, {"error": "beyond_context"}, {"text": "?"}]
    verdicts = [{"value": "Yes"}, {"failed": True}, {"failed": True}, {"unparsed": True}]
    metrics = list_values(compute_numbers([{}] * 4, responses, verdicts))
    assert [metrics[name] for name in (health.FAILED, health.CONTEXT_EXCEEDED, health.UNPARSED)] == [
        (50.0, 4),
        (25.0, 4),
        (25.0, 4),
    ]
    assert (metrics[f"{OPTION}: Yes"], metrics[health.DEGENERATE]) == ((100.0, 1), (50.0, 2))
    responses = [{"scores": [0.1], "tokens_in": 77}, {"scores": [0.2], "tokens_in": 20}]
    metrics = list_values(
        compute_numbers([{"request_type": "similarity"}] * 2, responses, [{"value": "match", "score": 0.1}] * 2)
    )
    assert metrics[health.CONTEXT_EXCEEDED] == (50.0, 2), "a text encoder truncates long captions"


DEGENERATE_TEXTS = ["!!!!", "...", "?", "- - - -", "aaaa", "哈哈哈哈", "no no no no", "No. No. No. No.", "<|im_end|>" * 10,
           "the man is " * 7, "!" * 1_000_000]  # fmt: skip
MEANINGFUL_TEXTS = ["A", "B.", "no", "3", "aaa", "no no no", "The red star floats up.", "它在移动", "1 2 3 4", "\x00 red",
             "The white star floats up slowly, and the green cross slides to the left. Then the star falls down again."]  # fmt: skip


def test_degenerate_texts_and_the_most_frequent_text() -> None:
    texts = pl.DataFrame({"text": DEGENERATE_TEXTS + MEANINGFUL_TEXTS})
    assert texts.filter(is_degenerate(pl.col("text")))["text"].to_list() == DEGENERATE_TEXTS
    metrics = next(
        row
        for row in compute_text_numbers("No.", " No. ", "A red star.", "A cross.")
        if row["metric"] == health.MOST_FREQUENT_TEXT
    )
    assert (metrics["value"], metrics["requested"], metrics["note"]) == (50.0, 4, "No.")


def test_an_answer_at_the_token_limit_is_truncated_if_tokens_were_counted() -> None:
    assert list_values(compute_text_numbers("a b", "c d", tokens_out=10))[health.TRUNCATED] == (100.0, 2)
    assert list_values(compute_text_numbers("a b", tokens_out=9))[health.TRUNCATED] == (0.0, 1)
    assert list_values(compute_text_numbers("a b", tokens_out=0))[health.TRUNCATED] == (None, 0)
    assert list_values(compute_numbers([{"max_tokens": 1}], [{"tokens_out": 1}], [{"value": "A"}]))[
        health.TRUNCATED
    ] == (None, 0)
    thinking = compute_numbers([{}], [{"error": "still_thinking", "tokens_out": 0}], [{"failed": True}])
    assert list_values(thinking)[health.TRUNCATED] == (100.0, 1)


def test_the_spread_of_scores_and_a_low_probability_of_the_options() -> None:
    responses = [{"scores": [0.0, 1.0]}, {"scores": [1.0, 0.0]}, {"scores": [0.5, 0.5]}, {"error": "not_finite"}]
    verdicts = [{"value": "No", "score": 0.0}, {"value": "Yes", "score": 1.0}, {"score": 0.5}, {"failed": True}]
    assert list_values(compute_numbers([{"request_type": "score"}] * 4, responses, verdicts))[health.SPREAD] == (0.5, 3)
    text_similarity = compute_numbers([TEXT_REQUEST], [{"text": "a b"}], [{"value": "a b", "score": 0.4}])
    assert list_values(text_similarity)[health.SPREAD] == (None, 0), (
        "the similarity of texts is not a score of the model"
    )
    for share, is_broken in ((0.25, True), (0.5, False)):
        responses = [{"scores": [share * n / 20, share * (20 - n) / 20]} for n in range(20)]
        metrics = compute_numbers(
            [{"request_type": "score"}] * 20, responses, [{"value": "Yes", "score": n / 20} for n in range(20)]
        )
        assert list_values(metrics)[health.OPTIONS_PROBABILITY] == (pytest.approx(100 * share), 20)
        reason = "the options have only 25.0 % of the probability of an answer's first token, less than 50 %"
        assert (reason in find_problems(metrics)) == is_broken


def test_the_health_of_judged_answers_and_of_a_judges_replies() -> None:
    metrics = list_values(compute_numbers([TEXT_REQUEST] * 2, [{"text": "It is A."}, {"text": "!!!!"}], None))
    assert metrics.keys() == {
        health.FAILED,
        health.CONTEXT_EXCEEDED,
        health.TRUNCATED,
        health.DEGENERATE,
        health.MOST_FREQUENT_TEXT,
    }
    assert metrics[health.DEGENERATE] == (50.0, 2)
    metrics = list_values(compute_judge_numbers({"value": "3"}, {"value": "0"}, {"value": "3"}))
    assert metrics[f"{OPTION}: 3"] == (pytest.approx(200 / 3), 3)
    assert f"{RIGHT_OPTION}: 3" not in metrics and health.MOST_FREQUENT_TEXT not in metrics


WRONG_YES = 'answers are "Yes", which is right for 0.0 %'
RATING_3 = {"value": "3", "score": 3.0}
RATINGS_1_AND_2 = [*[{"value": "1"}] * 9, *[{"value": "2"}] * 9]


@pytest.mark.parametrize(("rows", "problems"), [
    pytest.param(compute_numbers([], [], []), [], id="no answers"),
    pytest.param(compute_numbers([{}] * 2, [{"error": "timeout"}] * 2, [{"failed": True}] * 2), ["100.0 % of 2 answers failed"], id="all failed, few answers"),
    pytest.param(compute_option_numbers(*["Yes"] * 20, expected="No"), [f"100.0 % of 20 {WRONG_YES}"], id="always the same"),
    pytest.param(compute_option_numbers(*["Yes"] * 40), [], id="always the same, and correct"),
    pytest.param(compute_option_numbers(*["Yes"] * 94, *["No"] * 6, expected="No"), [], id="below the limit"),
    pytest.param(compute_option_numbers(*["Yes"] * 95, *["No"] * 5, expected="No"), ['95.0 % of 100 answers are "Yes", which is right for 0.0 %'], id="at the limit"),
    pytest.param(compute_numbers([{"request_type": "score"}] * 20, [{"scores": [0.5, 0.5]}] * 20, [{"score": 0.5, "unparsed": True}] * 20),
                 ["100.0 % of 20 answers could not be parsed", "its 20 scores are all equal"], id="scores without variance"),
    pytest.param(compute_numbers([TEXT_REQUEST] * 20, [{"text": "!!!!", "tokens_out": 10}] * 20, None),
                 ["100.0 % of 20 answers reached the token limit", "100.0 % of 20 answers have no words or repeat themselves", '100.0 % of 20 answers are "!!!!"'],
                 id="repeated signs"),
    pytest.param(compute_judge_numbers(*[RATING_3] * 20), ['100.0 % of 20 replies are "3"'], id="a judge with constant ratings"),
    pytest.param(compute_judge_numbers(*[RATING_3] * 18, *[{"value": "2"}] * 2), [], id="a judge with 90 % equal ratings"),
    pytest.param(compute_judge_numbers(*[{"unparsed": True}] * 6, *RATINGS_1_AND_2), ["25.0 % of 24 replies could not be parsed"], id="unparsed ratings"),
])  # fmt: skip
def test_problems_of_a_run_are_named(rows: list[Row], problems: list[str]) -> None:
    assert find_problems(rows) == problems


def test_the_summary_names_each_option() -> None:
    assert summarize_health(compute_option_numbers(*["Yes"] * 20, expected="No")) == "No 0.0 %, Yes 100.0 %"
    assert summarize_health(compute_numbers([], [], [])) == "" and {
        value for value, _ in list_values(compute_numbers([], [], [])).values()
    } == {None}
