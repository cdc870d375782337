"""Readers of scores and words, and the block that a chain of thought ends in."""

from collections.abc import Sequence

import polars as pl
import pytest
from reprise.core.schemas import REQUESTS, RESPONSES
from reprise.reading.readers import read_text
from reprise.stages.metrics import readers_differ
from reprise.stages.verdicts import verdicts

from tests.unit.rows import request_row, response_row

YES_NO = ("Yes", "No")


def asked(options: Sequence[str], answers: Sequence[tuple[Sequence[float], str, str]]) -> list[pl.DataFrame]:
    """Requests with these options, of which Yes is right, and an answer to each: scores, text, error."""
    requests, responses = [], []
    for number, (scores, text, error) in enumerate(answers):
        requests.append(request_row(f"{number}#pos", options=list(options)))
        responses.append(response_row(f"{number}#pos", text, scores=list(scores), error=error))
    return [pl.DataFrame(requests, schema=REQUESTS), pl.DataFrame(responses, schema=RESPONSES)]


def read_scores(scores: Sequence[float], options: Sequence[str], reader: str = "robust") -> tuple[str, float | None]:
    """What the stage makes of scores alone."""
    found = verdicts(*asked(options, [(scores, "", "")]), reader, "plain")
    return found["value"][0], found["score"][0]


@pytest.mark.parametrize(("scores", "value", "score"), [
    ((0.7, 0.3), "Yes", 0.7),
    ((0.006, 0.004), "Yes", 0.6),  # whole-vocabulary probabilities need not add up to 1
    ((0.2, 0.6), "No", 0.25),
    ((0.4, 0.4), "", 0.5),  # exactly one half fails both ways
    ((0.0, 0.0), "", None),
    ((float("nan"), 0.4), "", None),  # no number is no answer
])  # fmt: skip
def test_scores_by_the_papers_equation(scores: tuple[float, float], value: str, score: float | None) -> None:
    """To the authors a score of one half or none is wrong, and not unread."""
    read, its_score = read_scores(scores, YES_NO)
    assert read == value and read_scores(scores, YES_NO, "authors")[0] == (value or "neither")
    assert its_score == (None if score is None else pytest.approx(score))
    assert read_scores((-0.2,), ("match",), "authors") == ("match", -0.2), "one option alone keeps its score"


LETTERS, TAGS = ("A", "B"), "<<</thinking>>>\n<<<output>>>"


@pytest.mark.parametrize(("reading", "options", "text", "value"), [
    ("plain", LETTERS, "A.", ""),  # the first word must be the bare letter
    ("plain", LETTERS, " A", "A"),
    ("plain", LETTERS, "A person eats", "A"),
    ("plain", LETTERS, "Answer: B", ""),
    ("plain", LETTERS, " \n", ""),
    ("plain", YES_NO, "No.", "No"),
    ("plain", YES_NO, "Not sure", "No"),  # substring, as in the released script
    ("plain", YES_NO, "No, but Yes for the first half", ""),  # both words: theirs writes "error", which leaves the metric
    ("plain", YES_NO, "Yesterday it was no different", "Yes"),
    ("plain", YES_NO, "no", ""),
    ("first_character", LETTERS, "b", "B"),  # either case
    ("first_character", LETTERS, "Answer: B", "A"),
    ("first_character", LETTERS, "(B)", "("),  # any other character is a wrong answer, not an unread one
    ("first_character", LETTERS, " A", " "),
    ("first_character", LETTERS, "", ""),  # no answer
    ("output_block", YES_NO, f"<<<thinking>>> No {TAGS}\n Yes \n<<</output>>>", "Yes"),
    ("output_block", YES_NO, "<<<output>>> No", "No"),  # cut off before the closing tag
    ("output_block", YES_NO, "<<<output>>> [Yes or No] <<</output>>> then <<<output>>> No <<</output>>>", "No"),
    ("output_block", YES_NO, "<<<output>>> Yes <</output>>>", "Yes"),  # one bracket short, as models write it
    ("output_block", YES_NO, "<thinking>Yes, ...</thinking> <output>\n No \n</output>", "No"),  # one bracket, as the paper's figure may have had it
    ("output_block", YES_NO, "the caption is right: Yes", ""),
    ("text", (), " A caption.\n", " A caption.\n"),  # a free answer is its own reading
    ("text", (), " \n", ""),
])  # fmt: skip
def test_the_authors_readers_keep_their_bugs(reading: str, options: tuple[str, ...], text: str, value: str) -> None:
    assert read_text(text, options, (), "authors", reading).value == value
    if reading in ("output_block", "text"):
        assert read_text(text, options, (), "robust", reading).value == value


@pytest.mark.parametrize("reader", ["authors", "robust"])
def test_scores_and_words_side_by_side(reader: str) -> None:
    """Each answer by what it has; a failed one by nothing, whatever it has."""
    answers = [
        ((0.7, 0.3), "No", ""),
        ((), "No", ""),
        ((0.2, 0.6), "", "Timeout"),
        ((), "Yes", "Timeout"),
        ((), "", ""),
    ]
    requests, responses = asked(YES_NO, answers)
    found = verdicts(requests, responses, reader, "plain").select("value", "score", "unparsed", "failed").rows()
    failed = ("", None, False, True)
    assert found == [("Yes", 0.7, False, False), ("No", None, False, False), failed, failed, ("", None, True, False)]
    by = verdicts(requests, responses, reader, "plain")["read_by"].to_list()
    assert by == ["score", "authors" if reader == "authors" else "leading word", "", "", ""]


def test_the_readers_differ_on_the_answers_that_they_read_differently() -> None:
    rows = {"request_id": ["1", "2", "3", "4"], "value": ["A", "B", "", "A"]}
    robust = pl.DataFrame(rows)
    authors = pl.DataFrame({"request_id": ["4", "3", "2"], "value": ["A", "T", "A"]})
    found = readers_differ(robust, authors)
    assert (found["value"], found["asked"], found["metric"]) == (2.0, 3, "readers_differ")


@pytest.mark.parametrize(("text", "authors", "robust"), [
    ("B", "B", "B"),
    ("(C)", "C", "C"),
    ("The answer is B", "B", "B"),
    ("It is a blue star.", "B", "B"),
    ("a", "", "A"),  # lower case is no letter to the harness
    ("A or B", "", ""),
    ("", "", ""),
    ("I'm sorry, but without the image provided I cannot say a red circle.", "", ""),
])  # fmt: skip
def test_letters_sentences_and_refusals_as_the_harness_and_the_table_read_them(
    text: str, authors: str, robust: str
) -> None:
    texts = ("a red circle", "a blue star", "neither")
    assert read_text(text, ("A", "B", "C"), texts, "authors", "options").value == authors
    assert read_text(text, ("A", "B", "C"), texts, "robust", "options").value == robust
    assert read_text(text, ("A", "B", "C"), texts, "authors", "person").value == robust, "where they asked a judge"
