"""Rows of the tables that tests write: all columns of the declared schema, the ones that matter named by the test."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS

Row = dict[str, Any]

# Columns of the files that Vinoground and MMBench-Video release.
PAIR_COLUMNS = [
    *("index", "major", "minor", "pos_vid", "pos_start", "pos_end", "pos_cap"),
    *("neg_vid", "neg_start", "neg_end", "neg_cap"),
]
QUESTION_COLUMNS = ["index", "video", "video_type", "question", "answer", "dimensions", "video_path"]


def item_row(item_id: str, **known: Any) -> Row:
    """An item of clip `c` that belongs to no group and has no texts."""
    row = {
        "item_id": item_id, "clip_id": "c", "cluster": "u", "task": "t", "texts": [], "answer": "", "groups": [], "tags": [],
        "flaws": [],
    }  # fmt: skip
    return _complete(row | known, ITEMS)


def request_row(request_id: str, **known: Any) -> Row:
    """A question to be answered by Yes, asked about clip `c`."""
    row = _asked(request_id) | {
        "clip_id": "c", "ask": "choose", "system": "", "prompt": "", "options": ["Yes", "No"], "option_texts": [],
        "expected": "Yes", "max_tokens": 1,
    }  # fmt: skip
    return _complete(row | known, REQUESTS)


def response_row(request_id: str, text: str = "", **known: Any) -> Row:
    """What a model said to a request, without scores."""
    row = _asked(request_id) | {
        "text": text, "scores": [], "frames_shown": 1, "prompt_sha256": "", "tokens_in": 1, "tokens_out": 1, "error": "",
        "message": "", "key": "k",
    }  # fmt: skip
    return _complete(row | known, RESPONSES)


def response_table(asked: pl.DataFrame, say: Callable[[Row], Row | None]) -> pl.DataFrame:
    """What is said to each request; nothing where it was never asked."""
    said = ((row["request_id"], say(row)) for row in asked.iter_rows(named=True))
    return pl.DataFrame([response_row(name, **one) for name, one in said if one is not None], schema=RESPONSES)


def verdict_row(request_id: str, value: str = "", **known: Any) -> Row:
    """A wrong answer that was read, without a score."""
    row = _asked(request_id) | {
        "value": value, "extracted_by": "", "score": None, "right": False, "unparsed": False, "failed": False, "key": "k",
    }  # fmt: skip
    return _complete(row | known, VERDICTS)


def request_table(rows: Iterable[Mapping[str, Any]], ask: str, max_tokens: int = 1) -> pl.DataFrame:
    """A form's questions as the table that a run is asked."""
    return pl.DataFrame([{**row, "ask": ask, "max_tokens": max_tokens} for row in rows], schema=REQUESTS)


def _asked(request_id: str) -> Row:
    """The columns that follow from a request's id, `<item id>#<role>`."""
    item_id, _, role = request_id.partition("#")
    return {"request_id": request_id, "item_id": item_id, "role": role}


def _complete(row: Row, schema: pl.Schema) -> Row:
    """The row, if it has exactly the schema's columns: polars drops a column that it does not know."""
    assert row.keys() == set(schema), row.keys() ^ set(schema)
    return row
