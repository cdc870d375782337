"""Rows of other people's files and the questions that they answer: by id, else by what is asked about which video."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.rows import Item, items_of
from reprise.core.errors import UserError
from reprise.external.answers import UNKNOWN_ID, ImportedAnswers, Place

BY_TEXT = "matched by question and video, its id is another's"
OTHER_QUESTION = "another question under a known id"

MOST_SHOWN = 80
WORD = re.compile(r"\w+")


class Said(NamedTuple):
    """What a row says of its question; empty where it does not."""

    id: str
    question: str  # the question, or a prompt that holds it
    video: str


class Questions:
    """The questions of items, one each, that the rows of one file can answer."""

    def __init__(self, items: pl.DataFrame, video: Callable[[Item], str]) -> None:
        self._texts: dict[str, str] = {}
        self._by_text: dict[tuple[str, str], list[str]] = {}
        for item in items_of(items):
            text = words_of(item.texts.get("question", ""))
            self._texts[item.item_id] = text
            self._by_text.setdefault((text, video(item)), []).append(item.item_id)
        self._rows = self._matched = 0
        self._first: tuple[Place, Said] | None = None

    def match(self, said: Said, place: Place, imported: ImportedAnswers) -> str | None:
        """The id of the item that a row is about; None if there is none. What is unusual about it is noted."""
        self._rows += 1
        self._first = self._first or (place, said)
        asked, known = words_of(said.question), self._texts.get(said.id)
        if known is not None and (not asked or known in asked):
            self._matched += 1
            return said.id
        fitting = self._by_text.get((asked, said.video), []) if asked else []
        if len(fitting) == 1:
            self._matched += 1
            imported.note(place, BY_TEXT)
            return fitting[0]
        imported.note(place, UNKNOWN_ID if known is None else OTHER_QUESTION)
        return None

    def need_a_match(self, benchmark: str) -> None:
        """Refuse a file that is about something else altogether."""
        if self._first and not self._matched:
            place, said = self._first
            shown = plain_text(said.question)[:MOST_SHOWN]
            raise UserError(
                f"{place.file}: none of its {self._rows} rows is about a question of {benchmark} in this suite. The "
                f"first: line {place.line}, id '{said.id}', question '{shown}'. It is of another benchmark, task or "
                "version of the release: remove it, or put it into the folder of its own benchmark."
            )


def plain_text(text: str) -> str:
    """A text without differences of blanks and of the way its letters are encoded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def words_of(text: str) -> str:
    """The words of a text, without differences of quotes, marks and case that other readers of tables make."""
    return " ".join(WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def object_of(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A field that is an object; an empty one if it is missing or something else."""
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """A field as a text; empty if it is missing or neither a text nor a number."""
    value = entry.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
