"""Stage `verdicts`: each reader's verdict on every answer."""

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
    asked = read_table(requests, REQUESTS, without=("system", "prompt"))
    own = [own_row(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
    read: dict[str, pl.Series] = {}
    for reader in READERS:
        frame = verdicts(asked, answers, reader, settings.reading, own)
        read[reader] = frame["value"]
        if settings.embedder is not None:
            frame = with_similarity(frame, asked, settings.embedder, store)
        write_table(frame, {"authors": authors, "robust": robust}[reader], VERDICTS)
        log.info(
            f"{reader}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed"
        )
    log.info(f"the readers differ on {(read['authors'] != read['robust']).sum()} answers")


def verdicts(
    requests: pl.DataFrame, responses: pl.DataFrame, reader: str, reading: str, own: Sequence[Row] = ()
) -> pl.DataFrame:
    """One row per response: the option that the reader reads, and whether it is the expected one."""
    asked = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(asked, on="request_id", how="left", maintain_order="left")
    failed, is_text = ~pl.col("error").is_in(["", FORGIVEN[reader]]), pl.col("scores").list.len() == 0
    rows = joined.with_row_index().filter(~failed & is_text).select("index", "text", "options", "option_texts")
    readings = [read_text(text, options, shown, reader, reading, own) for _, text, options, shown in rows.iter_rows()]
    words, rows_by = (
        pl.repeat("", joined.height, eager=True).scatter(rows["index"], [one[part] for one in readings])
        for part in (0, 1)
    )
    # The option above one half; a tie, and a score that is no number, is undecided. One option alone is chosen.
    first, second = (pl.col("options").list.get(place, null_on_oob=True) for place in (0, 1))
    is_first = (pl.col("options").list.len() == 1) | (score() > 0.5)
    by_score = pl.when(is_first).then(first).when(score() < 0.5).then(second).otherwise(pl.lit(UNDECIDED[reader]))
    value = pl.col("value")
    named_score = pl.when(by_score != "").then(pl.lit("score")).otherwise(pl.lit(""))
    return joined.with_columns(
        value=pl.when(failed | is_text).then(words).otherwise(by_score),
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
    """The first option's share of the two options' mass (paper, eq. 1); none where there is no mass or no number.

    One option alone, such as a text and a clip that match, has its own score.
    """
    first, second = (pl.col("scores").list.get(place, null_on_oob=True) for place in (0, 1))
    is_alone = pl.col("options").list.len() == 1
    share = pl.when(is_alone).then(first).when(first + second > 0).then(first / (first + second))
    return share.fill_nan(None)  # it would count as the largest of all numbers


def with_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """The verdicts with the likeness of each answer and what was expected as their score; a failed one has none."""
    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    answered = joined.filter(~pl.col("failed"))
    found = similarities(answered["value"].to_list(), answered["expected"].to_list(), embedder, store)
    scores = answered.select("request_id", score=pl.Series(found, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))
