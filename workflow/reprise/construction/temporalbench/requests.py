"""What the writer is asked: negatives of every caption, then their categories, and negatives of some negatives."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.draws import rank
from reprise.construction.filters import Row
from reprise.construction.replies import read_list
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.candidates import CATEGORY, EVENTS, WORDS, text_row
from reprise.construction.temporalbench.negatives import CENTRAL, as_negatives, category_in, kept_words, plain
from reprise.construction.writing import Reading, Rounds

BEFORE = re.compile(r"^\s*(?:Caption:|\d+\.)\s*", re.IGNORECASE)
"""of a caption, or a negative, in a prompt"""
CENTRAL_COUNT = 2
"""negatives of a negative (section 3.3)"""


class Asked:
    """All rounds so far: first the negatives, then what is asked of those that are usable."""

    def __init__(
        self,
        tables: Mapping[str, pl.DataFrame],
        given: Sequence[pl.DataFrame],
        prompts: Mapping[str, Prompt],
        settings: TemporalBenchSettings,
    ) -> None:
        replies = [one.to_dicts() for one in given]
        first = tables["texts"].to_dicts()
        captions = {row["video"]: _value(row, "caption") for row in first}
        shown = {name: prompt.system or prompt.user for name, prompt in prompts.items()}

        def read(text: Row, reply: str, written: Mapping[str, str]) -> Reading:
            return _read(text, reply, shown, examples(prompts))

        self._settings = settings
        self._examples = examples(prompts)
        self._first = Rounds(first, replies, read)
        self.negatives = [
            row
            for clip, caption in captions.items()
            for row in as_negatives(clip, caption, self._lists(clip, self._first.written), self._examples)
        ]
        self._later = Rounds(list(self._later_texts(captions)), replies, read)
        self.later = self._later.written
        self.written = [*self._first.table(), *self._later.table()]

    def _lists(self, clip: str, written: Mapping[str, str]) -> list[tuple[str, int, list[str]]]:
        """The replies about a clip: level, how many were asked for, and the lines."""
        counts = {WORDS: self._settings.word_negatives, EVENTS: self._settings.event_negatives}
        names = {kind: f"{kind}/{clip}" for kind in counts}
        return [
            (kind, count, read_list(written[names[kind]], "").found)
            for kind, count in counts.items()
            if names[kind] in written
        ]

    def _later_texts(self, captions: Mapping[str, str]) -> Iterator[Row]:
        for row in self.negatives:
            if row["level"] == WORDS and not row["filter"]:
                yield text_row(
                    f"{CATEGORY}/{row['sample_id']}",
                    CATEGORY,
                    row["clip"],
                    caption=row["caption"],
                    negative=row["negative"],
                )
        for clip in captions:
            words = kept_words(row for row in self.negatives if row["clip"] == clip)
            for row in words[: self._settings.central_tries]:
                name = central_name(clip, row["negative"])
                yield text_row(name, WORDS, clip, caption=row["negative"], count=str(CENTRAL_COUNT))

    def requests(self, prompts: Mapping[str, Prompt]) -> list[Row]:
        """The requests of the next round."""
        tokens = self._settings.max_tokens
        return [*self._first.requests(prompts, tokens), *self._later.requests(prompts, tokens)]


def central_name(clip: str, first: str) -> str:
    """Name of the list of negatives of one of a clip's negatives."""
    return f"{CENTRAL}/{clip}/{rank(0, first)[:10]}"


def _value(text: Row, name: str) -> str:
    return str(next(one["text"] for one in text["values"] if one["name"] == name))


def examples(prompts: Mapping[str, Prompt]) -> frozenset[str]:
    """The captions and negatives of both prompts for negatives, which are no negatives of another caption."""
    return frozenset(
        plain(BEFORE.sub("", line)) for name in (WORDS, EVENTS) for line in prompts[name].user.splitlines()
    )


def _read(text: Row, reply: str, shown: Mapping[str, str], known: frozenset[str]) -> Reading:
    if text["kind"] == CATEGORY:
        return category_in(reply, shown[CATEGORY])
    found = read_list(reply, shown[text["kind"]])
    if found.problem:
        return Reading(problem=found.problem, why=found.why)
    level = CENTRAL if text["text_id"].startswith(f"{CENTRAL}/") else text["kind"]
    asked = (level, int(_value(text, "count")), found.found)
    rows = as_negatives(text["video"], _value(text, "caption"), [asked], known)
    if text["kind"] == EVENTS and [row["filter"] for row in rows] == ["unchanged"]:
        return Reading(text=reply)  # the prompt asks for that where there is one event only
    if all(row["filter"] for row in rows):
        return Reading(problem=rows[0]["filter"], why=rows[0]["why"])
    return Reading(text=reply)


def requests(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: TemporalBenchSettings,
) -> list[dict[str, Any]]:
    """The requests of the next round."""
    return Asked(tables, given, prompts, settings).requests(prompts)
