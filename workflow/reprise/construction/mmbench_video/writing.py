"""What annotators are told and fill in, and the lint of what they wrote by the guidelines."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.mmbench_video.analyses import QUESTION_TYPES
from reprise.benchmarks.mmbench_video.taxonomy import L2_OF
from reprise.benchmarks.prompts import Prompt
from reprise.construction.filters import Found, Rows, kept, sifted
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
PAGE = """\
# Questions about videos

{guidelines}

{footnote}

One row a question. Copy a video's row for each further question. `dimensions`: one or more of the leaves
below, with `;` between them. `annotator`: your name or a number. `start_s` and `end_s`, if you like: where
the answer is to be seen, in seconds of the clip.

A question has at least {question_words} words, an answer at least {answer_words}.

## Leaves

{leaves}
"""


def guidelines(settings: MmbenchVideoSettings, pool: pl.DataFrame) -> tuple[str, str]:
    """The task of an annotator, and the file to copy and fill in: a row a video of the collection."""
    page = PAGE.format(
        guidelines="\n".join(f"{number}. {text}" for number, text in enumerate(GUIDELINES, 1)),
        footnote=FOOTNOTE,
        question_words=settings.question_words,
        answer_words=settings.answer_words,
        leaves="\n".join(f"- {leaf}" for leaf in L2_OF),
    )
    columns = (*COLUMNS, "video_type", "source")
    rows = kept(pool).select("video", "video_type", "source").iter_rows(named=True)
    return page, as_sheet([dict.fromkeys(columns, "") | row for row in rows], columns)


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: MmbenchVideoSettings,
) -> Rows:
    """Every usable row of the annotators, checked by the guidelines."""
    rows = [row | {"warnings": warnings(row)} for row in kept(tables["candidates"]).to_dicts()]
    return {"written": [], "samples": sifted(rows, lints(settings))}


def lints(settings: MmbenchVideoSettings) -> Mapping[str, Found]:
    def timestamp(row: Mapping[str, Any]) -> str:
        found = time_in(row["question"])
        return f"the question says '{found}'" if found else ""

    def too_short(name: str, least: int) -> Found:
        def found(row: Mapping[str, Any]) -> str:
            words = len(row[name].split())
            return f"{words} of at least {least} words" if words < least else ""

        return found

    found = (timestamp, too_short("question", settings.question_words), too_short("answer", settings.answer_words))
    return dict(zip(SAMPLE_FILTERS, found, strict=True))


def warnings(row: Mapping[str, Any]) -> list[str]:
    """What drops nothing, but is shown to those who check."""
    kind = CLOSED.get(re.split(r"\W", row["question"].lower(), maxsplit=1)[0])
    closed = [f"a question of the type '{kind}'"] if kind else []
    return [*closed, *(["an answer of one word"] if len(row["answer"].split()) < SHORT_ANSWER else [])]
