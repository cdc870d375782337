"""MMBench-Video's steps up to the samples: the collection, the annotators' guidelines, checks of their questions."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from human_evaluation.tasks import as_sheet
from reprise.benchmarks.mmbench_video.analyses import QUESTION_TYPES
from reprise.benchmarks.mmbench_video.taxonomy import L2_BY_LEAF
from reprise.benchmarks.prompts import Prompt
from reprise.core.errors import UserError, suggest_name
from reprise.core.files import text_digest
from reprise.core.plain import unescape_cell
from reprise.core.tabular import format_cell, read_user_rows, require_columns

from construction.filters import Row, RowFilter, Rows, apply_filters, drop_repeated, kept_rows
from construction.mmbench_video.timestamps import find_timestamp
from construction.settings import MmbenchVideoSettings
from construction.sheets import SOURCE_NAME, has_control_characters, parse_number_cell

COLLECTION = "collection.csv"  # the file that lists the collected videos
SPAN = ("start_s", "end_s")
VIDEO_COLUMNS = ("video", "source", "video_type", "duration_s", *SPAN)
COLUMNS = ("video", "question", "answer", "dimensions", "annotator", *SPAN)  # the columns of the annotators' files
NUMBER_COLUMNS = ("duration_s", *SPAN)


def candidates(files: Mapping[str, Path], settings: MmbenchVideoSettings) -> Rows:
    """Return all videos of the collection and all annotated questions; dropped rows keep their reason."""
    if COLLECTION not in files:
        raise UserError(
            f"annotations of MMBench-Video: no file '{COLLECTION}'. Found: {', '.join(sorted(files)) or 'nothing'}. "
            "Put it into the folder of `annotations:` of `construction:`."
        )
    videos = [
        row | {name: parse_number_cell(row[name]) for name in NUMBER_COLUMNS}
        for row in _read_rows(files[COLLECTION], VIDEO_COLUMNS)
    ]
    categories, max_clip_s = settings.categories, settings.longest_s
    video_filters: dict[str, RowFilter] = {
        "bad_name": lambda row: (
            "" if SOURCE_NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file name"
        ),
        "duplicate": drop_repeated(lambda row: row["video"].lower(), "the same video as in an earlier row"),
        "unknown_category": lambda row: (
            ""
            if row["video_type"] and categories is None
            else _unknown_name_problem("category", row["video_type"], categories or ())
        ),
        "no_number": lambda row: next((f"{name} is not a number" for name in NUMBER_COLUMNS if row[name] is None), ""),
        "too_short": lambda row: f"{row['duration_s']:g} s" if row["duration_s"] < settings.shortest_s else "",
        "bad_span": lambda row: _span_problem(row["start_s"], row["end_s"], row["duration_s"]),
        "too_long": lambda row: (
            f"{row['end_s'] - row['start_s']:g} s" if row["end_s"] - row["start_s"] > max_clip_s else ""
        ),
    }
    pool = apply_filters(videos, video_filters)
    video_by_name = {row["video"]: row for row in reversed(pool)}  # Of rows with the same name, the first remains.
    question_files = {name: path for name, path in files.items() if name != COLLECTION}
    rows = []
    for name, path in sorted(question_files.items()):
        for row_number, row in enumerate(_read_rows(path, COLUMNS), start=1):
            index = index_of(row["video"], row["question"], row["answer"])
            rows.append(row | {
                "dimensions": [leaf.strip() for leaf in row["dimensions"].split(";") if leaf.strip()],
                "index": index, "sample_id": f"{row['video']}/{index}", "where": f"{name}: row {row_number}",
                "video_type": video_by_name.get(row["video"], {}).get("video_type", ""),
            })  # fmt: skip
    question_filters: dict[str, RowFilter] = {
        "unknown_video": lambda row: _unknown_name_problem("video", row["video"], video_by_name),
        "video_dropped": lambda row: _drop_reason(video_by_name[row["video"]]),
        "empty": lambda row: next((f"no {name}" for name in ("question", "answer") if not row[name]), ""),
        "unprintable": lambda row: (
            "control characters"
            if any(map(has_control_characters, map(str, (*row.values(), *row["dimensions"]))))
            else ""
        ),
        "no_leaf": lambda row: "" if row["dimensions"] else "no ability is named",
        "unknown_leaf": lambda row: next(
            filter(None, (_unknown_name_problem("leaf", leaf, L2_BY_LEAF) for leaf in row["dimensions"])), ""
        ),
        "no_annotator": lambda row: "" if row["annotator"] else "no annotator is named",
        "bad_span": lambda row: _question_span_problem(row, video_by_name[row["video"]]),
        "duplicate": drop_repeated(
            lambda row: (row["video"].lower(), row["question"].lower()),
            "the same video and question as in an earlier row",
        ),
    }
    filtered_rows = [
        row | {name: parse_number_cell(row[name]) for name in SPAN} for row in apply_filters(rows, question_filters)
    ]
    return {"pool": pool, "texts": [], "candidates": filtered_rows}


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of an annotators' file, with single spaces between words."""
    rows = require_columns(read_user_rows(path), columns, path).iter_rows(named=True)
    for row_number, row in enumerate(rows, start=1):
        yield {name: unescape_cell(format_cell(row[name], f"{path}: row {row_number}: {name}")) for name in row}


