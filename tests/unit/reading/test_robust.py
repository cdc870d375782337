"""The `robust` reader against the lists of answers, and against noise that must not change what it reads."""

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.reading import letters, normalise, restated
from reprise.reading.readers import bare_letter, read_like_a_person
from reprise.reading.robust import read_robust

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
NOISE = (" ", "  ", "\n", "\t", "**", "*", "__", "`", "\n\n", "> ", "\u200b", "#", '"', "\u00a0")


def corpus(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load((ANSWERS / f"{name}.yaml").read_text(encoding="utf-8")))


def params(name: str) -> list[Any]:
    return [pytest.param(entry, id=entry["id"]) for entry in corpus(name)]


def read(entry: dict[str, Any]) -> str:
    return read_robust(entry["text"], entry["options"], entry.get("captions")) or "unparsed"


@pytest.mark.parametrize("entry", params("robust"))
def test_reads_what_a_person_reads(entry: dict[str, Any]) -> None:
    assert read(entry) == entry["expect"]


@pytest.mark.parametrize("entry", params("unseen"))
def test_never_reads_a_wrong_option_in_unseen_answers(entry: dict[str, Any]) -> None:
    assert read(entry) in (entry["expect"], "unparsed")


def test_reads_nine_of_ten_unseen_answers() -> None:
    entries = corpus("unseen")
    missed = [entry["id"] for entry in entries if read(entry) != entry["expect"]]
    assert len(missed) <= len(entries) / 10, missed


@pytest.mark.parametrize(
    ("text", "options"),
    [("A", "AB"), ("B", "AB"), ("(C)", "ABCD"), ("d.", "ABCD"), ("Yes", ["Yes", "No"]), ("No.", ["Yes", "No"])],
)
def test_noise_never_flips_an_option(text: str, options: str | list[str]) -> None:
    rng = random.Random(7)
    wanted = read_robust(text, list(options))
    assert wanted
    for _ in range(400):
        noisy = text
        for _ in range(rng.randint(1, 5)):
            at = rng.randint(0, len(noisy))
            noisy = noisy[:at] + rng.choice(NOISE) + noisy[at:]
        assert read_robust(noisy, list(options)) in (wanted, ""), repr(noisy)


@pytest.mark.parametrize("text", ["A", "B"])
def test_noise_around_a_letter_is_no_noise(text: str) -> None:
    for noise in NOISE:
        assert read_robust(noise + text + noise, ["A", "B"]) == text, repr(noise)


@pytest.mark.parametrize(
    "unit",
    [
        "A ", "A, ", "(", "<", "<think>", "</think>", '{"', '"answer": ', "the answer is ", "i choose ", "A is ",
        "but A ", "caption is very ", "a dog chases ", "\nQ:", "A) x ", "«", "~", "'", "\n", " ", "x", "the video does not ",
        "1. ",
    ],
)  # fmt: skip
def test_a_runaway_answer_is_read_to_its_end(unit: str) -> None:
    captions = {"A": "A dog chases a boy across the yard.", "B": "A boy chases a dog across the yard."}
    text = unit * (200_000 // len(unit))
    assert read_robust(text, ["A", "B"], captions) in ("A", "")
    assert read_robust(text, ["Yes", "No"]) == ""


def test_options_that_are_neither_letters_nor_yes_and_no_must_stand_alone() -> None:
    assert read_robust("**Left.**", ["left", "right"]) == "left"
    assert read_robust("It is left.", ["left", "right"]) == ""


# The short cuts: each must read exactly what the long way reads.


def answers_and_captions(seed: int, count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Answers of the lists, mutilated, with captions of their own or of others, restated in many ways."""
    draw = random.Random(seed)
    entries = [*corpus("robust"), *corpus("unseen")]
    all_captions = [entry["captions"] for entry in entries if entry.get("captions")]
    for _ in range(count):
        captions: dict[str, str] = draw.choice(all_captions)
        if draw.random() < 0.3:
            others = [text for those in all_captions for text in those.values()]
            captions = dict(zip(captions, draw.sample(others, len(captions)), strict=True))
        text = draw.choice(entries)["text"]
        at = draw.randrange(len(text) + 1)
        text = (
            text[:at] + draw.choice(".,()-\"'*\n:;é«»<>[]{}_# ABC") * draw.randrange(3) + text[at + draw.randrange(3) :]
        )
        if draw.random() < 0.5:
            stated = draw.choice(list(captions.values()))
            stated = stated.replace(" ", draw.choice((" ", ", ", " - ", "......", " ....... ")), 1)
            stated = draw.choice((stated, stated.upper()))
            text = draw.choice((stated, f"{text} {stated}", f"A. {stated}", f"{stated} {stated}", f"Answer: {stated}"))
        yield text, captions


@pytest.mark.parametrize("seed", range(5))
def test_short_cuts_through_the_text_read_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain texts that need no cleaning, captions found without a pattern, words split without one."""
    given = list(answers_and_captions(seed, 300))
    found = [read_robust(text, list(captions), captions) for text, captions in given]
    nothing = re.compile(r"(?!)")

    def by_pattern(text: str, words: Sequence[str], option: str) -> str:
        phrase = r"\W{1,5}".join(map(re.escape, words))
        return re.sub(rf"(?<!\w){phrase}(?!\w)", f"«{option}++»", text, flags=re.I)

    monkeypatch.setattr(normalise, "PLAIN", nothing)
    monkeypatch.setattr(restated, "mark_phrase", by_pattern)
    monkeypatch.setattr(restated, "words_of", lambda text: tuple(re.findall(r"\w+", text.lower())))
    kept = (normalise.normalise, restated.spoken, letters.read_letters)
    for function in kept:
        function.cache_clear()
    try:
        assert [read_robust(text, list(captions), captions) for text, captions in given] == found
    finally:
        for function in kept:
            function.cache_clear()
    assert len(set(found)) > 2, "the answers are of all kinds"


def test_what_is_kept_of_a_text_belongs_to_its_options() -> None:
    assert read_robust("D", ["A", "B"]) == ""
    assert read_robust("D", ["A", "B", "C", "D"]) == "D"
    assert read_robust("The last one.", ["A", "B"]) == "B"
    assert read_robust("The last one.", ["A", "B", "C", "D"]) == "D"


CAPTIONS = (
    "A dog runs.",
    "Dogs run",
    "I see it.",
    "B",
    "(b)",
    "a",
    "",
    "<b>A</b>",
    "</think> B",
    "A B",
    "Ⓑ",
    "É",
    "an A",
)


@pytest.mark.parametrize("shape", ["{}", "{}.", "{})", "({})", " {}\n", "\t({})  "])
@pytest.mark.parametrize("letter", list("ABCDEF"))
def test_a_bare_letter_is_read_without_ado(shape: str, letter: str) -> None:
    """Whatever the captions are: those that could be meant by the letter send it the long way."""
    text = shape.format(letter)
    assert bare_letter(text) == letter
    assert read_like_a_person(text, list("ABCDEF"), ()).value == read_robust(text, list("ABCDEF")) == letter
    for pair in itertools.product(CAPTIONS, repeat=2):
        expected = read_robust(text, ["A", "B"], dict(zip("AB", pair, strict=True)))
        assert read_like_a_person(text, ["A", "B"], pair).value == expected, pair


@pytest.mark.parametrize("text", ["", "a", "A B", "(A", "AB", "G", "A,", "((A))", "A.)", "Yes"])
def test_what_is_no_bare_letter_goes_the_long_way(text: str) -> None:
    assert bare_letter(text) == ""
