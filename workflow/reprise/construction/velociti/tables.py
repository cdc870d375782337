"""The tables of VELOCITI's construction by name: `results/<suite>/construction/velociti/<name>.parquet`."""

import polars as pl

from reprise.construction.schemas import FILTERED, TEXTS, VOTES, WRITTEN, schema
from reprise.core.schemas import NAMED_TEXTS

EVENTS = schema({
    "video": pl.String,
    "annotation": pl.Int32,  # which of the video's annotations, from 0
    "event": pl.String,  # Ev1 ... Ev5
    "start_s": pl.Float64,  # in the video; an event of VidSitu takes two seconds
    "end_s": pl.Float64,
    "verb": pl.String,  # as annotated, such as `walk (walk)`
    "verb_id": pl.String,
    "roles": NAMED_TEXTS,  # in the names of the prompts
    "agent": pl.String,  # the text of Arg0
    **FILTERED,
})  # fmt: skip

CANDIDATES = schema({
    "sample_id": pl.String,
    "test": pl.String,
    "video": pl.String,
    "event": pl.String,  # as released: `Ev3`, or a JSON list
    "positive": pl.List(pl.String),  # ids of the texts that make the caption
    "negative": pl.List(pl.String),
    **FILTERED,
})  # fmt: skip

SAMPLES = schema({
    "sample_id": pl.String,
    "test": pl.String,
    "video": pl.String,
    "event": pl.String,
    "positive": pl.String,
    "negative": pl.String,
    **FILTERED,
})  # fmt: skip

REVIEWED = schema({
    **{name: kind for name, kind in SAMPLES.items() if name not in FILTERED},
    "votes": pl.Int32,
    "in_favour": pl.Int32,
    **FILTERED,
})  # fmt: skip

SCHEMAS = {
    "pool": EVENTS, "texts": TEXTS, "candidates": CANDIDATES, "written": WRITTEN, "samples": SAMPLES,
    "reviewed": REVIEWED, "votes": VOTES,
}  # fmt: skip
