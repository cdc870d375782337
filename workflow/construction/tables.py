"""Schemas of the construction tables, `results/<suite>/construction/<benchmark>/<name>.parquet`.

Each table keeps its dropped rows, with the filter that dropped the row and the reason.
"""

from typing import Any

import polars as pl
from reprise.core.schemas import NAMED_TEXTS

Columns = dict[str, Any]
"""column -> its type in polars"""
SPAN: Columns = {"start_s": pl.Float64, "end_s": pl.Float64}
FILTER_COLUMNS: Columns = {"filter": pl.String, "why": pl.String}
"""The filter that dropped the row, empty for kept rows, and its reason."""
VOTE_COUNTS: Columns = {"votes": pl.Int32, "in_favour": pl.Int32}
"""The number of annotators who voted on the row, and of those who accept it."""


def with_filter_columns(columns: Columns) -> pl.Schema:
    """Return the schema of a table that keeps its dropped rows."""
    return pl.Schema([*columns.items(), *FILTER_COLUMNS.items()])


TEXT: Columns = {
    "text_id": pl.String,
    "kind": pl.String,  # name of the prompt
    "video": pl.String,  # the first video that needs the text
    "agent": pl.String,  # the agent that the text must name
    "values": NAMED_TEXTS,  # the values of the prompt's placeholders
    "known": pl.List(pl.String),  # texts that a replacement must differ from, such as the verbs of the video
    "instead_of": pl.String,  # id of the text that this text must not repeat, if any
}

WRITTEN_TEXT: Columns = {
    "text_id": pl.String,
    "kind": pl.String,
    "rounds": pl.Int32,  # the number of requests for the text
    "text": pl.String,  # empty if no reply is usable
    "target": pl.String,  # the writer's replacement of the verb or the manner
    "replies": pl.List(pl.String),  # all raw replies
    "problems": pl.List(pl.String),  # one per unusable reply: `<filter>: <reason>`
}

VOTES = pl.Schema({
    "task_id": pl.String,  # a sample, or another task such as a single caption
    "verdict": pl.String,
})  # fmt: skip

COUNTS = pl.Schema({
    "step": pl.String, "filter": pl.String, "entered": pl.Int64, "dropped": pl.Int64, "left": pl.Int64,
})  # fmt: skip

# The tables of every benchmark. Some benchmarks have another schema of `written`.
SHARED = {"texts": pl.Schema(TEXT), "written": with_filter_columns(WRITTEN_TEXT), "votes": VOTES}
NO_CANDIDATES = with_filter_columns({"sample_id": pl.String})  # no candidates exist before the writer replies

# --- VELOCITI

EVENTS = with_filter_columns({
    "video": pl.String,
    "annotation": pl.Int32,  # which of the video's annotations, from 0
    "event": pl.String,  # Ev1 ... Ev5
    **SPAN,  # in the video; an event of VidSitu takes two seconds
    "verb": pl.String,  # as annotated, such as `walk (walk)`
    "verb_id": pl.String,
    "roles": NAMED_TEXTS,  # in the names of the prompts
    "agent": pl.String,  # the text of Arg0
})  # fmt: skip

SAMPLE: Columns = {
    "sample_id": pl.String,
    "test": pl.String,
    "video": pl.String,
    "event": pl.String,  # as released: `Ev3`, or a JSON list
    "positive": pl.String,
    "negative": pl.String,
}
CANDIDATE_TEXTS: Columns = {side: pl.List(pl.String) for side in ("positive", "negative")}
"""The ids of the texts that make up each caption."""

# --- Vinoground

POOL_CAPTIONS = with_filter_columns({
    "video": pl.String,  # as the annotations name it
    "source": pl.String,  # the source video of the clip
    **SPAN,
    "caption": pl.String,
})  # fmt: skip

PAIRS = with_filter_columns({
    "pair": pl.String,  # a digest of both captions
    "round": pl.Int32,
    "positive": pl.String,
    "negative": pl.String,
})  # fmt: skip

RETRIEVED: Columns = {
    "sample_id": pl.String,  # <pair>/<half>/<video>
    "pair": pl.String,
    "half": pl.String,  # pos | neg
    "text": pl.String,  # the caption of the pair to find a video for
    "rank": pl.Int32,  # from 1: the most similar caption of the pool
    "similarity": pl.Float64,
    "video": pl.String,
    "source": pl.String,
    **SPAN,
    "caption": pl.String,  # the similar caption
}
CATEGORY: Columns = {"category": pl.String}  # a pair's category by review, such as `action;spatial`

# --- TemporalBench

CLIPS = with_filter_columns({
    "clip": pl.String,  # as the evaluation names it
    "dataset": pl.String,
    "split": pl.String,
    "video": pl.String,
    **SPAN,
    "description": pl.String,  # of the source data set
    "caption": pl.String,  # by annotators, refined if available; empty if missing; several captions are joined
    "is_refined": pl.Boolean,
    "seconds": pl.Float64,  # `seconds`, `shots` and `motion` are measured; null if not measured
    "shots": pl.Int32,
    "motion": pl.Float64,
})  # fmt: skip

NEGATIVE: Columns = {
    # <clip>/<level>/<digest of the negative>; for a negative of a negative, central/<clip>/<digest of the contradicted
    # negative>/<number of the line in the reply>
    "sample_id": pl.String,
    "clip": pl.String,
    "dataset": pl.String,
    "video": pl.String,
    **SPAN,
    "level": pl.String,  # words | events | central: a negative of a negative
    "writer": pl.String,  # the model that wrote it, hidden from annotators
    "caption": pl.String,
    "of": pl.String,  # the contradicted text: the caption, or a negative of the caption
    "negative": pl.String,
    "category": pl.String,  # category in the release; empty for a negative of a negative
}

