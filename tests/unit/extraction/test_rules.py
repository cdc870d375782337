"""Test the rules of the extractor `robust` with real answers that each rule matches and answers that stay unparsed."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from reprise.config.benchmark import Protocol
from reprise.extraction import rules as extraction_rules
from reprise.extraction.extractors import SCALE_BY_MAX_RATING, extract_rating
from reprise.extraction.robust import HEAD_CHARS, TAIL_CHARS, clean_answer, extract_robust
from reprise.extraction.rules import Extraction, custom_rule

GROUPS = yaml.safe_load((Path(__file__).parents[2] / "data" / "answers" / "robust.yaml").read_text(encoding="utf-8"))
PARSED = [(group, row, *pair) for group in GROUPS for row, answers in group["rows"].items() for pair in answers.items()]
UNPARSED = [(group, answer) for group in GROUPS for answer in group["unparsed"]]
CHOICES = [group for group in GROUPS if "scale" not in group]


def extract(group: dict[str, Any], answer: str | None) -> Extraction:
    if "scale" in group:
        return extract_rating(answer, SCALE_BY_MAX_RATING[group["scale"]])
    return extract_robust(answer, group["options"], group.get("texts", []))


@pytest.mark.parametrize(("group", "row", "answer", "value"), PARSED, ids=[repr(case[2])[:60] for case in PARSED])
def test_an_answer_is_extracted_by_its_row(group: dict[str, Any], row: str, answer: str, value: str) -> None:
    assert extract(group, answer) == Extraction(value, row)


@pytest.mark.parametrize(("group", "answer"), UNPARSED, ids=[repr(case[1])[:60] for case in UNPARSED])
def test_an_answer_that_names_no_option_is_unparsed(group: dict[str, Any], answer: str | None) -> None:
    assert extract(group, answer) == Extraction("")


def test_every_row_of_the_table_has_an_answer() -> None:
    tested_rows = {row for _, row, _, _ in PARSED}
    rows = {
        row.name
        for rows in (extraction_rules.CHOICE_RULES, extraction_rules.YES_NO_RULES, extraction_rules.RATING_RULES)
        for row in rows
    }
    assert rows | {extraction_rules.NEAR_MATCH} == tested_rows


@pytest.mark.parametrize("group", CHOICES, ids=[str(group["options"]) for group in CHOICES])
def test_the_order_of_the_options_does_not_matter(group: dict[str, Any]) -> None:
    texts = group.get("texts") or [""] * len(group["options"])
    answers = [answer for answers in group["rows"].values() for answer in answers] + group["unparsed"]
    for order in permutations(zip(group["options"], texts, strict=True)):
        options, option_texts = [option for option, _ in order], [text for _, text in order]
        for answer in answers:
            extracted = extract_robust(answer, options, option_texts if group.get("texts") else [])
            assert extracted == extract(group, answer)


@pytest.mark.parametrize("group", CHOICES, ids=[str(group["options"]) for group in CHOICES])
def test_a_repeated_question_is_unparsed(group: dict[str, Any]) -> None:
    options, texts = group["options"], group.get("texts") or []
    lines = [f"{option}. {text}" for option, text in zip(options, texts, strict=False)]
    listed = "\n".join(lines) or " or ".join(options)
    for question in (f"Which one matches the video?\n{listed}", listed, f"{listed}\nAnswer with one of them only."):
        assert extract_robust(question, options, texts) == Extraction("")


def test_custom_rules_come_first_and_are_named() -> None:
    rules = [custom_rule("vote", r"my vote goes to (?P<option>[ab])")]
    assert extract_robust("A. My vote goes to b.", ("A", "B"), (), rules) == Extraction("B", "vote (own row)")
    assert extract_robust("A.", ("A", "B"), (), rules) == Extraction("A", "leading label")
    assert extract_robust("My vote goes to A. My vote goes to B.", ("A", "B"), (), rules) == Extraction("")


def test_other_options_than_letters_and_yes_or_no_must_be_repeated_exactly() -> None:
    assert extract_robust("Match.", ("match", "differ")) == Extraction("match", "option's text")
    assert extract_robust("no match", ("match", "differ")) == Extraction("")


def test_a_long_answer_is_reduced_to_its_beginning_and_end() -> None:
    long = "The ball rolls on. " * 6000
    assert len(clean_answer(long)) <= HEAD_CHARS + TAIL_CHARS + 1
    assert extract_robust(f"B. {long}", ("A", "B")).value == "B"
    assert extract_robust(f"{long}Final answer: A", ("A", "B")).value == "A"


@pytest.mark.parametrize(("pattern", "expected_message"), [
    ("([", "is not a regular expression: unterminated character set at position 1"),
    ("the answer (A|B)", "has no group `option`. Write it as `(?P<option>[AB])`"),
    ("(?P<option>[AB])?", "matches the empty text"),
])  # fmt: skip
def test_an_invalid_pattern_is_rejected_with_its_location(pattern: str, expected_message: str) -> None:
    protocol = {
        "form": "mc",
        "prompt": "mc",
        "request_type": "choose",
        "patterns": [{"name": "mine", "pattern": pattern}],
    }
    with pytest.raises(ValidationError) as caught:
        Protocol.model_validate(protocol)
    (mistake,) = caught.value.errors()
    assert mistake["loc"] == ("patterns", 0, "pattern")
    assert expected_message in mistake["msg"]
