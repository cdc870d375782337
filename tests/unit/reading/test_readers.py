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
    requests = [request_row(f"{number}#pos", options=list(options)) for number in range(len(answers))]
    responses = [
        response_row(f"{number}#pos", text, scores=list(scores), error=error)
        for number, (scores, text, error) in enumerate(answers)
    ]
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


@pytest.mark.parametrize(("text", "options", "value"), [
    ("A", ("A", "B"), "A"),
    ("A.", ("A", "B"), ""),  # the first word must be the bare letter
    ("B)", ("A", "B"), ""),
    (" A", ("A", "B"), "A"),
    ("A person eats", ("A", "B"), "A"),
    ("Answer: B", ("A", "B"), ""),
    (" \n", ("A", "B"), ""),
    ("", ("A", "B"), ""),
    ("Yes", YES_NO, "Yes"),
    ("No.", YES_NO, "No"),
    ("Not sure", YES_NO, "No"),  # substring, as in the released script
    ("None of it", YES_NO, "No"),
    ("No, but Yes for the first half", YES_NO, ""),  # both words: theirs writes "error", which leaves the metric
    ("Yes. Nothing contradicts the caption.", YES_NO, ""),
    ("Yesterday it was no different", YES_NO, "Yes"),
    ("no", YES_NO, ""),
    ("yes", YES_NO, ""),
])  # fmt: skip
def test_the_authors_reader_keeps_its_bugs(text: str, options: tuple[str, ...], value: str) -> None:
    assert read_text(text, options, (), "authors", "plain").value == value


@pytest.mark.parametrize(("text", "value"), [
    ("A", "A"),
    ("b", "B"),  # either case
    ("B. The person pulls it.", "B"),
    ("A person eats", "A"),
    ("Answer: B", "A"),
    ("(B)", "("),  # any other character is a wrong answer, not an unread one
    ("**B**", "*"),
    ("The second", "T"),
    (" A", " "),
    ("C", "C"),
    ("", ""),  # no answer
])  # fmt: skip
def test_the_first_character_is_all_that_some_authors_read(text: str, value: str) -> None:
    assert read_text(text, ("A", "B"), (), "authors", "first_character").value == value


@pytest.mark.parametrize("score", [0.3, -0.2, 12.0])
def test_one_option_alone_keeps_its_score(score: float) -> None:
    assert read_scores((score,), ("match",), "authors") == ("match", score)


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


@pytest.mark.parametrize(("text", "value"), [
    ("<<<thinking>>> No <<</thinking>>>\n<<<output>>>\n Yes \n<<</output>>>", "Yes"),
    ("<<<output>>> No", "No"),  # cut off before the closing tag
    ("<<<output>>> [Yes or No] <<</output>>> then <<<output>>> No <<</output>>>", "No"),
    ("<<<OUTPUT>>>Yes<<</OUTPUT>>>", "Yes"),
    ("<<<output>>> Yes <</output>>>", "Yes"),  # one bracket short, as models write it
    ("<output>Yes</output>", "Yes"),  # one bracket, as the paper's figure may have had it
    ("<thinking>Yes, ...</thinking> <output>\n No \n</output>", "No"),
    ("the caption is right: Yes", ""),
    ("", ""),
])  # fmt: skip
def test_a_chain_of_thought_is_read_in_its_output_block(text: str, value: str) -> None:
    for reader in ("authors", "robust"):
        assert read_text(text, YES_NO, (), reader, "output_block").value == value


@pytest.mark.parametrize(("text", "value", "unparsed"), [(" A caption.\n", " A caption.\n", False), (" \n", "", True)])
def test_a_free_answer_is_its_own_reading(text: str, value: str, unparsed: bool) -> None:
    assert read_text(text, (), (), "robust", "text").value == value
    assert (not read_text(text, (), (), "authors", "text").value) == unparsed


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
    ("Z", "", ""),
    ("I'm sorry, but without the image provided I cannot say a red circle.", "", ""),
])  # fmt: skip
def test_letters_sentences_and_refusals_as_the_harness_and_the_table_read_them(
    text: str, authors: str, robust: str
) -> None:
    texts = ("a red circle", "a blue star", "neither")
    assert read_text(text, ("A", "B", "C"), texts, "authors", "options").value == authors
    assert read_text(text, ("A", "B", "C"), texts, "robust", "options").value == robust
    assert read_text(text, ("A", "B", "C"), texts, "authors", "person").value == robust, "where they asked a judge"
