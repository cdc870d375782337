"""The health of a run: worked examples of each number, and when a run looks broken."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.health import (
    ALIKE,
    ANSWERS,
    CONTEXT,
    CUT,
    DEGENERATE,
    FAILED,
    OPTION,
    REPLIES,
    RIGHT_OPTION,
    SHARE,
    SPREAD,
    UNREAD,
    health,
    is_degenerate,
    reasons,
    summary,
)
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS

from tests.unit.rows import request_row, response_row, verdict_row

Row = dict[str, Any]


def table(rows: Sequence[Row], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema)


def numbers(asked: Sequence[Row], given: Sequence[Row], read: Sequence[Row] | None, group: str = ANSWERS) -> list[Row]:
    """Rows of the three tables, numbered -> what they say."""
    names = [f"i{place}#pos" for place in range(len(asked))]
    verdicts = None
    if read is not None:
        verdicts = table([verdict_row(name, **row) for name, row in zip(names, read, strict=True)], VERDICTS)
    return list(
        health(
            table([request_row(name, **row) for name, row in zip(names, asked, strict=True)], REQUESTS),
            table([response_row(name, **row) for name, row in zip(names, given, strict=True)], RESPONSES),
            verdicts,
            group,
        )
    )


def values(rows: Sequence[Row]) -> dict[str, tuple[float | None, int]]:
    """Metric, or metric and option -> value, and of how many."""
    named = {row["metric"] + row["group"].removeprefix(ANSWERS).removeprefix(REPLIES): row for row in rows}
    return {name: (row["value"], row["asked"]) for name, row in named.items()}


def written(*texts: str, **known: Any) -> dict[str, tuple[float | None, int]]:
    """Answers in own words, which every reader takes whole."""
    asked = [{"ask": "write", "options": [], "expected": "", "max_tokens": 10}] * len(texts)
    return values(numbers(asked, [{"text": text, **known} for text in texts], [{"value": text} for text in texts]))


def chosen(*options: str, expected: str = "Yes", asked: Sequence[str] = ("Yes", "No")) -> list[Row]:
    """Answers of one option each, one that none reads where it is empty."""
    requests = [{"options": list(asked), "expected": expected}] * len(options)
    read = [{"value": option, "unparsed": not option} for option in options]
    return numbers(requests, [{"text": option or "?"} for option in options], read)


def test_the_share_of_each_option_is_among_answers_that_were_read_and_offer_it() -> None:
    asked = [{"options": ["A", "B"], "expected": "A"}] * 3 + [{"options": ["A", "B", "C"], "expected": "C"}] * 2
    read = [{"value": "A"}, {"value": "B"}, {"unparsed": True}, {"value": "A"}, {"value": "C"}]
    found = values(numbers(asked, [{"text": "x"}] * 5, read))
    assert found[f"{OPTION}: A"] == (50.0, 4)
    assert found[f"{OPTION}: B"] == (25.0, 4)
    assert found[f"{OPTION}: C"] == (50.0, 2)
    assert found[f"{RIGHT_OPTION}: A"] == (50.0, 4)
    assert found[f"{RIGHT_OPTION}: B"] == (0.0, 4)
    assert found[f"{RIGHT_OPTION}: C"] == (100.0, 2)
    assert found[UNREAD] == (20.0, 5)


def test_one_option_alone_is_no_choice() -> None:
    rows = numbers([{"ask": "similarity", "options": ["match"]}], [{"scores": [0.5]}], [{"value": "match"}])
    assert not [row for row in rows if row["metric"] == OPTION]


def test_a_failed_answer_is_neither_read_nor_unread() -> None:
    given = [{"text": "Yes"}, {"error": "timeout"}, {"error": "beyond_context"}, {"text": "?"}]
    read = [{"value": "Yes"}, {"failed": True}, {"failed": True}, {"unparsed": True}]
    found = values(numbers([{}] * 4, given, read))
    assert (found[FAILED], found[CONTEXT], found[UNREAD]) == ((50.0, 4), (25.0, 4), (25.0, 4))
    assert found[f"{OPTION}: Yes"] == (100.0, 1)
    assert found[DEGENERATE] == (50.0, 2)


def test_the_most_frequent_answer_in_own_words_is_named() -> None:
    asked = [{"ask": "write", "options": [], "expected": "", "max_tokens": 9}] * 4
    texts = ["No.", " No. ", "A red star.", "A green cross."]
    rows = numbers(asked, [{"text": text} for text in texts], [{"value": text} for text in texts])
    found = next(row for row in rows if row["metric"] == ALIKE)
    assert (found["value"], found["asked"], found["note"]) == (50.0, 4, "No.")


@pytest.mark.parametrize(
    "text",
    [
        *("!!!!", "...", "?", "- - - -", "aaaa", "哈哈哈哈", "no no no no", "No. No. No. No.", "<|im_end|>" * 10),
        "the man is the man is the man is the man is the man is the man is the man is",
        "!" * 1_000_000,
    ],
)
def test_texts_that_say_nothing(text: str) -> None:
    assert pl.DataFrame({"text": [text]}).select(is_degenerate(pl.col("text"))).item()


@pytest.mark.parametrize(
    "text",
    [
        *("A", "B.", "no", "3", "aaa", "no no no", "The red star floats up.", "它在移动", "1 2 3 4", "\x00 red"),
        "The white star floats up slowly, and the green cross slides to the left. Then the star falls down again.",
    ],
)
def test_texts_that_say_something(text: str) -> None:
    assert not pl.DataFrame({"text": [text]}).select(is_degenerate(pl.col("text"))).item()


def test_an_answer_at_its_limit_of_tokens_is_cut_if_tokens_were_counted() -> None:
    assert written("a b", "c d", tokens_out=10)[CUT] == (100.0, 2)
    assert written("a b", tokens_out=9)[CUT] == (0.0, 1)
    assert written("a b", tokens_out=0)[CUT] == (None, 0)
    alone = values(numbers([{"max_tokens": 1}], [{"text": "A", "tokens_out": 1}], [{"value": "A"}]))
    assert alone[CUT] == (None, 0)
    thinking = numbers([{}], [{"error": "still_thinking", "tokens_out": 0}], [{"failed": True}])
    assert values(thinking)[CUT] == (100.0, 1)


def test_scores_have_a_spread() -> None:
    asked = [{"ask": "score"}] * 4
    given = [{"scores": [0.0, 1.0]}, {"scores": [1.0, 0.0]}, {"scores": [0.5, 0.5]}, {"error": "not_finite"}]
    read = [{"value": "No", "score": 0.0}, {"value": "Yes", "score": 1.0}, {"score": 0.5}, {"failed": True}]
    assert values(numbers(asked, given, read))[SPREAD] == (0.5, 3)


def test_options_that_hold_little_of_the_probability_look_broken() -> None:
    asked = [{"ask": "score", "options": ["Yes", "No"], "max_tokens": 1}] * 20
    for share, is_broken in ((0.25, True), (0.5, False)):
        given = [{"scores": [share * n / 20, share * (20 - n) / 20]} for n in range(20)]
        found = numbers(asked, given, [{"value": "Yes", "score": n / 20} for n in range(20)])
        assert values(found)[SHARE] == (pytest.approx(100 * share), 20)
        words = "25.0 % of the probability of an answer's first token is the options', at least 50 % are wanted"
        assert (words in reasons(found)) == is_broken


def test_the_likeness_of_texts_is_no_score_of_the_model() -> None:
    found = values(numbers([{"ask": "write"}], [{"text": "a b"}], [{"value": "a b", "score": 0.4}]))
    assert found[SPREAD] == (None, 0)


def test_captions_longer_than_a_text_encoder_reads_are_counted() -> None:
    asked = [{"ask": "similarity", "options": ["match"]}] * 2
    given = [{"scores": [0.1], "tokens_in": 77}, {"scores": [0.2], "tokens_in": 20}]
    assert values(numbers(asked, given, [{"value": "match", "score": 0.1}] * 2))[CONTEXT] == (50.0, 2)


def test_answers_that_a_judge_reads_have_the_numbers_that_need_no_reader() -> None:
    asked = [{"ask": "write", "options": ["A", "B"], "max_tokens": 9}] * 2
    found = values(numbers(asked, [{"text": "It is A."}, {"text": "!!!!"}], None))
    assert found.keys() == {FAILED, CONTEXT, CUT, DEGENERATE, ALIKE}
    assert found[DEGENERATE] == (50.0, 2)


def test_the_replies_of_a_judge_have_their_own() -> None:
    asked = [{"options": [], "expected": ""}] * 3
    read = [{"value": "3"}, {"value": "0"}, {"value": "3"}]
    found = values(numbers(asked, [{"text": text} for text in "303"], read, REPLIES))
    assert found[f"{OPTION}: 3"] == (pytest.approx(200 / 3), 3)
    assert f"{RIGHT_OPTION}: 3" not in found
    assert ALIKE not in found


def rated(*read: Row, given: Sequence[Row] | None = None) -> list[Row]:
    """A judge's replies as they were read -> what they say."""
    asked = [{"ask": "write", "options": [], "expected": "", "max_tokens": 16}] * len(read)
    return numbers(asked, given or [{"text": row.get("value", "")} for row in read], read, REPLIES)


