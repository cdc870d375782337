"""Schemas of all tables: stages write tables with `write_table` and read them with `read_table`."""

from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import atomic_path, has_valid_checksum, insert_checksum, table_metadata


def _schema(**columns: pl.DataType | type[pl.DataType]) -> pl.Schema:
    return pl.Schema(columns)


NAMED_TEXTS = pl.List(pl.Struct({"name": pl.String, "text": pl.String}))

CLIPS = _schema(
    clip_id=pl.String,  # <cluster>.<part>
    cluster=pl.String,  # never split across shards: a source video, a counterfactual pair
    kind=pl.String,  # trim | whole | concat | segment | images
    source_id=pl.String,  # id in the manifest of sources; empty for a concatenation
    start_s=pl.Float64,  # null for a whole file
    end_s=pl.Float64,
    parts=pl.List(pl.String),  # clip ids joined by a concatenation, image names of a pseudo-clip
)

ITEMS = _schema(
    item_id=pl.String,
    clip_id=pl.String,
    cluster=pl.String,  # cluster of intervals and tests: items whose clips come from the same source videos
    pair=pl.String,  # pair whose questions are scored together; empty for benchmarks without pairs
    task=pl.String,  # VELOCITI test, Vinoground score, TemporalBench split, ...
    texts=NAMED_TEXTS,  # caption texts, question, options, by role
    answer=pl.String,  # ground truth; empty where the protocol defines it
    groups=pl.List(pl.String),  # names of sets with this item: categories, data sets, a subset of a protocol
    tags=NAMED_TEXTS,  # further attributes, such as the half of a pair
    flaws=pl.List(pl.String),  # flaws of the entries of the release from which the item was made
)

SOURCES = _schema(
    source_id=pl.String,
    cluster=pl.String,
    status=pl.String,  # ok, or a named reason
    transient=pl.Boolean,  # a retry may succeed
    attempts=pl.Int32,
    object=pl.String,  # path under the store; empty unless ok
    sha256=pl.String,  # digest of the object
    bytes=pl.Int64,
    message=pl.String,  # original message of a failure; empty unless it failed
)

CLIP_MANIFEST = _schema(
    clip_id=pl.String,
    cluster=pl.String,
    status=pl.String,  # ok, or a named reason
    object=pl.String,  # path under the store; empty unless ok
    recipe=pl.String,  # digest of its source digest, span and encoder settings
    sha256=pl.String,
    bytes=pl.Int64,
    black_start=pl.Int32,  # frame numbers of the black span [start, end) of a concatenation
    black_end=pl.Int32,
    message=pl.String,
)

CLIP_METADATA = _schema(
    clip_id=pl.String,
    duration_s=pl.Float64,
    frames=pl.Int32,  # from the packet index, never from a header
    fps=pl.Float64,
    variable_rate=pl.Boolean,
    width=pl.Int32,  # after rotation
    height=pl.Int32,
    codec=pl.String,
    rotation=pl.Int32,  # clockwise degrees by which frames are stored rotated, after mirroring; frames are corrected
    mirrored=pl.Boolean,
    sample_aspect_ratio=pl.String,  # of a pixel according to the file, such as 64:45; frames ignore it
    video_streams=pl.Int32,  # number of video streams without cover images; the first is decoded
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
    indices=pl.List(pl.Int32),  # in the order in which the model receives them
    times_s=pl.List(pl.Float64),  # timestamps of the frames that the sampling selects; an ablation keeps them
    note=pl.String,  # why the frames differ from the rule's selection, and their transform; usually empty
    grid=pl.List(pl.Int32),  # rows and columns of the single picture that holds all frames; null: one picture per frame
    shown_clip=pl.String,  # the clip whose frames these are, if an ablation shows another clip; null: this clip
)

REQUESTS = _schema(
    request_id=pl.String,  # <item id>#<role>
    item_id=pl.String,
    clip_id=pl.String,
    role=pl.String,  # role of the request among those of the item: pos, neg, a, b, ...
    request_type=pl.String,  # score | choose | write | similarity (docs/reference/protocols.md)
    system=pl.String,
    prompt=pl.String,
    options=pl.List(pl.String),
    option_texts=pl.List(pl.String),  # text of each option, such as a caption; empty if the option is the text
    expected=pl.String,  # the right option, or the reference text; empty if a judge decides
    max_tokens=pl.Int32,
)

RESPONSES = _schema(
    request_id=pl.String,
    item_id=pl.String,
    role=pl.String,
    text=pl.String,  # raw answer; empty if only scores were requested
    scores=pl.List(pl.Float64),  # one per option, as the adapter defines them; may be empty
    frames_shown=pl.Int32,
    prompt_sha256=pl.String,
    tokens_in=pl.Int32,
    tokens_out=pl.Int32,
    error=pl.String,  # error class; empty for an answer that every extractor accepts
    message=pl.String,  # message of the model or the server about a failure, on one line
    key=pl.String,  # digest of the run's key: the settings that shape its responses
)

# Answers of a run that a judge rates or maps to an option.
ANSWERS = _schema(
    # Id of the judge's request about the answer: <item id>#<extractor>, or <item id>.<role>#<extractor>.
    request_id=pl.String,
    item_id=pl.String,
    role=pl.String,
    extractor=pl.String,  # robust | authors: the extractor of the answer
    text=pl.String,
    error=pl.String,  # error class of the model, `unreadable`, or empty for an answer
    value=pl.String,  # extracted answer, if a judge receives only unparsed responses; else empty
    extracted_by=pl.String,  # the extraction rule that matched, or `unparsed`
    replies=pl.List(pl.String),  # allowed replies of a judge: the options of the question, or ratings if it has none
    expected=pl.String,  # the reply that means a right answer
    key=pl.String,  # digest of the run's key
)

