"""Stage `verdicts`: what each reader makes of every answer."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.errors import run_command
from reprise.readers import READERS, Reading, read_scores, read_text
from reprise.schemas import REQUESTS, RESPONSES, VERDICTS, check_key, read_table, write_table
from reprise.stage import arguments, read_key, say
from reprise.store import Store


def main() -> None:
    args = arguments(
        "Read a run's answers.", key=Path, run_key=Path, protocol=str, requests=Path, responses=Path,
        store=Path, authors=Path, robust=Path,
    )  # fmt: skip
    key = read_key(args.key)
    reading, embedder = key["readings"][args.protocol], key["similarity"].get(args.protocol)
    responses = read_table(args.responses, RESPONSES)
    check_key(responses, read_key(args.run_key)["key"], args.responses)
    requests = read_table(args.requests, REQUESTS)
    by_reader = {reader: verdicts(requests, responses, reader, reading) for reader in READERS}
    if embedder is not None:
        store = Store(args.store)
        by_reader = {reader: with_similarity(frame, requests, embedder, store) for reader, frame in by_reader.items()}
    for reader, frame in by_reader.items():
        write_table(frame, getattr(args, reader), VERDICTS)
        say(f"{reader}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed")
    differing = (by_reader["authors"]["value"] != by_reader["robust"]["value"]).sum()
    say(f"the readers differ on {differing} answers")


def verdicts(requests: pl.DataFrame, responses: pl.DataFrame, reader: str, reading: str) -> pl.DataFrame:
    """One row a response: the option that the reader reads, and whether it is the expected one."""
    asked = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(asked, on="request_id", how="left", maintain_order="left")
    rows = joined.select("error", "scores", "text", "options", "option_texts").rows()
    read = [
        Reading("", None) if error else read_answer(scores, text, options, option_texts, reader, reading)
        for error, scores, text, options, option_texts in rows
    ]
    value, failed = pl.col("value"), pl.col("error") != ""
    return joined.with_columns(
        value=pl.Series([one.value for one in read], dtype=pl.String),
        score=pl.Series([one.score for one in read], dtype=pl.Float64),
    ).select(
        "request_id",
        "item_id",
        "role",
        "value",
        "score",
        right=((value != "") & (value == pl.col("expected"))).fill_null(False),
        unparsed=~failed & (value == ""),
        failed=failed,
        key="key",
    )


def with_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """The verdicts with the likeness of each answer and what was expected as their score; a failed one has none."""
    from reprise.embeddings import similarities

    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    answered = joined.filter(~pl.col("failed"))
    found = similarities(answered["value"].to_list(), answered["expected"].to_list(), embedder, store)
    scores = answered.select("request_id", score=pl.Series(found, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))


def read_answer(
    scores: Sequence[float],
    text: str,
    options: Sequence[str],
    option_texts: Sequence[str],
    reader: str,
    reading: str,
) -> Reading:
    """Scores speak for themselves; a text goes through the reader."""
    if scores:
        return read_scores(scores, options)
    return read_text(text, options, option_texts, reader, reading)


if __name__ == "__main__":
    run_command(main)
