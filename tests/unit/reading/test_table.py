"""The table of the reader `robust`: each row by real answers, and what no row may read."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from reprise.config.benchmark import Protocol
from reprise.reading import table
from reprise.reading.readers import SCALES, read_rating
from reprise.reading.robust import HEAD, TAIL, clean, read_robust
from reprise.reading.table import Reading, own_row

GROUPS = yaml.safe_load((Path(__file__).parents[2] / "data" / "answers" / "robust.yaml").read_text(encoding="utf-8"))
READ = [(group, row, *said) for group in GROUPS for row, answers in group["rows"].items() for said in answers.items()]
UNREAD = [(group, answer) for group in GROUPS for answer in group["unread"]]
CHOICES = [group for group in GROUPS if "scale" not in group]


def read(group: dict[str, Any], answer: str | None) -> Reading:
    if "scale" in group:
        return read_rating(answer, SCALES[group["scale"]])
    return read_robust(answer, group["options"], group.get("texts", []))


@pytest.mark.parametrize(("group", "row", "answer", "value"), READ, ids=[repr(case[2])[:60] for case in READ])
def test_an_answer_is_read_by_its_row(group: dict[str, Any], row: str, answer: str, value: str) -> None:
    assert read(group, answer) == Reading(value, row)


@pytest.mark.parametrize(("group", "answer"), UNREAD, ids=[repr(case[1])[:60] for case in UNREAD])
def test_an_answer_that_chooses_nothing_is_unread(group: dict[str, Any], answer: str | None) -> None:
    assert read(group, answer) == Reading("")


def test_every_row_of_the_table_has_an_answer() -> None:
    shown = {row for _, row, _, _ in READ}
    rows = {row.name for rows in (table.CHOICE, table.WORD, table.RATING) for row in rows}
    assert rows | {table.NEARLY} == shown


@pytest.mark.parametrize("group", CHOICES, ids=[str(group["options"]) for group in CHOICES])
def test_the_order_of_the_options_changes_no_reading(group: dict[str, Any]) -> None:
    texts = group.get("texts") or [""] * len(group["options"])
    answers = [answer for answers in group["rows"].values() for answer in answers] + group["unread"]
    for order in permutations(zip(group["options"], texts, strict=True)):
        options, shown = [option for option, _ in order], [text for _, text in order]
        for answer in answers:
            assert read_robust(answer, options, shown if group.get("texts") else []) == read(group, answer)


@pytest.mark.parametrize("group", CHOICES, ids=[str(group["options"]) for group in CHOICES])
def test_the_question_itself_chooses_nothing(group: dict[str, Any]) -> None:
    options, texts = group["options"], group.get("texts") or []
    lines = [f"{option}. {text}" for option, text in zip(options, texts, strict=False)]
    listed = "\n".join(lines) or " or ".join(options)
    for question in (f"Which one matches the video?\n{listed}", listed, f"{listed}\nAnswer with one of them only."):
        assert read_robust(question, options, texts) == Reading("")


def test_rows_of_ones_own_come_first_and_are_named() -> None:
    own = [own_row("vote", r"my vote goes to (?P<option>[ab])")]
    assert read_robust("A. My vote goes to b.", ("A", "B"), (), own) == Reading("B", "vote (own row)")
    assert read_robust("A.", ("A", "B"), (), own) == Reading("A", "leading label")
    assert read_robust("My vote goes to A. My vote goes to B.", ("A", "B"), (), own) == Reading("")


def test_options_that_are_neither_letters_nor_yes_and_no_must_be_given_back() -> None:
    assert read_robust("Match.", ("match", "differ")) == Reading("match", "option's text")
    assert read_robust("no match", ("match", "differ")) == Reading("")


def test_of_a_long_answer_the_beginning_and_the_end_are_read() -> None:
    long = "The ball rolls on. " * 6000
    assert len(clean(long)) <= HEAD + TAIL + 1
    assert read_robust(f"B. {long}", ("A", "B")).value == "B"
    assert read_robust(f"{long}Final answer: A", ("A", "B")).value == "A"


@pytest.mark.parametrize(("pattern", "words"), [
    ("([", "is no regular expression: unterminated character set at position 1"),
    ("the answer (A|B)", "has no group for the option. Write it as `(?P<option>[AB])`"),
    ("(?P<option>[AB])?", "fits every text"),
])  # fmt: skip
def test_a_pattern_that_does_not_work_is_refused_where_it_stands(pattern: str, words: str) -> None:
    protocol = {"form": "mc", "prompt": "mc", "ask": "choose", "patterns": [{"name": "mine", "pattern": pattern}]}
    with pytest.raises(ValidationError) as error:
        Protocol.model_validate(protocol)
    (mistake,) = error.value.errors()
    assert mistake["loc"] == ("patterns", 0, "pattern")
    assert words in mistake["msg"]
