"""The health of a run: worked examples of each number, and when a run looks broken."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks import health as of
from reprise.benchmarks.health import (
    ANSWERS,
    OPTION,
    REPLIES,
    RIGHT_OPTION,
    compute_health_metrics,
    find_problems,
    is_degenerate,
    summarize,
)
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS

from tests.unit.rows import Row, request_row, response_row, verdict_row

WRITTEN: Row = {"ask": "write", "options": [], "expected": "", "max_tokens": 10}


def numbers(asked: Sequence[Row], given: Sequence[Row], read: Sequence[Row] | None, group: str = ANSWERS) -> list[Row]:
    """Rows of the three tables, numbered -> what they say."""

    def table(row_of: Callable[..., Row], rows: Sequence[Row], schema: pl.Schema) -> pl.DataFrame:
        return pl.DataFrame([row_of(f"i{at}#pos", **row) for at, row in enumerate(rows)], schema=schema)

    verdicts = None if read is None else table(verdict_row, read, VERDICTS)
    return list(
        compute_health_metrics(
            table(request_row, asked, REQUESTS), table(response_row, given, RESPONSES), verdicts, group
        )
    )


def values(rows: Sequence[Row]) -> dict[str, tuple[float | None, int]]:
    """Metric, or metric and option -> value, and of how many."""
    named = {row["metric"] + row["group"].removeprefix(ANSWERS).removeprefix(REPLIES): row for row in rows}
    return {name: (row["value"], row["requested"]) for name, row in named.items()}


def written(*texts: str, **known: Any) -> list[Row]:
    """Free-form answers, which every extractor keeps whole."""
    given = [{"text": text, **known} for text in texts]
    return numbers([WRITTEN] * len(texts), given, [{"value": text} for text in texts])


def chosen(*options: str, expected: str = "Yes") -> list[Row]:
    """Answers of one option each."""
    asked = [{"expected": expected}] * len(options)
    return numbers(asked, [{"text": one} for one in options], [{"value": one} for one in options])


def rated(*read: Row, given: Sequence[Row] | None = None) -> list[Row]:
    """A judge's replies as they were read -> what they say."""
    return numbers([WRITTEN] * len(read), given or [{"text": row.get("value", "")} for row in read], read, REPLIES)


def test_the_share_of_an_option_is_among_parsed_answers_that_offer_it() -> None:
    asked = [{"options": ["A", "B"], "expected": "A"}] * 3 + [{"options": ["A", "B", "C"], "expected": "C"}] * 2
    read = [{"value": "A"}, {"value": "B"}, {"unparsed": True}, {"value": "A"}, {"value": "C"}]
    found = values(numbers(asked, [{"text": "x"}] * 5, read))
    assert [found[f"{OPTION}: {option}"] for option in "ABC"] == [(50.0, 4), (25.0, 4), (50.0, 2)]
    assert [found[f"{RIGHT_OPTION}: {option}"] for option in "ABC"] == [(50.0, 4), (0.0, 4), (100.0, 2)]
    assert found[of.UNPARSED] == (20.0, 5)
    alone = numbers([{"ask": "similarity", "options": ["match"]}], [{"scores": [0.5]}], [{"value": "match"}])
    assert not [row for row in alone if row["metric"] == OPTION], "one option alone is no choice"


def test_a_failed_answer_is_neither_parsed_nor_unparsed() -> None:
    given = [{"text": "Yes"}, {"error": "timeout"}, {"error": "beyond_context"}, {"text": "?"}]
    read = [{"value": "Yes"}, {"failed": True}, {"failed": True}, {"unparsed": True}]
    found = values(numbers([{}] * 4, given, read))
    assert [found[name] for name in (of.FAILED, of.CONTEXT_EXCEEDED, of.UNPARSED)] == [(50.0, 4), (25.0, 4), (25.0, 4)]
    assert (found[f"{OPTION}: Yes"], found[of.DEGENERATE]) == ((100.0, 1), (50.0, 2))
    given = [{"scores": [0.1], "tokens_in": 77}, {"scores": [0.2], "tokens_in": 20}]
    found = values(numbers([{"ask": "similarity"}] * 2, given, [{"value": "match", "score": 0.1}] * 2))
    assert found[of.CONTEXT_EXCEEDED] == (50.0, 2), "captions longer than a text encoder reads are cut"


NOTHING = ["!!!!", "...", "?", "- - - -", "aaaa", "哈哈哈哈", "no no no no", "No. No. No. No.", "<|im_end|>" * 10,
           "the man is " * 7, "!" * 1_000_000]  # fmt: skip
SOMETHING = ["A", "B.", "no", "3", "aaa", "no no no", "The red star floats up.", "它在移动", "1 2 3 4", "\x00 red",
             "The white star floats up slowly, and the green cross slides to the left. Then the star falls down again."]  # fmt: skip


def test_degenerate_texts_and_the_most_frequent_text() -> None:
    texts = pl.DataFrame({"text": NOTHING + SOMETHING})
    assert texts.filter(is_degenerate(pl.col("text")))["text"].to_list() == NOTHING
    found = next(row for row in written("No.", " No. ", "A red star.", "A cross.") if row["metric"] == of.MOST_FREQUENT)
    assert (found["value"], found["requested"], found["note"]) == (50.0, 4, "No.")


