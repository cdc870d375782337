"""The tables of MMBench-Video's construction by name: `results/<suite>/construction/mmbench_video/<name>.parquet`."""

import polars as pl

from reprise.construction.schemas import FILTERED, TEXTS, VOTES, Columns, schema

POOL = schema({
    "video": pl.String,  # name of the clip that people cut
    "source": pl.String,  # the video that it is cut from
    "video_type": pl.String,
    "duration_s": pl.Float64,  # of the source; null if it is no number
    "start_s": pl.Float64,  # of the clip in it
    "end_s": pl.Float64,
    **FILTERED,
})  # fmt: skip

QUESTION: Columns = {
    "sample_id": pl.String,  # <video>/<index>
    "index": pl.String,  # a number, from a digest of video, question and answer
    "video": pl.String,
    "video_type": pl.String,
    "question": pl.String,
    "answer": pl.String,
    "dimensions": pl.List(pl.String),  # leaves of the taxonomy
    "start_s": pl.Float64,  # where in the clip the answer is to be seen; null where the annotator does not say
    "end_s": pl.Float64,
    "annotator": pl.String,
    "where": pl.String,  # file and row
}

CANDIDATES = schema({**QUESTION, **FILTERED})

NOT_WRITTEN = schema({"text_id": pl.String, **FILTERED})
"""no text is written by a model"""

CHECKED: Columns = {**QUESTION, "warnings": pl.List(pl.String)}
SAMPLES = schema({**CHECKED, **FILTERED})
REVIEWED = schema({**CHECKED, "votes": pl.Int32, "in_favour": pl.Int32, **FILTERED})

STATIC = schema({
    **CHECKED,
    "ratings": pl.List(pl.Float64),  # of each run on one frame; null where it failed
    "mean": pl.Float64,  # null where the question was not asked
    "votes": pl.Int32,  # of people who checked by hand
    "in_favour": pl.Int32,
    **FILTERED,
})  # fmt: skip

SCHEMAS = {
    "pool": POOL, "texts": TEXTS, "candidates": CANDIDATES, "written": NOT_WRITTEN, "samples": SAMPLES,
    "reviewed": REVIEWED, "votes": VOTES, "static": STATIC,
}  # fmt: skip
