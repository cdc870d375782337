"""Every table's schema, in one place: a stage writes through `write_table` and reads through `read_table`."""

from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import is_whole, table_metadata, whole_file, with_checksum


def _schema(**columns: pl.DataType | type[pl.DataType]) -> pl.Schema:
    return pl.Schema(columns)


NAMED_TEXTS = pl.List(pl.Struct({"name": pl.String, "text": pl.String}))

CLIPS = _schema(
    clip_id=pl.String,  # <unit>.<part>
    unit=pl.String,  # what is sharded together, and a cluster of intervals: a source video, a counterfactual pair
    kind=pl.String,  # trim | whole | concat | segment | images
    source_id=pl.String,  # id in the source ledger; empty for a concatenation
    start_s=pl.Float64,  # null for a whole file
    end_s=pl.Float64,
    parts=pl.List(pl.String),  # clip ids joined by a concatenation, image names of a pseudo-clip
)

ITEMS = _schema(
    item_id=pl.String,
    clip_id=pl.String,
    unit=pl.String,  # cluster of intervals and tests
    task=pl.String,  # VELOCITI test, Vinoground score, TemporalBench split, ...
    texts=NAMED_TEXTS,  # caption texts, question, options, by role
    answer=pl.String,  # ground truth; empty where the protocol defines it
    groups=pl.List(pl.String),  # sets of items that it belongs to: categories, data sets, a subset that a protocol asks
    tags=NAMED_TEXTS,  # what else is known of it, such as the half of a pair
    flaws=pl.List(pl.String),  # what is wrong with the entries of the release that it comes from
)

SOURCES = _schema(
    source_id=pl.String,
    unit=pl.String,
    status=pl.String,  # ok, or a named reason
    transient=pl.Boolean,  # worth another try
    attempts=pl.Int32,
    object=pl.String,  # path under the store; empty unless ok
    sha256=pl.String,
    bytes=pl.Int64,
    message=pl.String,  # raw, as it came
)

CLIP_LEDGER = _schema(
    clip_id=pl.String,
    unit=pl.String,
    status=pl.String,  # ok, or a named reason
    object=pl.String,  # path under the store; empty unless ok
    recipe=pl.String,  # digest of what made it: source digest, span, encoder settings
    sha256=pl.String,
    bytes=pl.Int64,
    black_start=pl.Int32,  # frame numbers of the black span [start, end) of a concatenation
    black_end=pl.Int32,
    message=pl.String,
)

FACTS = _schema(
    clip_id=pl.String,
    duration_s=pl.Float64,
    frames=pl.Int32,  # from the packet index, never from a header
    fps=pl.Float64,
    variable_rate=pl.Boolean,
    width=pl.Int32,  # as shown, after rotation
    height=pl.Int32,
    codec=pl.String,
    rotation=pl.Int32,  # degrees clockwise by which a decoded picture is turned, after it is mirrored; both are undone
    mirrored=pl.Boolean,
    sample_aspect_ratio=pl.String,  # width to height of a pixel as the file states it, such as 64:45; ignored
    video_streams=pl.Int32,  # covers left out; the first is read
    color_transfer=pl.String,  # such as bt709; smpte2084 and arib_std_b67 are HDR, shown without tone mapping
    shots=pl.Int32,
    shot_detector=pl.String,  # detector, threshold, shortest shot, version
    motion=pl.Float64,  # mean optical flow, % of the long side per sampled pair
    motion_median=pl.Float64,
    is_static=pl.Boolean,  # by the motion settings' threshold
    black_share=pl.Float64,
    sha256=pl.String,
)

FRAME_PLAN = _schema(
    clip_id=pl.String,
    indices=pl.List(pl.Int32),  # in the order in which they are shown
    times_s=pl.List(pl.Float64),  # the moments of the rule's frames, which a model is told
    note=pl.String,  # why fewer or other frames than the rule asked for, and how they are shown; usually empty
    grid=pl.List(pl.Int32),  # rows and columns of the one picture as which they are shown; null: each is a picture
    shown_clip=pl.String,  # the clip whose frames these are, where a view shows another one's; null: its own
)

REQUESTS = _schema(
    request_id=pl.String,  # <item id>#<role>
    item_id=pl.String,
    clip_id=pl.String,
    role=pl.String,  # what the protocol asks of the item: pos, neg, a, b, ...
    ask=pl.String,  # score | choose | write | similarity
    system=pl.String,
    prompt=pl.String,
    options=pl.List(pl.String),
    option_texts=pl.List(pl.String),  # what each option stands for, such as a caption; empty where it says itself
    expected=pl.String,  # the option that is right, or the text to come close to; empty where a judge decides
    max_tokens=pl.Int32,
)

RESPONSES = _schema(
    request_id=pl.String,
    item_id=pl.String,
    role=pl.String,
    text=pl.String,  # raw answer; empty where only scores were asked
    scores=pl.List(pl.Float64),  # one per option, as the adapter defines them; empty where none
    frames_shown=pl.Int32,
    prompt_sha256=pl.String,
    tokens_in=pl.Int32,
    tokens_out=pl.Int32,
    error=pl.String,  # error class; empty for an answer that every reader takes
    message=pl.String,  # of a failure: what the model or the server said, on one line
    key=pl.String,  # digest of the run's key
)

ANSWERS = _schema(
    request_id=pl.String,  # of the judge's request about it: <item id>#<reader>, or <item id>.<role>#<reader>
    item_id=pl.String,
    role=pl.String,
    reader=pl.String,  # robust | authors: which reader took the answer out of the response
    text=pl.String,
    error=pl.String,  # error class of the model, `unreadable`, or empty for an answer
    value=pl.String,  # what the table reads, where a judge is asked only about what it leaves unread; else empty
    read_by=pl.String,  # the row of the table that did, or `unread`
    replies=pl.List(pl.String),  # what a judge may reply: the options of the question, or ratings where it has none
    expected=pl.String,  # the reply that stands for a right answer
    key=pl.String,  # digest of the run's key
)

