"""The tables of Vinoground's construction by name: `results/<suite>/construction/vinoground/<name>.parquet`."""

import polars as pl

from reprise.construction.schemas import FILTERED, TEXTS, VOTES, schema

POOL = schema({
    "video": pl.String,  # as the annotations name it
    "source": pl.String,  # the video that it is cut from
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "caption": pl.String,
    **FILTERED,
})  # fmt: skip

NO_CANDIDATES = schema({"sample_id": pl.String, **FILTERED})
"""nothing is made before the writer is asked"""

PAIRS = schema({
    "pair": pl.String,  # a digest of both captions
    "round": pl.Int32,
    "positive": pl.String,
    "negative": pl.String,
    **FILTERED,
})  # fmt: skip

FOUND = schema({
    "sample_id": pl.String,  # <pair>/<half>/<video>
    "pair": pl.String,
    "half": pl.String,  # pos | neg
    "text": pl.String,  # the caption of the pair that a video is wanted for
    "rank": pl.Int32,  # from 1: the most similar caption of the pool
    "similarity": pl.Float64,
    "video": pl.String,
    "source": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "caption": pl.String,  # the similar caption
    **FILTERED,
})  # fmt: skip

REVIEWED = schema({
    **{name: kind for name, kind in FOUND.items() if name not in FILTERED},
    "votes": pl.Int32,
    "in_favour": pl.Int32,
    "category": pl.String,  # of its pair, as people said: `action;spatial`; empty where they have not
    **FILTERED,
})  # fmt: skip

SCHEMAS = {
    "pool": POOL, "texts": TEXTS, "candidates": NO_CANDIDATES, "written": PAIRS, "samples": FOUND,
    "reviewed": REVIEWED, "votes": VOTES,
}  # fmt: skip
