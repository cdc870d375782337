"""Rows of the tables that tests write: a test names the columns that matter, and the others get defaults."""

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


def item_row(item_id: str, **values: Any) -> Row:
    """Return an item about clip `c` without groups and texts."""
    row = {
        "item_id": item_id, "clip_id": "c", "cluster": "u", "pair": "", "task": "t", "texts": [], "answer": "", "groups": [],
        "tags": [], "flaws": [],
    }  # fmt: skip
    return _check_columns(row | values, ITEMS)


def request_row(request_id: str, **values: Any) -> Row:
    """Return a request about clip `c` whose expected option is Yes."""
    row = _request_columns(request_id) | {
        "clip_id": "c", "request_type": "choose", "system": "", "prompt": "", "options": ["Yes", "No"], "option_texts": [],
        "expected": "Yes", "max_tokens": 1,
    }  # fmt: skip
    return _check_columns(row | values, REQUESTS)


def response_row(request_id: str, text: str = "", **values: Any) -> Row:
    """Return a response without scores."""
    row = _request_columns(request_id) | {
        "text": text, "scores": [], "frames_shown": 1, "prompt_sha256": "", "tokens_in": 1, "tokens_out": 1, "error": "",
        "message": "", "key": "k",
    }  # fmt: skip
    return _check_columns(row | values, RESPONSES)


def response_table(requests: pl.DataFrame, respond: Callable[[Row], Row | None]) -> pl.DataFrame:
    """Return the responses to some requests; `respond` returns None for a request without a response."""
    responses = ((row["request_id"], respond(row)) for row in requests.iter_rows(named=True))
    rows = [response_row(request_id, **response) for request_id, response in responses if response is not None]
    return pl.DataFrame(rows, schema=RESPONSES)


def verdict_row(request_id: str, value: str = "", **values: Any) -> Row:
    """Return the verdict on a wrong answer that was extracted, without a score."""
    row = _request_columns(request_id) | {
        "value": value, "extracted_by": "", "score": None, "right": False, "unparsed": False, "failed": False, "key": "k",
    }  # fmt: skip
    return _check_columns(row | values, VERDICTS)


def request_table(rows: Iterable[Mapping[str, Any]], ask: str, max_tokens: int = 1) -> pl.DataFrame:
    """Return the requests of a form as a table."""
    return pl.DataFrame([{**row, "request_type": ask, "max_tokens": max_tokens} for row in rows], schema=REQUESTS)


def _request_columns(request_id: str) -> Row:
    """Return the columns that a request's id defines: `<item id>#<role>`."""
    item_id, _, role = request_id.partition("#")
    return {"request_id": request_id, "item_id": item_id, "role": role}


def _check_columns(row: Row, schema: pl.Schema) -> Row:
    """Return the row if it has exactly the schema's columns; polars would drop an unknown column silently."""
    assert row.keys() == set(schema), row.keys() ^ set(schema)
    return row
