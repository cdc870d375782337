"""Test extraction from scores, from texts, and from the output block after a chain of thought."""

from collections.abc import Sequence

import polars as pl
import pytest
from reprise.core.schemas import REQUESTS, RESPONSES
from reprise.extraction.extractors import extract_answer
from reprise.stages.metrics import count_extractor_differences
from reprise.stages.verdicts import extract_verdicts

from tests.unit.rows import request_row, response_row

YES_NO = ("Yes", "No")


def make_tables(options: Sequence[str], answers: Sequence[tuple[Sequence[float], str, str]]) -> list[pl.DataFrame]:
    """Return requests with these options, whose expected option is Yes, and a response to each: scores, text, error."""
    requests, responses = [], []
    for number, (scores, text, error) in enumerate(answers):
        requests.append(request_row(f"{number}#pos", options=list(options)))
        responses.append(response_row(f"{number}#pos", text, scores=list(scores), error=error))
    return [pl.DataFrame(requests, schema=REQUESTS), pl.DataFrame(responses, schema=RESPONSES)]


def extract_from_scores(
    scores: Sequence[float], options: Sequence[str], extractor: str = "robust"
) -> tuple[str, float | None]:
    """Return value and score that the stage extracts from scores alone."""
    verdicts = extract_verdicts(*make_tables(options, [(scores, "", "")]), extractor, "plain")
    return verdicts["value"][0], verdicts["score"][0]


@pytest.mark.parametrize(("scores", "value", "score"), [
    ((0.7, 0.3), "Yes", 0.7),
    ((0.006, 0.004), "Yes", 0.6),  # whole-vocabulary probabilities need not add up to 1
    ((0.2, 0.6), "No", 0.25),
    ((0.4, 0.4), "", 0.5),  # exactly one half is neither Yes nor No
    ((0.0, 0.0), "", None),
    ((float("nan"), 0.4), "", None),  # NaN is not an answer
])  # fmt: skip
def test_scores_follow_the_papers_equation(scores: tuple[float, float], value: str, score: float | None) -> None:
    """The extractor `authors` treats a score of one half or none as wrong, not as unparsed."""
    extracted_value, extracted_score = extract_from_scores(scores, YES_NO)
    assert extracted_value == value and extract_from_scores(scores, YES_NO, "authors")[0] == (value or "neither")
    assert extracted_score == (None if score is None else pytest.approx(score))
    assert extract_from_scores((-0.2,), ("match",), "authors") == ("match", -0.2), "a single option keeps its score"


LETTERS, TAGS = ("A", "B"), "<<</thinking>>>\n<<<output>>>"


@pytest.mark.parametrize(("method", "options", "text", "value"), [
    ("plain", LETTERS, "A.", ""),  # the first word must be the bare letter
    ("plain", LETTERS, " A", "A"),
    ("plain", LETTERS, "A person eats", "A"),
    ("plain", LETTERS, "Answer: B", ""),
    ("plain", LETTERS, " \n", ""),
    ("plain", YES_NO, "No.", "No"),
    ("plain", YES_NO, "Not sure", "No"),  # substring, as in the released script
    ("plain", YES_NO, "No, but Yes for the first half", ""),  # both words: the authors' script writes "error", which the metric excludes
    ("plain", YES_NO, "Yesterday it was no different", "Yes"),
    ("plain", YES_NO, "no", ""),
    ("first_character", LETTERS, "b", "B"),  # upper or lower case
    ("first_character", LETTERS, "Answer: B", "A"),
    ("first_character", LETTERS, "(B)", "("),  # any other character is a wrong answer, not an unparsed one
    ("first_character", LETTERS, " A", " "),
    ("first_character", LETTERS, "", ""),  # no answer
    ("output_block", YES_NO, f"<<<thinking>>> No {TAGS}\n Yes \n<<</output>>>", "Yes"),
    ("output_block", YES_NO, "<<<output>>> No", "No"),  # truncated before the closing tag
    ("output_block", YES_NO, "<<<output>>> [Yes or No] <<</output>>> then <<<output>>> No <<</output>>>", "No"),
    ("output_block", YES_NO, "<<<output>>> Yes <</output>>>", "Yes"),  # a bracket is missing, as in real responses
    ("output_block", YES_NO, "<thinking>Yes, ...</thinking> <output>\n No \n</output>", "No"),  # single brackets, as the paper's figure may show
    ("output_block", YES_NO, "the caption is right: Yes", ""),
    ("text", (), " A caption.\n", " A caption.\n"),  # a free-form answer is extracted whole
    ("text", (), " \n", ""),
])  # fmt: skip
def test_the_extractor_authors_keeps_the_bugs_of_the_scripts(
    method: str, options: tuple[str, ...], text: str, value: str
) -> None:
    assert extract_answer(text, options, (), "authors", method).value == value
    if method in ("output_block", "text"):
        assert extract_answer(text, options, (), "robust", method).value == value


@pytest.mark.parametrize("extractor", ["authors", "robust"])
def test_scores_take_precedence_over_texts(extractor: str) -> None:
    """Nothing is extracted from a failed response."""
    answers = [
        ((0.7, 0.3), "No", ""),
        ((), "No", ""),
        ((0.2, 0.6), "", "Timeout"),
        ((), "Yes", "Timeout"),
        ((), "", ""),
    ]
    requests, responses = make_tables(YES_NO, answers)
    verdicts = extract_verdicts(requests, responses, extractor, "plain")
    rows = verdicts.select("value", "score", "unparsed", "failed").rows()
    failed = ("", None, False, True)
    assert rows == [("Yes", 0.7, False, False), ("No", None, False, False), failed, failed, ("", None, True, False)]
    rule = "authors" if extractor == "authors" else "leading word"
    assert verdicts["extracted_by"].to_list() == ["score", rule, "", "", ""]


def test_the_differences_of_the_extractors_are_counted() -> None:
    rows = {"request_id": ["1", "2", "3", "4"], "value": ["A", "B", "", "A"]}
    robust = pl.DataFrame(rows)
    authors = pl.DataFrame({"request_id": ["4", "3", "2"], "value": ["A", "T", "A"]})
    row = count_extractor_differences(robust, authors)
    assert (row["value"], row["requested"], row["metric"]) == (2.0, 3, "extractors_differ")


@pytest.mark.parametrize(("text", "authors", "robust"), [
    ("B", "B", "B"),
    ("(C)", "C", "C"),
    ("The answer is B", "B", "B"),
    ("It is a blue star.", "B", "B"),
    ("a", "", "A"),  # the harness accepts capital letters only
    ("A or B", "", ""),
    ("", "", ""),
    ("I'm sorry, but without the image provided I cannot say a red circle.", "", ""),
])  # fmt: skip
def test_letters_sentences_and_refusals_are_extracted_by_both_extractors(text: str, authors: str, robust: str) -> None:
    texts = ("a red circle", "a blue star", "neither")
    assert extract_answer(text, ("A", "B", "C"), texts, "authors", "options").value == authors
    assert extract_answer(text, ("A", "B", "C"), texts, "robust", "options").value == robust
    assert extract_answer(text, ("A", "B", "C"), texts, "authors", "robust").value == robust, (
        "the authors used a judge here, so both extractors are the same"
    )
