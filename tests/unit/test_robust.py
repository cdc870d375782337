"""The `robust` reader against the lists of answers, and against noise that must not change what it reads."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.robust import read_robust

ANSWERS = Path(__file__).parents[1] / "data" / "answers"
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
