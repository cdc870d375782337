"""Stage `judgements`: the ratings that a judge gave a run's answers, as each reader reads its replies."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.errors import run_command
from reprise.imports.given import NO_ANSWER, RATED_ONLY
from reprise.ratings import RATING_READERS
from reprise.readers import READERS
from reprise.schemas import ANSWERS, RESPONSES, VERDICTS, check_key, read_table, write_table
from reprise.stage import arguments, read_key, say


def main() -> None:
    args = arguments(
        "Read a judge's replies.",
        key=Path, run_key=Path, judge_key=Path, answers=Path, responses=Path, authors=Path, robust=Path,
    )  # fmt: skip
    answers, replies = read_table(args.answers, ANSWERS), read_table(args.responses, RESPONSES)
    check_key(answers, read_key(args.run_key)["key"], args.answers)
    check_key(replies, read_key(args.judge_key)["key"], args.responses)
    for reader in READERS:
        frame = judgements(answers, replies, reader)
        write_table(frame, getattr(args, reader), VERDICTS)
        failed, unparsed = frame["failed"].sum(), frame["unparsed"].sum()
        say(f"{reader}: {frame.height} answers; {failed} failed answers, {unparsed} failed judgements")


def judgements(answers: pl.DataFrame, replies: pl.DataFrame, reader: str) -> pl.DataFrame:
    """One verdict an answer: its rating, or that the answer failed, or that the judgement of it did."""
    by_request = {row["request_id"]: row for row in replies.iter_rows(named=True)}
    mine = answers.filter(pl.col("reader") == reader)
    rows = [_verdict(answer, by_request.get(answer["request_id"]), reader) for answer in mine.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=VERDICTS)


def _verdict(answer: dict[str, Any], reply: dict[str, Any] | None, reader: str) -> dict[str, Any]:
    is_there = _is_there(answer["error"], reader, is_rated=reply is not None)
    rating = RATING_READERS[reader](reply["text"]) if is_there and reply and not reply["error"] else None
    return {
        "request_id": answer["request_id"],
        "item_id": answer["item_id"],
        "role": answer["role"],
        "value": "" if rating is None else str(rating),
        "score": rating,
        "right": rating == 3,
        "unparsed": is_there and rating is None,
        "failed": not is_there,
        "key": answer["key"],
    }


def _is_there(error: str, reader: str, *, is_rated: bool) -> bool:
    """Whether there is an answer to rate: also one whose rating alone was imported.

    To the reference harness a failure that was rated is an answer like any other, and a blank one lacks its rating.
    """
    if reader == "authors":
        return not error or is_rated or error == NO_ANSWER
    return not error or (is_rated and error == RATED_ONLY)


if __name__ == "__main__":
    run_command(main)