# --- MMBench-Video

COLLECTED = with_filter_columns({
    "video": pl.String,  # name of the clip that annotators cut
    "source": pl.String,  # the source video of the clip
    "video_type": pl.String,
    "duration_s": pl.Float64,  # of the source video; null if the cell is not a number
    **SPAN,  # of the clip in the source video
})  # fmt: skip

QUESTION: Columns = {
    "sample_id": pl.String,  # <video>/<index>
    "index": pl.String,  # a number, from a digest of video, question and answer
    "video": pl.String,
    "video_type": pl.String,
    "question": pl.String,
    "answer": pl.String,
    "dimensions": pl.List(pl.String),  # leaves of the taxonomy
    **SPAN,  # the part of the clip that shows the answer; null if the annotator gives none
    "annotator": pl.String,
    "where": pl.String,  # file and row
}
CHECKED_QUESTION: Columns = {**QUESTION, "warnings": pl.List(pl.String)}
RATINGS: Columns = {
    "ratings": pl.List(pl.Float64),  # one per single-frame run; null if it failed
    "mean": pl.Float64,  # null if no run has answered the question
}

SCHEMAS: dict[str, dict[str, pl.Schema]] = {
    "velociti": SHARED | {
        "pool": EVENTS, "candidates": with_filter_columns(SAMPLE | CANDIDATE_TEXTS),
        "samples": with_filter_columns(SAMPLE),
        "reviewed": with_filter_columns(SAMPLE | VOTE_COUNTS),
    },
    "vinoground": SHARED | {
        "pool": POOL_CAPTIONS, "candidates": NO_CANDIDATES, "written": PAIRS, "samples": with_filter_columns(RETRIEVED),
        "reviewed": with_filter_columns(RETRIEVED | VOTE_COUNTS | CATEGORY),
    },
    "temporalbench": SHARED | {
        "pool": CLIPS, "candidates": NO_CANDIDATES,
        "written": with_filter_columns({"writer": pl.String} | WRITTEN_TEXT),
        "samples": with_filter_columns(NEGATIVE), "reviewed": with_filter_columns(NEGATIVE | VOTE_COUNTS),
    },
    "mmbench_video": SHARED | {
        "pool": COLLECTED, "candidates": with_filter_columns(QUESTION),
        "written": with_filter_columns({"text_id": pl.String}), "samples": with_filter_columns(CHECKED_QUESTION),
        "reviewed": with_filter_columns(CHECKED_QUESTION | VOTE_COUNTS),
        "static": with_filter_columns(CHECKED_QUESTION | RATINGS | VOTE_COUNTS),
    },
}  # fmt: skip
"""The schema of each table, by benchmark."""

# Filters that several tables share: of a writer's replies, of the review, and of TemporalBench's negatives.
REPLY_FILTERS = ("failed", "empty", "refusal", "prompt_repeated", "broken_json")
REVIEW_FILTERS = ("not_reviewed", "refused")
NEGATIVE_FILTERS = ("more_than_asked", "no_words", "unchanged", "in_prompt", "duplicate")
FILTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "velociti": {
        "pool": (
            "other_split", "other_video", "other_annotation", "no_verb", "no_agent", "too_long", "excluded_verb",
            "duplicate",
        ),
        "candidates": ("may_be_true", "enough_of_video"),
        "written": (
            *REPLY_FILTERS, "no_caption", "several_captions", "unprintable", "no_agent", "foreign_name",
            "target_in_video", "target_unchanged", "unchanged",
        ),
        "samples": ("not_written", "no_reference", "same_captions", "true_in_video", "duplicate"),
        "reviewed": REVIEW_FILTERS,
    },
    "vinoground": {
        "pool": ("no_span", "same_name", "empty_caption", "too_long", "duplicate"),
        "written": (
            "failed", "refusal", "no_pair", "unprintable", "in_prompt", "same_text", "other_words", "duplicate",
            "enough",
        ),
        "samples": ("same_video",),
        "reviewed": (*REVIEW_FILTERS, "shows_both", "lower_rank", "no_counterpart", "no_category"),
    },
    "temporalbench": {
        "pool": (
            "other_dataset", "other_split", "bad_name", "no_span", "too_long", "not_measured", "not_available",
            "static", "scene_transitions", "not_drawn", "no_caption", "two_captions", "unprintable", "long_caption",
        ),
        "written": (*REPLY_FILTERS, "no_list", "unprintable", *NEGATIVE_FILTERS, "no_category", "several_categories"),
        "samples": (*NEGATIVE_FILTERS, "caption_again", "not_labelled"),
        "reviewed": ("caption_not_reviewed", "caption_refused", *REVIEW_FILTERS, "no_option_set", "other_option_set"),
    },
    "mmbench_video": {
        "pool": ("bad_name", "duplicate", "unknown_category", "no_number", "too_short", "bad_span", "too_long"),
        "candidates": (
            "unknown_video", "video_dropped", "empty", "unprintable", "no_leaf", "unknown_leaf", "no_annotator",
            "bad_span", "duplicate",
        ),
        "samples": ("timestamp", "question_too_short", "answer_too_short"),
        "reviewed": REVIEW_FILTERS,
        "static": ("static", "static_by_hand"),
    },
}  # fmt: skip
"""The filters of each table in the order of application, by benchmark."""