def test_an_answer_at_the_token_limit_is_truncated_if_tokens_were_counted() -> None:
    assert values(written("a b", "c d", tokens_out=10))[of.TRUNCATED] == (100.0, 2)
    assert values(written("a b", tokens_out=9))[of.TRUNCATED] == (0.0, 1)
    assert values(written("a b", tokens_out=0))[of.TRUNCATED] == (None, 0)
    assert values(numbers([{"max_tokens": 1}], [{"tokens_out": 1}], [{"value": "A"}]))[of.TRUNCATED] == (None, 0)
    thinking = numbers([{}], [{"error": "still_thinking", "tokens_out": 0}], [{"failed": True}])
    assert values(thinking)[of.TRUNCATED] == (100.0, 1)


def test_the_spread_of_scores_and_a_low_probability_of_the_options() -> None:
    given = [{"scores": [0.0, 1.0]}, {"scores": [1.0, 0.0]}, {"scores": [0.5, 0.5]}, {"error": "not_finite"}]
    read = [{"value": "No", "score": 0.0}, {"value": "Yes", "score": 1.0}, {"score": 0.5}, {"failed": True}]
    assert values(numbers([{"ask": "score"}] * 4, given, read))[of.SPREAD] == (0.5, 3)
    likeness = numbers([WRITTEN], [{"text": "a b"}], [{"value": "a b", "score": 0.4}])
    assert values(likeness)[of.SPREAD] == (None, 0), "that of texts is no score of the model"
    for share, is_broken in ((0.25, True), (0.5, False)):
        given = [{"scores": [share * n / 20, share * (20 - n) / 20]} for n in range(20)]
        found = numbers([{"ask": "score"}] * 20, given, [{"value": "Yes", "score": n / 20} for n in range(20)])
        assert values(found)[of.OPTIONS_PROBABILITY] == (pytest.approx(100 * share), 20)
        reason = "the options have only 25.0 % of the probability of an answer's first token, less than 50 %"
        assert (reason in find_problems(found)) == is_broken


def test_the_health_of_judged_answers_and_of_a_judges_replies() -> None:
    found = values(numbers([WRITTEN] * 2, [{"text": "It is A."}, {"text": "!!!!"}], None))
    assert found.keys() == {of.FAILED, of.CONTEXT_EXCEEDED, of.TRUNCATED, of.DEGENERATE, of.MOST_FREQUENT}
    assert found[of.DEGENERATE] == (50.0, 2)
    found = values(rated({"value": "3"}, {"value": "0"}, {"value": "3"}))
    assert found[f"{OPTION}: 3"] == (pytest.approx(200 / 3), 3)
    assert f"{RIGHT_OPTION}: 3" not in found and of.MOST_FREQUENT not in found


BROKEN = 'answers are "Yes", which is right for 0.0 %'
THREES = {"value": "3", "score": 3.0}
ONES_AND_TWOS = [*[{"value": "1"}] * 9, *[{"value": "2"}] * 9]


@pytest.mark.parametrize(("rows", "said"), [
    pytest.param(numbers([], [], []), [], id="nothing answered"),
    pytest.param(numbers([{}] * 2, [{"error": "timeout"}] * 2, [{"failed": True}] * 2), ["100.0 % of 2 answers failed"], id="all failed, however few"),
    pytest.param(chosen(*["Yes"] * 20, expected="No"), [f"100.0 % of 20 {BROKEN}"], id="always the same"),
    pytest.param(chosen(*["Yes"] * 40), [], id="always the same, and right"),
    pytest.param(chosen(*["Yes"] * 94, *["No"] * 6, expected="No"), [], id="below the limit"),
    pytest.param(chosen(*["Yes"] * 95, *["No"] * 5, expected="No"), ['95.0 % of 100 answers are "Yes", which is right for 0.0 %'], id="at the limit"),
    pytest.param(numbers([{"ask": "score"}] * 20, [{"scores": [0.5, 0.5]}] * 20, [{"score": 0.5, "unparsed": True}] * 20),
                 ["100.0 % of 20 answers could not be parsed", "its 20 scores are all equal"], id="scores without variance"),
    pytest.param(numbers([WRITTEN] * 20, [{"text": "!!!!", "tokens_out": 10}] * 20, None),
                 ["100.0 % of 20 answers reached the token limit", "100.0 % of 20 answers have no words or repeat themselves", '100.0 % of 20 answers are "!!!!"'],
                 id="repeated signs"),
    pytest.param(rated(*[THREES] * 20), ['100.0 % of 20 replies are "3"'], id="a judge that always rates alike"),
    pytest.param(rated(*[THREES] * 18, *[{"value": "2"}] * 2), [], id="a judge, 90 % may be"),
    pytest.param(rated(*[{"unparsed": True}] * 6, *ONES_AND_TWOS), ["25.0 % of 24 replies could not be parsed"], id="unparsed ratings"),
])  # fmt: skip
def test_when_a_run_looks_broken(rows: list[Row], said: list[str]) -> None:
    assert find_problems(rows) == said


def test_the_summary_names_each_option() -> None:
    assert summarize(chosen(*["Yes"] * 20, expected="No")) == "No 0.0 %, Yes 100.0 %"
    assert summarize(numbers([], [], [])) == "" and {value for value, _ in values(numbers([], [], [])).values()} == {
        None
    }
