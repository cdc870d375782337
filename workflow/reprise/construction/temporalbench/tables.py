"""The tables of TemporalBench's construction by name: `results/<suite>/construction/temporalbench/<name>.parquet`."""

import polars as pl

from reprise.construction.schemas import FILTERED, TEXTS, VOTES, WRITTEN, schema

POOL = schema({
    "clip": pl.String,  # as the evaluation names it
    "dataset": pl.String,
    "split": pl.String,
    "video": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "description": pl.String,  # of the source data set
    "caption": pl.String,  # by people, as corrected; empty where there is none yet, and all of several
    "is_refined": pl.Boolean,
    "seconds": pl.Float64,  # measured, as the two below; null where it was not
    "shots": pl.Int32,
    "motion": pl.Float64,
    **FILTERED,
})  # fmt: skip

NO_CANDIDATES = schema({"sample_id": pl.String, **FILTERED})
"""nothing is made before the writer is asked"""

SAMPLES = schema({
    "sample_id": pl.String,  # <clip>/<level>/<digest of the negative>; central/<clip>/<digest of N1(C)>/<place>
    "clip": pl.String,
    "dataset": pl.String,
    "video": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "level": pl.String,  # words | events | central: a negative of a negative
    "caption": pl.String,
    "of": pl.String,  # what it is a negative of: the caption, or its first negative
    "negative": pl.String,
    "category": pl.String,  # as released; empty for a negative of a negative
    **FILTERED,
})  # fmt: skip

REVIEWED = schema({
    **{name: kind for name, kind in SAMPLES.items() if name not in FILTERED},
    "votes": pl.Int32,
    "in_favour": pl.Int32,
    **FILTERED,
})  # fmt: skip

SCHEMAS = {
    "pool": POOL, "texts": TEXTS, "candidates": NO_CANDIDATES, "written": WRITTEN, "samples": SAMPLES,
    "reviewed": REVIEWED, "votes": VOTES,
}  # fmt: skip
