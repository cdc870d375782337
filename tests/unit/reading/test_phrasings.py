"""Phrasings with the reading of a careful person: open halves to learn from, frozen halves to be measured by, and
answers composed of parts."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.reading.ratings import RATING_READERS
from reprise.reading.readers import read_text

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
KINDS = ("yesno", "letters", "rating")
GROUPED = ("composed", "later")  # lists in which the answers of one reading stand together


@cache
def phrasings(name: str) -> list[dict[str, Any]]:
    """The cases of a list."""
    entries = yaml.load((ANSWERS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return list(entries if name not in GROUPED else separated(entries))


def separated(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        for reading, answers in entry["answers"].items():
            yield from (entry | {"answer": answer, "reading": reading} for answer in answers)


def read(case: dict[str, Any]) -> str:
    if case["kind"] == "rating":
        rating = RATING_READERS["robust"](case["answer"])
        return "" if rating is None else str(rating)
    options = case.get("options") or ["Yes", "No"]
    return read_text(case["answer"], options, case.get("option_texts") or [], "robust", "plain").value


def outcome(case: dict[str, Any]) -> str:
    """`right`, `unread` where there is something to read, or `wrong`, which is the worst."""
    found = read(case)
    return "right" if found == case["reading"] else "wrong" if found else "unread"


# How many of each list and kind may be unread, and how many wrong: the figures of tests/data/answers/README.md.
BOUNDS = {
    ("open", "yesno"): (10, 0),
    ("open", "letters"): (4, 0),
    ("open", "rating"): (0, 0),
    ("frozen", "yesno"): (4, 2),
    ("frozen", "letters"): (7, 0),
    ("frozen", "rating"): (4, 0),
    ("open_second", "yesno"): (0, 0),
    ("open_second", "letters"): (0, 0),
    ("open_second", "rating"): (0, 0),
    ("frozen_second", "yesno"): (1, 1),
    ("frozen_second", "letters"): (1, 0),
    ("frozen_second", "rating"): (0, 0),
    ("later", "yesno"): (8, 1),
    ("later", "letters"): (19, 0),
    ("later", "rating"): (0, 1),
    ("composed", "yesno"): (3, 0),
    ("composed", "letters"): (0, 0),
    ("composed", "rating"): (1, 0),
}


@pytest.mark.parametrize(("name", "kind"), BOUNDS)
def test_few_phrasings_are_unread_and_hardly_any_is_misread(name: str, kind: str) -> None:
    figures = Counter(outcome(case) for case in phrasings(name) if case["kind"] == kind)
    print(name, kind, dict(figures))
    unread, wrong = BOUNDS[name, kind]
    assert figures["right"] >= 29
    assert (figures["unread"] <= unread, figures["wrong"] <= wrong) == (True, True), figures
