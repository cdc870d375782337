"""Stage `judgements`: extract ratings or options from a judge's replies, with each extractor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, RESPONSES, VERDICTS, read_table_with_key, write_table
from reprise.core.settings import Key
from reprise.external import NO_ANSWER, RATING_WITHOUT_TEXT
from reprise.extraction.extractors import (
    DEFAULT_SCALE,
    EXTRACTORS,
    SCALE_BY_MAX_RATING,
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
    answer_table = read_table_with_key(answers, ANSWERS, run_settings.key)
    reply_table = read_table_with_key(replies[0], RESPONSES, judge_settings.key)
    for extractor in EXTRACTORS:
        frame = extract_judgements(answer_table, reply_table, extractor, judge[0])
        write_table(frame, {"authors": authors, "robust": robust}[extractor], VERDICTS)
        failed, unparsed = frame["failed"].sum(), frame["unparsed"].sum()
        log.info(f"{extractor}: {frame.height} answers; {failed} failed answers, {unparsed} failed judgements")


def extract_judgements(
    answers: pl.DataFrame, replies: pl.DataFrame, extractor: str, judge: str = "judge"
) -> pl.DataFrame:
    """Return one verdict per answer: its rating or option, or a failed answer or judgement."""
    reply_by_request = {row["request_id"]: row for row in replies.iter_rows(named=True)}
    extractor_answers = answers.filter(pl.col("extractor") == extractor)
    rows = [
        _verdict(answer, reply_by_request.get(answer["request_id"]), extractor, judge)
        for answer in extractor_answers.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=VERDICTS)


def _verdict(answer: dict[str, Any], reply: dict[str, Any] | None, extractor: str, judge: str) -> dict[str, Any]:
    """Return the verdict on an answer as a row of `VERDICTS`; `reply` is the judge's, or None if it has none."""
    error, is_authors = answer["error"], extractor == "authors"
    # The reference harness scores a failed answer that has a rating, and counts an empty answer as unrated.
    has_rating_only = reply is not None and (is_authors or error == RATING_WITHOUT_TEXT)
    has_answer = not error or has_rating_only or (is_authors and error == NO_ANSWER)
    extraction = Extraction(answer["value"], answer["extracted_by"])
    if not extraction.value and reply is not None and has_answer and not reply["error"]:
        extraction = extract_from_reply(reply["text"], answer["replies"], extractor)
        # `extracted_by` names the judge, and also the rule that parsed the reply, unless the judge was asked about an
        # unparsed answer.
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
    """Return whether the allowed replies are ratings; otherwise they are options."""
    return tuple(replies) in SCALE_BY_MAX_RATING.values()


def extract_from_reply(reply: str, replies: Sequence[str], extractor: str) -> Extraction:
    """Return the rating or the option that an extractor extracts from a judge's reply.

    The extractor `authors` takes the first character of an option, as the authors' scorer does. It supports only
    ratings from 0 to 3.
    """
    if not is_rated(replies):
        return extract_answer(reply, replies, [], extractor, "first_character")
    if extractor == "authors" and tuple(replies) == DEFAULT_SCALE:
        rating = extract_rating_by_authors(reply)
        return Extraction("" if rating is None else str(rating), extractor)
    return extract_rating(reply, tuple(replies))
