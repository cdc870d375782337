"""Stage `judgements`: extract a rating or an option from a judge's replies to a run's answers, with each reader."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, RESPONSES, VERDICTS, read_of_key, write_table
from reprise.core.settings import Key
from reprise.external import NO_ANSWER, RATED_ONLY
from reprise.models.keys import RunKey
from reprise.reading.readers import RATINGS, READERS, SCALES, read_rating, read_rating_authors, read_text
from reprise.reading.table import Reading
from reprise.stages.command import In, Out


def main(
    settings: Key,
    run_settings: RunKey,
    judge_settings: RunKey,
    judge: list[str],
    answers: In[Path],
    replies: In[list[Path]],
    authors: Out[Path],
    robust: Out[Path],
) -> None:
    answer_table = read_of_key(answers, ANSWERS, run_settings.key)
    reply_table = read_of_key(replies[0], RESPONSES, judge_settings.key)
    for reader in READERS:
        frame = judgements(answer_table, reply_table, reader, judge[0])
        write_table(frame, {"authors": authors, "robust": robust}[reader], VERDICTS)
        failed, unparsed = frame["failed"].sum(), frame["unparsed"].sum()
        log.info(f"{reader}: {frame.height} answers; {failed} failed answers, {unparsed} failed judgements")


def judgements(answers: pl.DataFrame, replies: pl.DataFrame, reader: str, judge: str = "judge") -> pl.DataFrame:
    """Return one verdict per answer: its rating or option, a failed answer, or a failed judgement."""
    by_request = {row["request_id"]: row for row in replies.iter_rows(named=True)}
    reader_answers = answers.filter(pl.col("reader") == reader)
    rows = [
        _verdict(answer, by_request.get(answer["request_id"]), reader, judge)
        for answer in reader_answers.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=VERDICTS)


def _verdict(answer: dict[str, Any], reply: dict[str, Any] | None, reader: str, judge: str) -> dict[str, Any]:
    error, is_authors = answer["error"], reader == "authors"
    # The reference harness scores a rated failure like any answer, and counts a blank answer as one without a rating.
    is_rated_alone = reply is not None and (is_authors or error == RATED_ONLY)
    has_answer = not error or is_rated_alone or (is_authors and error == NO_ANSWER)
    extraction = Reading(answer["value"], answer["read_by"])
    if not extraction.value and reply is not None and has_answer and not reply["error"]:
        extraction = read_reply(reply["text"], answer["replies"], reader)
        # Name the judge if it decided an unparsed answer; else add the row that parsed its reply.
        extraction = extraction._replace(by=judge if answer["read_by"] else f"{judge}: {extraction.by}")
    value = extraction.value
    return {
        "request_id": answer["request_id"],
        "item_id": answer["item_id"],
        "role": answer["role"],
        "value": value,
        "read_by": extraction.by if value else "",
        "score": float(value) if value and is_rated(answer["replies"]) else None,
        "right": bool(value) and value == answer["expected"],
        "unparsed": has_answer and not value,
        "failed": not has_answer,
        "key": answer["key"],
    }


def is_rated(replies: Sequence[str]) -> bool:
    """Return whether a judge rates the answer; otherwise it names the chosen option."""
    return tuple(replies) in SCALES.values()


def read_reply(reply: str, replies: Sequence[str], reader: str) -> Reading:
    """Return the rating or the option that a reader extracts from a judge's reply.

    As in the authors' scorer, their reader takes the first character of an option, and it supports only ratings from 0
    to 3.
    """
    if not is_rated(replies):
        return read_text(reply, replies, [], reader, "first_character")
    if reader == "authors" and tuple(replies) == RATINGS:
        rating = read_rating_authors(reply)
        return Reading("" if rating is None else str(rating), reader)
    return read_rating(reply, tuple(replies))
