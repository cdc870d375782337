"""Stage `verdicts`: extract an answer from every response with each reader, and compare it with the expected one."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_of_key, read_table, write_table
from reprise.core.store import Store
from reprise.models.keys import RunKey
from reprise.models.local.embeddings import similarities
from reprise.reading.keys import VerdictsKey
from reprise.reading.readers import FORGIVEN, READERS, UNDECIDED, read_text
from reprise.reading.table import Row, own_row
from reprise.stages.command import In, Out, Site


def main(
    settings: VerdictsKey,
    run_settings: RunKey,
    requests: In[Path],
    responses: In[Path],
    store: Site[Store],
    authors: Out[Path],
    robust: Out[Path],
) -> None:
    answers = read_of_key(responses, RESPONSES, run_settings.key)
    request_table = read_table(requests, REQUESTS, without=("system", "prompt"))
    extraction_rows = [own_row(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
    extracted: dict[str, pl.Series] = {}
    for reader in READERS:
        frame = verdicts(request_table, answers, reader, settings.reading, extraction_rows)
        extracted[reader] = frame["value"]
        if settings.embedder is not None:
            frame = with_similarity(frame, request_table, settings.embedder, store)
        write_table(frame, {"authors": authors, "robust": robust}[reader], VERDICTS)
        log.info(
            f"{reader}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed"
        )
    log.info(f"the readers differ on {(extracted['authors'] != extracted['robust']).sum()} answers")


def verdicts(
    requests: pl.DataFrame, responses: pl.DataFrame, reader: str, reading: str, extra_rows: Sequence[Row] = ()
) -> pl.DataFrame:
    """Return one row per response: the option that the reader extracts, and whether it is the expected one."""
    options_table = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(options_table, on="request_id", how="left", maintain_order="left")
    failed, is_text = ~pl.col("error").is_in(["", FORGIVEN[reader]]), pl.col("scores").list.len() == 0
    rows = joined.with_row_index().filter(~failed & is_text).select("index", "text", "options", "option_texts")
    readings = [
        read_text(text, options, option_texts, reader, reading, extra_rows)
        for _, text, options, option_texts in rows.iter_rows()
    ]
    texts, rows_by = (
        pl.repeat("", joined.height, eager=True).scatter(rows["index"], [extraction[part] for extraction in readings])
        for part in (0, 1)
    )
    # Choose the option above one half. A tie or a score that is NaN is undecided; a single option is always chosen.
    first, second = (pl.col("options").list.get(position, null_on_oob=True) for position in (0, 1))
    is_first = (pl.col("options").list.len() == 1) | (score() > 0.5)
    chosen_by_score = (
        pl.when(is_first).then(first).when(score() < 0.5).then(second).otherwise(pl.lit(UNDECIDED[reader]))
    )
    value = pl.col("value")
    named_score = pl.when(chosen_by_score != "").then(pl.lit("score")).otherwise(pl.lit(""))
    return joined.with_columns(
        value=pl.when(failed | is_text).then(texts).otherwise(chosen_by_score),
        read_by=pl.when(failed | is_text).then(rows_by).otherwise(named_score),
    ).select(
        "request_id",
        "item_id",
        "role",
        "value",
        "read_by",
        score=pl.when(~failed & ~is_text).then(score()),
        right=((value != "") & (value == pl.col("expected"))).fill_null(False),
        unparsed=~failed & (value == ""),
        failed=failed,
        key="key",
    )


def score() -> pl.Expr:
    """Return the first option's share of the two options' mass (paper, eq. 1); null without mass or for NaN.

    A single option, such as a text and a clip that match, keeps its own score.
    """
    first, second = (pl.col("scores").list.get(position, null_on_oob=True) for position in (0, 1))
    is_alone = pl.col("options").list.len() == 1
    share = pl.when(is_alone).then(first).when(first + second > 0).then(first / (first + second))
    return share.fill_nan(None)  # polars would sort NaN as the largest number.


def with_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """Return verdicts whose score is the similarity of answer and reference; null for a failed answer."""
    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    valid = joined.filter(~pl.col("failed"))
    values = similarities(valid["value"].to_list(), valid["expected"].to_list(), embedder, store)
    scores = valid.select("request_id", score=pl.Series(values, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))
