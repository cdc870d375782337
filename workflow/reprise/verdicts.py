"""Stage `verdicts`: what each reader makes of every answer."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.embeddings import similarities
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
    return pl.DataFrame([_verdict(row, reader, reading) for row in joined.iter_rows(named=True)], schema=VERDICTS)


def with_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """The verdicts with the likeness of each answer and what was expected as their score; a failed one has none."""
    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    answered = joined.filter(~pl.col("failed"))
    found = similarities(answered["value"].to_list(), answered["expected"].to_list(), embedder, store)
    scores = answered.select("request_id", score=pl.Series(found, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))


def _verdict(row: dict[str, Any], reader: str, reading: str) -> dict[str, Any]:
    failed = bool(row["error"])
    read = Reading("", None) if failed else read_answer(row, reader, reading)
    return {
        "request_id": row["request_id"],
        "item_id": row["item_id"],
        "role": row["role"],
        "value": read.value,
        "score": read.score,
        "right": bool(read.value) and read.value == row["expected"],
        "unparsed": not failed and not read.value,
        "failed": failed,
        "key": row["key"],
    }


def read_answer(row: dict[str, Any], reader: str, reading: str) -> Reading:
    """Scores speak for themselves; a text goes through the reader."""
    if row["scores"]:
        return read_scores(row["scores"], row["options"])
    return read_text(row["text"], row["options"], row["option_texts"], reader, reading)


if __name__ == "__main__":
    run_command(main)