BROKEN = 'answers are "Yes", which is right for 0.0 %'
THREES = {"value": "3", "score": 3.0}
ONES_AND_TWOS = [*[{"value": "1"}] * 9, *[{"value": "2"}] * 9]
REPEATED = [{"ask": "write", "options": [], "expected": "", "max_tokens": 4}] * 20


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(numbers([], [], []), [], id="nothing answered"),
        pytest.param(chosen("Yes"), [], id="one answer looks like nothing"),
        pytest.param(numbers([{}] * 2, [{"error": "timeout"}] * 2, [{"failed": True}] * 2), ["100.0 % of 2 answers failed"], id="all failed, however few"),
        pytest.param(chosen(*["Yes"] * 20, expected="No"), [f"100.0 % of 20 {BROKEN}"], id="always the same"),
        pytest.param(chosen(*["Yes"] * 40), [], id="always the same, and right"),
        pytest.param(chosen(*["Yes"] * 94, *["No"] * 6, expected="No"), [], id="below the limit"),
        pytest.param(chosen(*["Yes"] * 95, *["No"] * 5, expected="No"), ['95.0 % of 100 answers are "Yes", which is right for 0.0 %'], id="at the limit"),
        pytest.param(
            numbers([{"ask": "score"}] * 20, [{"scores": [0.5, 0.5]}] * 20, [{"score": 0.5, "unparsed": True}] * 20),
            ["100.0 % of 20 answers could not be read", "its 20 scores are all alike"], id="scores without variance",
        ),
        pytest.param(
            numbers(REPEATED, [{"text": "!!!!", "tokens_out": 4}] * 20, None),
            ["100.0 % of 20 answers reached the limit of tokens", "100.0 % of 20 answers say nothing or repeat themselves",
             '100.0 % of 20 answers are "!!!!"'], id="repeated signs",
        ),
        pytest.param(rated(*[THREES] * 20), ['100.0 % of 20 replies are "3"'], id="a judge that always rates alike"),
        pytest.param(rated(*[THREES] * 19), [], id="a judge, too few to say so"),
        pytest.param(rated(*[THREES] * 18, *[{"value": "2"}] * 2), [], id="a judge, 90 % may be"),
        pytest.param(
            rated(*[{"unparsed": True}] * 6, *ONES_AND_TWOS), ["25.0 % of 24 replies could not be read"], id="unread ratings"
        ),
        pytest.param(
            rated(*[{"failed": True}] * 2, *ONES_AND_TWOS, given=[*[{"error": "timeout"}] * 2, *[{"text": "1"}] * 18]),
            ["10.0 % of 20 replies failed"], id="failed ratings",
        ),
    ],
)  # fmt: skip
def test_when_a_run_looks_broken(rows: list[Row], said: list[str]) -> None:
    assert reasons(rows) == said


def test_the_summary_names_each_option() -> None:
    assert summary(chosen(*["Yes"] * 20, expected="No")) == "No 0.0 %, Yes 100.0 %"
    assert summary(numbers([], [], [])) == "" and {value for value, _ in values(numbers([], [], [])).values()} == {None}
    assert values(rated(*[THREES] * 20))[f"{OPTION}: 3"] == (100.0, 20)
    assert values(chosen("Yes"))[f"{OPTION}: Yes"] == (100.0, 1)