def index_of(*texts: str) -> str:
    """Return an index, a number as in the authors' release, that depends only on the texts."""
    digest = text_digest("\n".join(texts))
    return str(int(digest[:12], 16))


def _drop_reason(video: Row) -> str:
    """Return the filter that dropped a video and the reason; empty for a kept video."""
    return f"{video['filter']}: {video['why']}" if video["filter"] else ""


def _question_span_problem(row: Mapping[str, Any], video: Row) -> str:
    """Return the problem of the span that an annotator gives for a question; empty if it is valid or absent."""
    stated = [name for name in SPAN if row[name]]
    if len(stated) == 1:
        return f"only {stated[0]} is stated"
    start, end = (parse_number_cell(row[name]) for name in SPAN)
    if start is None or end is None:
        return f"'{row['start_s']}' or '{row['end_s']}' is not a number" if stated else ""
    return _span_problem(start, end, video["end_s"] - video["start_s"])


def _span_problem(start_s: float, end_s: float, longest_s: float) -> str:
    """Return the span if it is empty or not within a video of `longest_s` seconds; else an empty text."""
    return "" if 0 <= start_s < end_s <= longest_s else f"{start_s:g} to {end_s:g} of {longest_s:g} s"


def _unknown_name_problem(kind: str, name: str, allowed: Collection[str]) -> str:
    """Return the problem of a name that is not allowed, with the most similar allowed name; else an empty text."""
    return "" if name in allowed else f"no {kind} '{name}'.{suggest_name(name, allowed)}"


# Section 3.1, verbatim, with the footnote to the fourth guideline.
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
QUESTION_TYPE_BY_FIRST_WORD = {
    word: kind.replace("_", " / ") for kind in ("is_are", "does_do") for word in QUESTION_TYPES[kind]
}
"""The first word of a yes-or-no question -> its type, as in Fig. 7."""
GUIDELINES_PAGE = """\
# Questions about videos

{guidelines}

{footnote}

Write one row per question. Copy a video's row for each further question. `dimensions`: one or more of the leaves
below, separated by `;`. `annotator`: your name or a number. `start_s` and `end_s` (optional): the span of the clip
that shows the answer, in seconds.

A question has at least {question_words} words, an answer at least {answer_words}.

## Leaves

{leaves}
"""


def guidelines(settings: MmbenchVideoSettings, pool: pl.DataFrame) -> tuple[str, str]:
    """Return the annotators' guidelines and the csv file to fill in, with a row per video of the collection."""
    page = GUIDELINES_PAGE.format(
        guidelines="\n".join(f"{number}. {text}" for number, text in enumerate(GUIDELINES, 1)),
        footnote=FOOTNOTE,
        question_words=settings.question_words,
        answer_words=settings.answer_words,
        leaves="\n".join(f"- {leaf}" for leaf in L2_BY_LEAF),
    )
    columns = (*COLUMNS, "video_type", "source")
    rows = kept_rows(pool).select("video", "video_type", "source").iter_rows(named=True)
    return page, as_sheet([dict.fromkeys(columns, "") | row for row in rows], columns)


def samples(
    tables: Mapping[str, pl.DataFrame],
    replies: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: MmbenchVideoSettings,
) -> Rows:
    """Add warnings for reviewers to the annotated questions, and drop questions that violate the guidelines."""
    rows = []
    for row in kept_rows(tables["candidates"]).to_dicts():
        first_word = re.split(r"\W", row["question"].lower(), maxsplit=1)[0]
        yes_no_type = QUESTION_TYPE_BY_FIRST_WORD.get(first_word)
        warnings = [f"a question of the type '{yes_no_type}'"] if yes_no_type else []
        warnings += ["an answer of one word"] if len(row["answer"].split()) == 1 else []
        rows.append(row | {"warnings": warnings})

    def too_short(text: str, minimum: int) -> str:
        words = len(text.split())
        return f"{words} of at least {minimum} words" if words < minimum else ""

    filters: dict[str, RowFilter] = {
        "timestamp": lambda row: f"the question contains '{time}'" if (time := find_timestamp(row["question"])) else "",
        "question_too_short": lambda row: too_short(row["question"], settings.question_words),
        "answer_too_short": lambda row: too_short(row["answer"], settings.answer_words),
    }
    return {"written": [], "samples": apply_filters(rows, filters)}