TIMINGS = _schema(
    clip_id=pl.String,
    requests=pl.Int32,
    seconds=pl.Float64,  # that its answers took when they were asked; null where that is not known
    # Of what was done once for the clip, null where that is not known. `decode` and `preprocess`: in the process that
    # did it, perhaps while another clip was asked about. `waiting`: until it was there. `encode`: a part of `seconds`.
    decode=pl.Float64,
    preprocess=pl.Float64,
    waiting=pl.Float64,
    encode=pl.Float64,
    resumed=pl.Int32,  # requests that were not asked in this job
    served=pl.List(pl.String),  # ids of the models that answered, as their server gave them; empty where none did
    tokens_in=pl.Int64,  # of all prompts that were answered, and of the answers; 0 where nobody counts them
    tokens_out=pl.Int64,
    usd=pl.Float64,  # what its vendor takes for those answers; null where the price is not known, or nobody is paid
)

VERDICTS = _schema(
    request_id=pl.String,
    item_id=pl.String,
    role=pl.String,
    value=pl.String,  # the option read from the answer, or its whole text; empty if unparsed or failed
    read_by=pl.String,  # row of the reader's table, `score`, `authors`, or the model that was asked; empty if none
    score=pl.Float64,  # entailment score, similarity or rating; null where the answer has none
    right=pl.Boolean,
    unparsed=pl.Boolean,  # not readable; of a judged answer: no reading of the judge's reply
    failed=pl.Boolean,
    key=pl.String,
)

# What was counted when a suite made a benchmark, which figures show beside the paper's numbers.
CONSTRUCTION_STATISTICS = _schema(
    what=pl.String,
    group=pl.String,
    paper=pl.Float64,  # null where the paper does not say it
    ours=pl.Float64,  # null where it does not apply here
    note=pl.String,
)

METRICS = _schema(
    run=pl.String,
    judge=pl.String,  # whose ratings these are; null if nothing is rated
    metric=pl.String,
    group=pl.String,
    value=pl.Float64,  # null where nothing was asked
    low=pl.Float64,
    high=pl.Float64,
    p_chance=pl.Float64,  # one-sided, against chance, by the interval's own lower bound; null where no chance
    asked=pl.Int32,
    scored=pl.Int32,
    failed=pl.Int32,
    unparsed=pl.Int32,
    missing=pl.Int32,
    convention=pl.String,  # fixed | authors
    reader=pl.String,  # robust | authors
    note=pl.String,  # why a value is null although there are answers, or which entries are flawed; usually null
    key=pl.String,
)


# The metric of a run that says how many answers its two readers read differently.
READERS_DIFFER = "readers_differ"
# The metric of a run with failures: how many of its answers, or of a judge's replies, failed, and why.
FAILED_ANSWERS = "failed_answers"


def table_of(rows: Sequence[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """Rows as a table. Each different list of texts is converted once: polars converts lists slowly."""
    columns = []
    for name, dtype in schema.items():
        values: list[Any] = [row.get(name) for row in rows]
        if dtype == pl.List(pl.String):
            places: dict[tuple[str, ...], int] = {}
            place_of_row = [places.setdefault(tuple(value), len(places)) for value in values]
            columns.append(pl.Series(name, list(map(list, places)), dtype=dtype).gather(place_of_row))
        else:
            columns.append(pl.Series(name, values, dtype=dtype))
    return pl.DataFrame(columns)


def write_table(frame: pl.DataFrame, path: Path, schema: pl.Schema) -> None:
    """Write a table with exactly this schema, whole or not at all.

    It carries a checksum of its bytes, and how it was made.
    """
    if frame.is_empty():
        frame = pl.DataFrame(schema=schema)
    frame = frame.select([pl.col(name).cast(dtype) for name, dtype in schema.items()])
    content = BytesIO()
    frame.write_parquet(content, metadata={"reprise": table_metadata(path)})
    with whole_file(path) as temporary:
        temporary.write_bytes(with_checksum(content.getvalue()))


def read_table(path: Path, schema: pl.Schema, without: Collection[str] = ()) -> pl.DataFrame:
    """Read a table's columns of the schema; an error names the damage, or the column that differs."""
    try:
        content = path.read_bytes()
        if not is_whole(content):
            raise UserError(
                f"{path}: damaged: its bytes are not those that were written. Delete it and run snakemake again."
            )
        found = pl.read_parquet_schema(BytesIO(content))
        problems = [
            f"column '{name}' is {found.get(name, 'missing')}, expected {dtype}"
            for name, dtype in schema.items()
            if found.get(name) != dtype
        ]
        if problems:
            raise UserError(f"{path}: {'; '.join(problems)}. Delete the file and run snakemake again.")
        return pl.read_parquet(BytesIO(content), columns=[name for name in schema if name not in without])
    except (pl.exceptions.ComputeError, OSError) as error:
        raise UserError(f"{path}: not a readable table ({error}). Delete it and run snakemake again.") from error


def read_of_key(path: Path, schema: pl.Schema, key: str) -> pl.DataFrame:
    """Read a table of answers; those that were given under another key than the run has now are refused."""
    frame = read_table(path, schema)
    others = frame.filter(pl.col("key") != key)
    if others.height:
        raise UserError(
            f"{path}: {others.height} rows carry key {others['key'][0][:12]}, the run's key is {key[:12]}. "
            "Delete the file and run snakemake again."
        )
    return frame
