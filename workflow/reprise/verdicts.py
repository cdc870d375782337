"""Stage `verdicts`: what each reader makes of every answer."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.errors import run_command
from reprise.readers import READERS, Reading, output_block, read_as_authors, read_like_a_person, read_scores
from reprise.schemas import REQUESTS, RESPONSES, VERDICTS, check_key, read_table, write_table
from reprise.stage import arguments, read_key, say


def main() -> None:
    args = arguments(
        "Read a run's answers.", key=Path, run_key=Path, protocol=str, requests=Path, responses=Path,
        authors=Path, robust=Path,
    )  # fmt: skip
    reading = read_key(args.key)["readings"][args.protocol]
    responses = read_table(args.responses, RESPONSES)
    check_key(responses, read_key(args.run_key)["key"], args.responses)
    requests = read_table(args.requests, REQUESTS)
    by_reader = {reader: verdicts(requests, responses, reader, **reading) for reader in READERS}
    for reader, frame in by_reader.items():
        write_table(frame, getattr(args, reader), VERDICTS)
        say(f"{reader}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed")
    differing = (by_reader["authors"]["value"] != by_reader["robust"]["value"]).sum()
    say(f"the readers differ on {differing} answers")


def verdicts(
    requests: pl.DataFrame, responses: pl.DataFrame, reader: str, reading: str, authors: str = "bare"
) -> pl.DataFrame:
    """One row a response: the option that the reader reads, and whether it is the expected one.

    `reading` says which part of an answer counts, `authors` how the authors of the benchmark read it.
    """
    asked = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(asked, on="request_id", how="left", maintain_order="left")
    return pl.DataFrame(
        [_verdict(row, reader, reading, authors) for row in joined.iter_rows(named=True)], schema=VERDICTS
    )


def _verdict(row: dict[str, Any], reader: str, reading: str, authors: str) -> dict[str, Any]:
    failed = bool(row["error"])
    read = Reading("", None) if failed else read_answer(row, reader, reading, authors)
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


def read_answer(row: dict[str, Any], reader: str, reading: str, authors: str) -> Reading:
    """Scores speak for themselves; a text goes through the reader, out of its output block where there is one."""
    if row["scores"]:
        return read_scores(row["scores"], row["options"])
    text = output_block(row["text"]) if reading == "output_block" else row["text"]
    if reader == "authors":
        return read_as_authors(text, row["options"], row["option_texts"], authors)
    return read_like_a_person(text, row["options"], row["option_texts"])


if __name__ == "__main__":
    run_command(main)
