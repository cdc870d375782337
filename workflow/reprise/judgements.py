"""Stage `judgements`: the ratings that a judge gave a run's answers, as each reader reads its replies."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.errors import run_command
from reprise.imports.given import RATED_ONLY
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
    # A rating may come without the text that was rated; the reference harness has failures rated as well.
    is_rated = reply is not None and (reader == "authors" or answer["error"] in ("", RATED_ONLY))
    rating = RATING_READERS[reader](reply["text"]) if is_rated and reply and not reply["error"] else None
    return {
        "request_id": answer["request_id"],
        "item_id": answer["item_id"],
        "role": answer["role"],
        "value": "" if rating is None else str(rating),
        "score": rating,
        "right": rating == 3,
        "unparsed": rating is None and (is_rated or not answer["error"]),
        "failed": bool(answer["error"]) and not is_rated,
        "key": answer["key"],
    }


if __name__ == "__main__":
    run_command(main)