TIMINGS = _schema(
    clip_id=pl.String,
    requests=pl.Int32,
    seconds=pl.Float64,  # inference time of the clip's answers; null if unknown
    # Times of work that is done once per clip; null if unknown. `decode` and `preprocess`: time in a worker process,
    # perhaps during the inference of another clip. `waiting`: time that inference waited for the preprocessed clip.
    # `encode`: time of the vision encoder, a part of `seconds`.
    decode=pl.Float64,
    preprocess=pl.Float64,
    waiting=pl.Float64,
    encode=pl.Float64,
    resumed=pl.Int32,  # requests that an earlier job answered
    served=pl.List(pl.String),  # ids of the models that answered, as their server reported them; may be empty
    tokens_in=pl.Int64,  # tokens of all answered prompts; 0 if not counted
    tokens_out=pl.Int64,  # tokens of the answers; 0 if not counted
    usd=pl.Float64,  # vendor's price of these answers; null if unknown, or if the model costs nothing
)

VERDICTS = _schema(
    request_id=pl.String,
    item_id=pl.String,
    role=pl.String,
    value=pl.String,  # the option extracted from the answer, or its whole text; empty if unparsed or failed
    extracted_by=pl.String,  # extraction rule, `score`, `authors`, or the judge model; empty if none
    score=pl.Float64,  # entailment score, similarity or rating; null if the answer has none
    right=pl.Boolean,
    unparsed=pl.Boolean,  # no extraction rule matched the answer, or the judge's reply about it
    failed=pl.Boolean,
    key=pl.String,
)

# Counts from the construction of a benchmark; figures compare them with the paper's numbers.
CONSTRUCTION_STATISTICS = _schema(
    statistic=pl.String,
    group=pl.String,
    paper=pl.Float64,  # null if the paper does not report it
    reproduced=pl.Float64,  # null if it cannot be reproduced
    note=pl.String,
)

METRICS = _schema(
    run=pl.String,
    judge=pl.String,  # the judge that gave the ratings; null if nothing is rated
    metric=pl.String,
    group=pl.String,
    value=pl.Float64,  # null if there are no requests
    low=pl.Float64,
    high=pl.Float64,
    p_chance=pl.Float64,  # one-sided p-value against chance, by the interval's lower bound; null without chance level
    requested=pl.Int32,
    scored=pl.Int32,
    failed=pl.Int32,
    unparsed=pl.Int32,
    missing=pl.Int32,
    convention=pl.String,  # fixed | authors
    extractor=pl.String,  # robust | authors
    note=pl.String,  # why a value is null despite answers, or which entries are flawed; usually null
    key=pl.String,
)


# Metric of a run: number of responses from which the two extractors extract different answers.
EXTRACTORS_DIFFER = "extractors_differ"
# Metric of a run with failures: number of failed requests to its model or its judge, with the reasons.
FAILED_ANSWERS = "failed_answers"


def build_table(rows: Sequence[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """Return rows as a table; each distinct list of texts is converted once, because polars converts lists slowly."""
    columns = []
    for name, dtype in schema.items():
        values: list[Any] = [row.get(name) for row in rows]
        if dtype == pl.List(pl.String):
            index_by_list: dict[tuple[str, ...], int] = {}  # distinct list -> its index among the distinct lists
            indices = [index_by_list.setdefault(tuple(texts), len(index_by_list)) for texts in values]
            columns.append(pl.Series(name, list(map(list, index_by_list)), dtype=dtype).gather(indices))
        else:
            columns.append(pl.Series(name, values, dtype=dtype))
    return pl.DataFrame(columns)


def write_table(frame: pl.DataFrame, path: Path, schema: pl.Schema) -> None:
    """Write a table with exactly this schema, its checksum and its provenance, atomically."""
    if frame.is_empty():
        frame = pl.DataFrame(schema=schema)
    frame = frame.select([pl.col(name).cast(dtype) for name, dtype in schema.items()])
    parquet = BytesIO()
    frame.write_parquet(parquet, metadata={"reprise": table_metadata(path)})
    with atomic_path(path) as temporary:
        temporary.write_bytes(insert_checksum(parquet.getvalue()))


def read_table(path: Path, schema: pl.Schema, skipped_columns: Collection[str] = ()) -> pl.DataFrame:
    """Read the columns of a schema from a table, except the skipped ones.

    Raises:
        UserError: The file is damaged, or a column is missing or has another type.
    """
    try:
        content = path.read_bytes()
        if not has_valid_checksum(content):
            raise UserError(
                f"{path}: damaged: its content does not match its checksum. Delete it and run snakemake again."
            )
        dtypes = pl.read_parquet_schema(BytesIO(content))
        problems = [
            f"column '{name}' is {dtypes.get(name, 'missing')}, expected {dtype}"
            for name, dtype in schema.items()
            if dtypes.get(name) != dtype
        ]
        if problems:
            raise UserError(f"{path}: {'; '.join(problems)}. Delete the file and run snakemake again.")
        return pl.read_parquet(BytesIO(content), columns=[name for name in schema if name not in skipped_columns])
    except (pl.exceptions.ComputeError, OSError) as error:
        raise UserError(f"{path}: not a readable table ({error}). Delete it and run snakemake again.") from error


def read_table_with_key(path: Path, schema: pl.Schema, key: str) -> pl.DataFrame:
    """Read a table of answers, and reject rows with another key than the run's current one (`key`)."""
    frame = read_table(path, schema)
    foreign_rows = frame.filter(pl.col("key") != key)
    if foreign_rows.height:
        raise UserError(
            f"{path}: {foreign_rows.height} rows have key {foreign_rows['key'][0][:12]}, but the run's key is "
            f"{key[:12]}. Delete the file and run snakemake again."
        )
    return frame
