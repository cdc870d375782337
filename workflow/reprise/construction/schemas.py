"""Tables that all constructions share. In each, a row that was dropped stays, with the filter that dropped it and why.

A benchmark's own tables are in `construction/<benchmark>/tables.py`.
"""

import polars as pl

from reprise.core.schemas import NAMED_TEXTS

Columns = dict[str, pl.DataType | type[pl.DataType]]


def schema(columns: Columns) -> pl.Schema:
    """Columns as a schema."""
    return pl.Schema(columns)


FILTERED: Columns = {"filter": pl.String, "why": pl.String}
"""name of the filter that dropped the row, empty where none did; and what it found"""

TEXTS = schema({
    "text_id": pl.String,
    "kind": pl.String,  # name of the prompt
    "video": pl.String,  # the first that needs it
    "agent": pl.String,  # who must be named in it
    "values": NAMED_TEXTS,  # what the prompt is filled with
    "known": pl.List(pl.String),  # what a replacement must differ from, such as the verbs of the video
    "instead_of": pl.String,  # the text that it must not repeat; empty where there is none
})  # fmt: skip

WRITTEN = schema({
    "text_id": pl.String,
    "kind": pl.String,
    "rounds": pl.Int32,  # how often it was asked for
    "text": pl.String,  # empty where no reply could be used
    "target": pl.String,  # what the writer put in place of the verb or the manner
    "replies": pl.List(pl.String),  # all, raw
    "problems": pl.List(pl.String),  # of each reply that could not be used: `<filter>: <what was found>`
    **FILTERED,
})  # fmt: skip

VOTES = pl.Schema(
    {
        "task_id": pl.String,  # of what a person judged besides the samples, such as a single caption
        "verdict": pl.String,
    }
)

COUNTS = schema({
    "step": pl.String,
    "filter": pl.String,
    "entered": pl.Int64,
    "dropped": pl.Int64,
    "left": pl.Int64,
})  # fmt: skip

STATISTICS = schema({
    "what": pl.String,
    "group": pl.String,
    "paper": pl.Float64,  # null where the paper does not say it
    "ours": pl.Float64,  # null where it does not apply here
    "note": pl.String,
})  # fmt: skip
