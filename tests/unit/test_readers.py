"""Readers of scores and words, and the block that a chain of thought ends in."""

import polars as pl
import pytest
from reprise.readers import Reading, output_block, read_authors, read_like_a_person, read_scores, read_text
from reprise.schemas import REQUESTS, RESPONSES
from reprise.verdicts import read_answer, verdicts

YES_NO = ("Yes", "No")


@pytest.mark.parametrize(
    ("scores", "value", "score"),
    [
        ((0.7, 0.3), "Yes", 0.7),
        ((0.006, 0.004), "Yes", 0.6),  # whole-vocabulary probabilities need not add up to 1
        ((0.2, 0.6), "No", 0.25),
        ((0.4, 0.4), "", 0.5),  # exactly one half fails both ways
        ((0.0, 0.0), "", None),
    ],
)
def test_scores_by_the_papers_equation(scores: tuple[float, float], value: str, score: float | None) -> None:
    read = read_scores(scores, YES_NO)
    assert read.value == value
    assert read.score == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("A", ("A", "B"), "A"),
        ("A.", ("A", "B"), ""),  # a letter must stand bare
        ("B)", ("A", "B"), ""),
        (" A", ("A", "B"), ""),
        ("", ("A", "B"), ""),
        ("Yes", YES_NO, "Yes"),
        ("No.", YES_NO, "No"),
        ("Not sure", YES_NO, "No"),  # substring, as in the released script
        ("None of it", YES_NO, "No"),
        ("No, but Yes for the first half", YES_NO, "Yes"),  # Yes is looked for first
        ("no", YES_NO, ""),
    ],
)
def test_the_authors_reader_keeps_its_bugs(text: str, options: tuple[str, ...], value: str) -> None:
    assert read_authors(text, options).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
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
    ],
)
def test_the_first_character_is_all_that_some_authors_read(text: str, value: str) -> None:
    assert read_text(text, ("A", "B"), (), "authors", "first_character").value == value


def test_authors_who_asked_a_judge_are_read_like_a_person() -> None:
    text = "Let me think. The man eats, then he sleeps. So the answer is B."
    assert read_text(text, ("A", "B"), (), "authors", "person").value == "B"
    assert read_text(text, ("A", "B"), (), "authors", "first_character").value == "L"


@pytest.mark.parametrize("score", [0.3, -0.2, 12.0])
def test_one_option_alone_keeps_its_score(score: float) -> None:
    assert read_scores((score,), ("match",)) == Reading("match", score)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("<<<thinking>>> ... <<</thinking>>>\n<<<output>>>\n Yes \n<<</output>>>", "Yes"),
        ("<<<output>>> No", "No"),  # cut off before the closing tag
        ("<<<output>>> [Yes or No] <<</output>>> then <<<output>>> No <<</output>>>", "No"),
        ("<<<OUTPUT>>>Yes<<</OUTPUT>>>", "Yes"),
        ("<<<output>>> Yes <</output>>>", "Yes"),  # one bracket short, as models write it
        ("the caption is right: Yes", ""),
        ("", ""),
    ],
)
def test_a_chain_of_thought_is_read_in_its_output_block(text: str, block: str) -> None:
    assert output_block(text) == block


def test_a_restated_caption_is_an_answer_where_the_options_are_captions() -> None:
    captions = ("The red circle slides left.", "The blue star slides left.")
    assert read_like_a_person("The blue star slides left.", ("A", "B"), captions).value == "B"
    assert read_like_a_person("The blue star slides left.", ("A", "B"), ()).value == ""


def test_failed_unparsed_and_wrong_are_three_things() -> None:
    texts = {"right": ("Yes", ""), "wrong": ("No", ""), "unparsed": ("the video", ""), "failed": ("", "out_of_memory")}
    requests = pl.DataFrame(
        [
            {"request_id": name, "item_id": name, "clip_id": "c", "role": "pos", "ask": "choose", "system": "",
             "prompt": "", "options": list(YES_NO), "option_texts": [], "expected": "Yes", "max_tokens": 1}
            for name in texts
        ],
        schema=REQUESTS,
    )  # fmt: skip
    responses = pl.DataFrame(
        [
            {"request_id": name, "item_id": name, "role": "pos", "text": text, "scores": [], "frames_shown": 1,
             "prompt_sha256": "", "tokens_in": 1, "tokens_out": 1, "error": error, "key": "k"}
            for name, (text, error) in texts.items()
        ],
        schema=RESPONSES,
    )  # fmt: skip
    found = verdicts(requests, responses, "robust", "plain").select("right", "unparsed", "failed").rows()
    assert found == [(True, False, False), (False, False, False), (False, True, False), (False, False, True)]


@pytest.mark.parametrize(("text", "value", "unparsed"), [(" A caption.\n", " A caption.\n", False), (" \n", "", True)])
def test_a_free_answer_is_its_own_reading(text: str, value: str, unparsed: bool) -> None:
    assert read_answer([], text, [], [], "robust", "text").value == value
    assert (not read_answer([], text, [], [], "authors", "text").value) == unparsed
