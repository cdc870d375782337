"""What annotators are told, and what is checked of it: the lint of questions and answers."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.mmbench_video.analysed import QUESTION_TYPES
from reprise.benchmarks.mmbench_video.taxonomy import L2_OF
from reprise.construction.filters import Filter, kept
from reprise.construction.mmbench_video.candidates import COLUMNS
from reprise.construction.mmbench_video.timestamps import time_in
from reprise.construction.review import as_sheet
from reprise.construction.settings import MmbenchVideoSettings

# Section 3.1, word for word, with the note to the fourth.
GUIDELINES = (
    "Each question should evaluate one or multiple leaf capabilities within the established taxonomy.",
    "You are encouraged to formulate temporal indispensable questions, as long as it’s feasible for the corresponding "
    "video content and capability category.",
    "Avoid including specific timestamps in the questions, such as “at 03:20 in the video”. Please use relative "
    "expressions like “at the end of the video” or “before/after a specific event” instead.",
    "The questions should be free-form and exhibit linguistic diversified. Besides standard formats like What/Who/How, "
    "questions can also adopt a conversational style [*].",
    "Please provide informative and detailed answers for each question.",
)
FOOTNOTE = (
    "[*] For example, “What is the score of the football game in the video?” (a “what” question) can be expressed as "
    "“Tell me the winning team and the final score.” (conversation style)."
)
CLOSED = {word: kind.replace("_", " / ") for kind in ("is_are", "does_do") for word in QUESTION_TYPES[kind]}
"""how a question begins that yes or no answers -> its type, as in Fig. 7"""
SHORT_ANSWER = 2
SAMPLE_FILTERS = ("timestamp", "question_too_short", "answer_too_short")


def _timestamp(row: Mapping[str, Any], settings: MmbenchVideoSettings) -> str:
    found = time_in(row["question"])
    return f"the question says '{found}'" if found else ""


def _too_short(text: str, least: int) -> str:
    words = len(text.split())
    return f"{words} of at least {least} words" if words < least else ""


def _short_question(row: Mapping[str, Any], settings: MmbenchVideoSettings) -> str:
    return _too_short(row["question"], settings.question_words)


def _short_answer(row: Mapping[str, Any], settings: MmbenchVideoSettings) -> str:
    return _too_short(row["answer"], settings.answer_words)


LINTS: Mapping[str, Callable[[Mapping[str, Any], MmbenchVideoSettings], str]] = dict(
    zip(SAMPLE_FILTERS, (_timestamp, _short_question, _short_answer), strict=True)
)
"""filter -> what it finds in a question and its answer"""


def filters(settings: MmbenchVideoSettings) -> list[Filter]:
    """The lint as filters."""

    def of(name: str) -> Filter:
        return Filter(name, lambda row: LINTS[name](row, settings))

    return [of(name) for name in SAMPLE_FILTERS]


def warnings(row: Mapping[str, Any]) -> list[str]:
    """What drops nothing, but is shown to those who check."""
    kind = CLOSED.get(re.split(r"\W", row["question"].lower(), maxsplit=1)[0])
    closed = [f"a question of the type '{kind}'"] if kind else []
    return [*closed, *(["an answer of one word"] if len(row["answer"].split()) < SHORT_ANSWER else [])]


def page(settings: MmbenchVideoSettings) -> str:
    """The task of an annotator, to be read beside the file that is filled in."""
    lines = [
        "# Questions about videos",
        "",
        *(f"{number}. {text}" for number, text in enumerate(GUIDELINES, 1)),
        "",
        FOOTNOTE,
    ]
    lines += [
        "",
        "One row a question. Copy a video's row for each further question. `dimensions`: one or more of the leaves",
        "below, with `;` between them. `annotator`: your name or a number. `start_s` and `end_s`, if you like: where",
        "the answer is to be seen, in seconds of the clip.",
        "",
        f"A question has at least {settings.question_words} words, an answer at least {settings.answer_words}.",
        "",
        "## Leaves",
        "",
        *(f"- {leaf}" for leaf in L2_OF),
        "",
    ]
    return "\n".join(lines)


def to_fill_in(pool: pl.DataFrame) -> str:
    """The file that annotators copy and fill in: a row a video of the collection."""
    columns = (*COLUMNS, *(name for name in ("video_type", "source") if name not in COLUMNS))
    empty = dict.fromkeys(columns, "")
    shown = kept(pool).select("video", "video_type", "source").iter_rows(named=True)
    return as_sheet([empty | row for row in shown], columns)
