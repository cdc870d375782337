"""Stage `judgements`: extract a rating or an option from a judge's replies to a run's answers, with each extractor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, RESPONSES, VERDICTS, read_table_of_key, write_table
from reprise.core.settings import Key
from reprise.external import NO_ANSWER, RATING_WITHOUT_TEXT
from reprise.extraction.extractors import (
    DEFAULT_SCALE,
    EXTRACTORS,
    SCALES,
    extract_answer,
    extract_rating,
    extract_rating_by_authors,
)
from reprise.extraction.rules import Extraction
from reprise.models.keys import RunKey
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
    answer_table = read_table_of_key(answers, ANSWERS, run_settings.key)
    reply_table = read_table_of_key(replies[0], RESPONSES, judge_settings.key)
    for extractor in EXTRACTORS:
        frame = extract_judgements(answer_table, reply_table, extractor, judge[0])
        write_table(frame, {"authors": authors, "robust": robust}[extractor], VERDICTS)
        failed, unparsed = frame["failed"].sum(), frame["unparsed"].sum()
        log.info(f"{extractor}: {frame.height} answers; {failed} failed answers, {unparsed} failed judgements")


def extract_judgements(
    answers: pl.DataFrame, replies: pl.DataFrame, extractor: str, judge: str = "judge"
) -> pl.DataFrame:
    """Return one verdict per answer: its rating or option, a failed answer, or a failed judgement."""
    by_request = {row["request_id"]: row for row in replies.iter_rows(named=True)}
    extractor_answers = answers.filter(pl.col("extractor") == extractor)
    rows = [
        _verdict(answer, by_request.get(answer["request_id"]), extractor, judge)
        for answer in extractor_answers.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=VERDICTS)


def _verdict(answer: dict[str, Any], reply: dict[str, Any] | None, extractor: str, judge: str) -> dict[str, Any]:
    error, is_authors = answer["error"], extractor == "authors"
    # The reference harness scores a rated failure like any answer, and counts a blank answer as unrated.
    has_rating_only = reply is not None and (is_authors or error == RATING_WITHOUT_TEXT)
    has_answer = not error or has_rating_only or (is_authors and error == NO_ANSWER)
    extraction = Extraction(answer["value"], answer["extracted_by"])
    if not extraction.value and reply is not None and has_answer and not reply["error"]:
        extraction = extract_from_reply(reply["text"], answer["replies"], extractor)
        # Name the judge if it decided an unparsed answer; else add the row that parsed its reply.
        extraction = extraction._replace(rule=judge if answer["extracted_by"] else f"{judge}: {extraction.rule}")
    value = extraction.value
    return {
        "request_id": answer["request_id"],
        "item_id": answer["item_id"],
        "role": answer["role"],
        "value": value,
        "extracted_by": extraction.rule if value else "",
        "score": float(value) if value and is_rated(answer["replies"]) else None,
        "right": bool(value) and value == answer["expected"],
        "unparsed": has_answer and not value,
        "failed": not has_answer,
        "key": answer["key"],
    }


def is_rated(replies: Sequence[str]) -> bool:
    """Return whether a judge rates the answer; otherwise it names the chosen option."""
    return tuple(replies) in SCALES.values()


def extract_from_reply(reply: str, replies: Sequence[str], extractor: str) -> Extraction:
    """Return the rating or the option that an extractor extracts from a judge's reply.

    As in the authors' scorer, their extractor takes the first character of an option, and it supports only ratings
    from 0 to 3.
    """
    if not is_rated(replies):
        return extract_answer(reply, replies, [], extractor, "first_character")
    if extractor == "authors" and tuple(replies) == DEFAULT_SCALE:
        rating = extract_rating_by_authors(reply)
        return Extraction("" if rating is None else str(rating), extractor)
    return extract_rating(reply, tuple(replies))
