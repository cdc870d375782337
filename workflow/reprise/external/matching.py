"""Rows of other people's files and the questions that they answer: by id, and by what they say that they ask."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.rows import items_of
from reprise.core.errors import UserError
from reprise.external.answers import UNKNOWN_ID, ImportedAnswers, Place

OTHER_QUESTION = "another question under a known id"

MOST_SHOWN = 80
WORD = re.compile(r"\w+")


class Questions:
    """The questions that the rows of one file can answer."""

    def __init__(self, items: pl.DataFrame) -> None:
        self._texts = {item.item_id: words_of(item.texts.get("question", "")) for item in items_of(items)}
        self._rows: list[tuple[Place, str]] = []
        self._matched = 0

    def match(self, place: Place, question: str, imported: ImportedAnswers) -> bool:
        """Whether the id of a row is that of an item, and its question, or a prompt that holds it, the item's."""
        self._rows.append((place, question))
        asked, known = words_of(question), self._texts.get(place.id)
        if known is not None and (not asked or known in asked):
            self._matched += 1
            return True
        imported.note(place, UNKNOWN_ID if known is None else OTHER_QUESTION)
        return False

    def need_a_match(self, benchmark: str) -> None:
        """Refuse a file that is about something else altogether."""
        if self._rows and not self._matched:
            place, question = self._rows[0]
            raise UserError(
                f"{place.file}: none of its {len(self._rows)} rows is about a question of {benchmark} in this suite. "
                f"The first: line {place.line}, id '{place.id}', question '{plain_text(question)[:MOST_SHOWN]}'. It is "
                "of another benchmark, task or version of the release: remove it, or put it into the folder of its own "
                "benchmark."
            )


def plain_text(text: str) -> str:
    """A text without differences of blanks and of the way its letters are encoded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def words_of(text: str) -> str:
    """The words of a text, without differences of quotes, marks and case that other readers of tables make."""
    return " ".join(WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def object_of(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object inside others; an empty one if it is missing or something else."""
    for name in names:
        value = entry.get(name)
        entry = value if isinstance(value, dict) else {}
    return entry


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """A field as a text; empty if it is missing or neither a text nor a number."""
    value = entry.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
