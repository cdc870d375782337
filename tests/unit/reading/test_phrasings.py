"""966 phrasings by somebody who had not seen the reader: an open half to learn from, a frozen half to be measured by."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.reading.ratings import RATING_READERS
from reprise.reading.readers import read_text

ANSWERS = Path(__file__).parents[2] / "data" / "answers"
KINDS = ("yesno", "letters", "rating")


@cache
def phrasings(half: str) -> list[dict[str, Any]]:
    return list(yaml.load((ANSWERS / f"{half}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


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


def figures(half: str, kind: str) -> Counter[str]:
    return Counter(outcome(case) for case in phrasings(half) if kind in (case["kind"], "all"))


@pytest.mark.parametrize("half", ["open", "frozen"])
def test_report(half: str) -> None:
    for kind in (*KINDS, "all"):
        print(half, kind, dict(figures(half, kind)))
